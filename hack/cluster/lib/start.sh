#!/usr/bin/env bash
# Starts everything in the sandbox; `up` runs it there, after the builds.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
for part in packages sandbox component pki control-plane nodes storage tekton; do
  # shellcheck disable=SC1090
  . "$CLUSTER_SRC/lib/$part.sh"
done
# shellcheck source=/dev/null
. "$RUN/parts"

make_pki
start_registry
start_container_runtimes
start_control_plane
wait_for 30 'the registry' registry_ready
start_kubelets
start_services_network
start_storage >>"$RUN/log/kubectl.log" 2>&1
install_tekton >>"$RUN/log/kubectl.log" 2>&1
wait_for 60 'the nodes' nodes_ready
wait_for 120 'Tekton' tekton_ready
