#!/usr/bin/env bash
# Runs `go mod tidy`, and leaves go.mod without the directives that only tidy needs.
#
# drone-yaml requires a version of drone-runtime whose own requirements cannot be resolved: docker.io/go-docker is not
# served by module proxies, and client-go v9.0.0+incompatible sorts above every release that has a go.mod. Nothing of
# either is compiled. Builds never look that far into the module graph, only tidy does. The directives do not stay,
# because `go install` refuses a module that has them.
set -euo pipefail
cd "$(dirname "$0")/.."
client_go=$(go list -m -f '{{.Version}}' k8s.io/client-go)
restore() { go mod edit -dropexclude k8s.io/client-go@v9.0.0+incompatible -dropreplace docker.io/go-docker; }
trap restore EXIT
go mod edit -replace docker.io/go-docker=github.com/docker/go-docker@v1.0.0 \
  -exclude k8s.io/client-go@v9.0.0+incompatible -require "k8s.io/client-go@$client_go"
go mod tidy "$@"
