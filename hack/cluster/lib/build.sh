# shellcheck shell=bash
# Builds Go modules. A folder of binaries is named after a hash of all that it is made from, so that it is built once,
# and again when its go.mod, go.sum, sources, flags or the Go release change.

# build FOLDER MINUTES PACKAGES [GO-BUILD-FLAGS...]: prints the folder of the binaries of the module in FOLDER.
# PACKAGES is `tool` (those that go.mod lists as tools) or a pattern. CGO_ENABLED is 0 unless the caller sets it.
build() {
  local source=$1 minutes=$2 packages=$3 name target scratch; shift 3
  name=${source##*/}
  target=$BUILT/$name-$(cd "$source" && {
    cat go.mod go.sum
    find . -name '*.go' | sort | xargs -r cat
    echo "${CGO_ENABLED:-0} $packages $*"; go env GOVERSION GOOS GOARCH
  } | sha256sum | cut -c1-12)
  if [ ! -d "$target" ]; then
    say "building $name (about $minutes min on 2 cores)"
    scratch=$BUILT/.$name.$$; mkdir -p "$scratch"
    (cd "$source" && CGO_ENABLED=${CGO_ENABLED:-0} GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false' \
      go build "$@" -o "$scratch/" "$packages") >&2
    mv "$scratch" "$target"
    forget_old "$BUILT/$name"-*
  fi
  echo "$target"
}

# module_version FOLDER MODULE: the version that FOLDER's go.mod requires, without the v.
module_version() { (cd "$1" && GOWORK=off go list -mod=readonly -m -f '{{.Version}}' "$2") | sed 's/^v//'; }

# module_source FOLDER MODULE: where the module's own files are.
module_source() { (cd "$1" && GOWORK=off go mod download "$2" && GOWORK=off go list -mod=readonly -m -f '{{.Dir}}' "$2"); }

# tekton_module: the folder of the module that builds Tekton: the committed one, or for another TEKTON_VERSION one that is
# made now, with the dependencies which that release asks for.
tekton_module() {
  local committed=$CLUSTER_SRC/build/tekton scratch=$CLUSTER_DIR/modules/tekton-${TEKTON_VERSION:-}
  if [ -z "${TEKTON_VERSION:-}" ] || [ "$TEKTON_VERSION" = "$(module_version "$committed" "$TEKTON_MODULE")" ]; then
    echo "$committed"; return
  fi
  if [ ! -e "$scratch/go.sum" ]; then
    say "resolving Tekton $TEKTON_VERSION"
    rm -rf "$scratch"; mkdir -p "$scratch"
    (cd "$scratch" && {
      echo module tekton; echo "require $TEKTON_MODULE v$TEKTON_VERSION"
      (cd "$committed" && go list -mod=readonly tool) | sed 's/^/tool /'
    } >go.mod && GOWORK=off go mod tidy) >&2
  fi
  echo "$scratch"
}

TEKTON_MODULE=github.com/tektoncd/pipeline

# build_cluster: everything that `up` starts. Sets a variable for each folder of binaries.
build_cluster() {
  local version minor
  mkdir -p "$BUILT"
  rm -rf "$BUILT"/.[a-z]* # what a killed build left
  version=$(module_version "$CLUSTER_SRC/build/kubernetes" k8s.io/kubernetes)
  minor=${version#*.}; minor=${minor%%.*}
  local v=k8s.io/component-base/version
  KUBERNETES_BIN=$(build "$CLUSTER_SRC/build/kubernetes" 6 tool \
    -ldflags "-s -w -X $v.gitVersion=v$version -X $v.gitMajor=${version%%.*} -X $v.gitMinor=$minor")
  ETCD_BIN=$(build "$CLUSTER_SRC/build/etcd" 1 tool -ldflags '-s -w')
  COREDNS_BIN=$(build "$CLUSTER_SRC/build/coredns" 3 tool -ldflags '-s -w')
  LOCAL_PATH_BIN=$(build "$CLUSTER_SRC/build/local-path-provisioner" 1 tool -ldflags '-s -w')
  TEKTON_SRC=$(tekton_module)
  TEKTON=$(module_version "$TEKTON_SRC" "$TEKTON_MODULE")
  TEKTON_BIN=$(build "$TEKTON_SRC" 3 tool -ldflags '-s -w')
  TEKTON_CONFIG=$(module_source "$TEKTON_SRC" "$TEKTON_MODULE")/config
  IMAGES_BIN=$(build "$CLUSTER_SRC/images" 1 ./... -ldflags '-s -w')
}

# link_programs: the programs of the cluster in one folder, for the search path.
link_programs() {
  ln -s "$KUBERNETES_BIN"/* "$COREDNS_BIN"/* "$LOCAL_PATH_BIN"/* "$RUN/bin/"
  ln -s "$ETCD_BIN/server" "$RUN/bin/etcd" # named after its package
}
