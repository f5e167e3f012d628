# shellcheck shell=bash
# Sourced by every script of the cluster: where things are, and how to tell what is being done.
set -euo pipefail
shopt -s inherit_errexit

CLUSTER_SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CLUSTER_DIR=${CLUSTER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/drone-runner-tekton/cluster}
# The first two numbers of the cluster's private network: pods and nodes in its lower half, services in the upper one.
CLUSTER_NET=${CLUSTER_NET:-10.213}

export KUBECONFIG=$CLUSTER_DIR/admin.kubeconfig
RUN=$CLUSTER_DIR/run            # all that belongs to one life of the cluster; `down` deletes it
BUILT=$CLUSTER_DIR/built        # binaries, by content
IMAGES=$CLUSTER_DIR/images      # image layouts, by content
PKI=$RUN/pki
NODES=(node1 node2)
NAME=drt-${CLUSTER_NET//./-}    # of the cluster's network link and control groups on this machine
GATEWAY=$CLUSTER_NET.0.1        # the bridge: where API server, registry and DNS listen
HOST_ADDRESS=$CLUSTER_NET.0.254 # this machine, as pods see it
POD_CIDR=$CLUSTER_NET.0.0/17
SERVICE_CIDR=$CLUSTER_NET.128.0/17
KUBERNETES_SERVICE=$CLUSTER_NET.128.1
REGISTRY=$GATEWAY:5000
PRIVATE_REGISTRY=$GATEWAY:5001
PRIVATE_REGISTRY_USER=puller PRIVATE_REGISTRY_PASSWORD=pullersecret

say() { echo "${0##*/}: $*" >&2; }
fail() { say "$*"; exit 1; }

# wait_for SECONDS WHAT COMMAND...: until COMMAND succeeds; a failure names WHAT and where the logs are.
wait_for() {
  local seconds=$1 what=$2 deadline=$((SECONDS + $1)); shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || fail "$what not ready after ${seconds}s; the logs are in $RUN/log"
    sleep 0.2
  done
}

# forget_old FOLDER...: all but the three newest, so that versions of today and yesterday stay built.
# shellcheck disable=SC2012  # names of ours
forget_old() { ls -dt "$@" | tail -n +4 | xargs -r rm -rf; }

# lock: one up or down at a time. Long-running children must not inherit descriptor 9, or they would hold the lock.
lock() {
  mkdir -p "$CLUSTER_DIR"
  exec 9>"$CLUSTER_DIR/lock"
  flock --nonblock 9 || { say "waiting for another up or down of $CLUSTER_DIR"; flock 9; }
}
