# Each target has its line of help behind ##.
.DEFAULT_GOAL := build
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
LDFLAGS := -s -w -X main.version=$(VERSION)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/drone-runner-tekton
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/drone-runner-tekton ./cmd/drone-runner-tekton

.PHONY: test
test: ## Run the tests that need nothing but Go
	go test ./...

.PHONY: race
race: ## Run the same tests with the race detector
	go test -race -short ./...

.PHONY: conformance
conformance: ## Hold the tests' model of Tekton against Tekton's own reconciler and entrypoint
	cd translate/testmodel/conformance && go test ./...

.PHONY: fuzz
fuzz: ## Fuzz each target for a short time (FUZZTIME=10s)
	hack/fuzz.sh

.PHONY: bench
bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: e2e
e2e: ## Run pipelines on a real cluster: the one of KUBECONFIG, else the local one
	hack/e2e/run

.PHONY: push
push: ## Start builds by git push, with a real Gitea and Drone server beside the local cluster
	hack/push/run

.PHONY: lint
lint: ## Check format, vet and staticcheck
	hack/lint.sh

.PHONY: update-golden
update-golden: ## Write the expected results of the golden tests and the generated documents anew
	go test $$(git grep -l 'flag.Bool("update"' -- '*_test.go' | xargs dirname | sed 's|^|./|' | sort -u) -run 'Golden|Matrix|Generated|Documentation' -update

.PHONY: tidy
tidy: ## Tidy go.mod
	hack/tidy.sh

.PHONY: cluster-up
cluster-up: ## Start a local Kubernetes of two nodes with Tekton (root; builds it the first time)
	hack/cluster/up

.PHONY: cluster-down
cluster-down: ## End the local cluster
	hack/cluster/down

.PHONY: drone-up
drone-up: ## Start a Gitea and a Drone server beside the local cluster
	hack/drone/up

.PHONY: drone-down
drone-down: ## End them
	hack/drone/down
