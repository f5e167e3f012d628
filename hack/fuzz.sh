#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME, one after the other. What a target finds stays below testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() { go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 20x 2>&1 | tee "$log"; }

# Go before 1.27 sometimes takes the end of FUZZTIME for a failure (golang.org/issue/75804). It has found nothing then.
out_of_time() { grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; }

git grep -lE '^func Fuzz' -- '*_test.go' | while read -r file; do
  dir=./$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | cut -d' ' -f2 | while read -r target; do
    echo "fuzz: $dir $target" >&2
    fuzz "$dir" "$target" || { out_of_time && fuzz "$dir" "$target"; }
  done
done
