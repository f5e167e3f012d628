#!/usr/bin/env bash
# The first process of the sandbox: arranges its mounts and its network, then becomes the program that it is given, which
# holds it.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/sandbox.sh"

# /proc is still the machine's, so this is the id that the machine knows. It comes first: nothing may exist unrecorded.
identity /proc/self/stat >"$RUN/pid/sandbox"
flock --unlock 8
exec 8>&-

# The machine's /proc stays in reach, for components to record the ids that the machine knows them by.
mkdir -p "$RUN/machine-proc"
mount --bind /proc "$RUN/machine-proc"
mount --make-rshared / # for volumes that pass mounts on; it stays in here, "slave" of the machine's mounts
mount -t proc proc /proc

# Folders that kubelet, containerd and CNI insist on. Their place in here is below $RUN, so that nothing of another
# cluster or container engine on the machine is touched, and nothing remains.
for folder in /run/containerd /run/netns /var/lib/cni /var/lib/kubelet /var/log/containers; do
  mkdir -p "$folder" "$RUN/data$folder"
  mount --bind "$RUN/data$folder" "$folder"
done

ip link set lo up
ip link add bridge0 type bridge
ip address add "$GATEWAY/17" dev bridge0
for i in "${!NODES[@]}"; do
  [ "$i" = 0 ] || ip address add "$CLUSTER_NET.0.$((i + 1))/32" dev bridge0 # the first node has the gateway's
done
ip link set bridge0 up
ip route add "$SERVICE_CIDR" dev bridge0 # kube-proxy redirects what goes there, if there is a way at all
sysctl -qw net.ipv4.ip_forward=1
sysctl -qw net.bridge.bridge-nf-call-iptables=1

touch "$RUN/pid/sandbox-ready"
exec "$1"
