#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME, one after the other. What a target finds stays below testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
git grep -lE '^func Fuzz' -- '*_test.go' | while read -r file; do
  dir=./$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | cut -d' ' -f2 | while read -r target; do
    echo "fuzz: $dir $target" >&2
    go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 20x
  done
done
