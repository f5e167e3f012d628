# shellcheck shell=bash
# Nodes: a containerd and a kubelet each. They share the sandbox's bridge, on which each has an address and a range for
# its pods.

start_container_runtimes() {
  local i node cni
  cni=$(cni_folder)
  registry_hosts
  for i in "${!NODES[@]}"; do
    node=${NODES[i]}
    mkdir -p "$RUN/cni/$node"
    cat >"$RUN/$node.containerd.toml" <<T
version = 2
root = "$RUN/data/$node-containerd"
state = "/run/containerd/$node"
[grpc]
  address = "/run/containerd/$node.sock"
[plugins."io.containerd.grpc.v1.cri"]
  # Lowering a process's OOM score takes a privilege that root does not have in every container or VM.
  restrict_oom_score_adj = true
  sandbox_image = "$REGISTRY/cluster/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "$RUN/cni/$node"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$RUN/registry-hosts"
T
    cat >"$RUN/cni/$node/10-bridge.conflist" <<J
{"cniVersion": "0.4.0", "name": "$node", "plugins": [
  {"type": "bridge", "bridge": "bridge0", "isGateway": false, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$RUN/data/$node-addresses", "routes": [{"dst": "0.0.0.0/0"}],
            "ranges": [[{"subnet": "$POD_CIDR", "gateway": "$GATEWAY",
                         "rangeStart": "$CLUSTER_NET.$((i + 1)).1", "rangeEnd": "$CLUSTER_NET.$((i + 1)).250"}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
J
    # Before the pods: containerd 1.6 drops what it has not copied of a container's output 2 s after the container's end.
    component "$node-containerd" nice -n -10 containerd --config "$RUN/$node.containerd.toml"
  done
}

# registry_hosts: Docker Hub is the cluster's registry, and nothing else answers for it.
registry_hosts() {
  local host
  for host in docker.io "$REGISTRY" "$PRIVATE_REGISTRY"; do
    mkdir -p "$RUN/registry-hosts/$host"
    # containerd 1.6 does not read the file without a table of hosts.
    printf 'server = "http://%s"\n[host]\n' "${host/docker.io/$REGISTRY}" >"$RUN/registry-hosts/$host/hosts.toml"
  done
}

start_kubelets() {
  local i node
  for i in "${!NODES[@]}"; do
    node=${NODES[i]}
    cat >"$RUN/$node.kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
address: $CLUSTER_NET.0.$((i + 1))
port: $((10250 + i * 10))
healthzPort: $((10248 + i * 10))
tlsCertFile: $PKI/$node.crt
tlsPrivateKeyFile: $PKI/$node.key
cgroupDriver: cgroupfs
cgroupRoot: /$NAME/$node
failCgroupV1: false
failSwapOn: false
clusterDomain: cluster.local
clusterDNS: [$GATEWAY]
podLogsDir: $RUN/data/$node-logs # a kubelet deletes what it does not know, so two cannot share one
containerRuntimeEndpoint: unix:///run/containerd/$node.sock
evictionHard: {memory.available: 100Mi, nodefs.available: "1%", imagefs.available: "1%", nodefs.inodesFree: "1%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
maxPods: 200
serializeImagePulls: false
Y
    wait_for 30 "$node's containerd" ctr --address "/run/containerd/$node.sock" version
    component "$node-kubelet" kubelet --config="$RUN/$node.kubelet.yaml" --kubeconfig="$RUN/$node.kubeconfig" \
      --hostname-override="$node" --node-ip="$CLUSTER_NET.0.$((i + 1))" --root-dir="$RUN/data/$node-kubelet"
  done
}

nodes_ready() {
  [ "$(kubectl --request-timeout=5s get nodes -o jsonpath='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' |
    grep -c True)" = "${#NODES[@]}" ]
}
