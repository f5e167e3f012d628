# shellcheck shell=bash
# The sandbox: one set of mount, network and process namespaces in which the whole cluster lives. Its first process holds
# it; when that one ends, however it ends, the kernel ends every process in it and drops its mounts, bridge and packet
# filter rules. So this one process id is all that must be recorded to clean up. On the machine itself there are only
# the other end of the network link, the control groups and the folder $RUN.

# --- processes, by recorded id. A record has the id, the process's start time and the boot, so an id that the system has
# --- given to another process since is not taken for ours.

# identity STAT-FILE: the process of /proc/…/stat as a record.
identity() {
  local stat fields
  read -r stat <"$1" # by this shell itself: /proc/self is whoever opens it
  read -r -a fields <<<"${stat##*) }" # after the program's name, which may have blanks in it
  [ "${fields[0]}" != Z ] || return 1
  echo "${stat%% *} ${fields[19]} $(</proc/sys/kernel/random/boot_id)"
}

# recorded NAME: the id of the process that was recorded under NAME, if it still runs.
recorded() {
  local record
  record=$(cat "$RUN/pid/$1" 2>/dev/null) && [ -n "$record" ] || return 1
  [ "$(identity "/proc/${record%% *}/stat" 2>/dev/null)" = "$record" ] || return 1
  echo "${record%% *}"
}

gone() { ! recorded "$1" >/dev/null; }

# --- the sandbox

# sandbox_up PROGRAM: PROGRAM becomes the first process.
sandbox_up() {
  mkdir -p "$RUN"/{pid,log,component,data,bin} "$PKI"
  (
    # Held until the sandbox's first process has recorded itself, whatever becomes of this script meanwhile.
    exec 8>"$CLUSTER_DIR/starting" 9>&-; flock 8
    exec setsid unshare --mount --net --pid --fork --propagation slave \
      bash "$CLUSTER_SRC/lib/sandbox-init.sh" "$1" >"$RUN/log/sandbox.log" 2>&1 </dev/null
  ) &
  wait_for 10 'the sandbox' test -e "$RUN/pid/sandbox-ready"
  link_up
  cgroups_up
}

# in_sandbox COMMAND...: runs it there, with a clean environment (a proxy for the world outside is of no use in there).
in_sandbox() {
  local pid
  pid=$(recorded sandbox) || fail "the cluster is not up"
  nsenter --target "$pid" --mount --net --pid env -i HOME=/root PATH="$RUN/bin:$PATH" \
    CLUSTER_DIR="$CLUSTER_DIR" CLUSTER_NET="$CLUSTER_NET" "$@" 9>&-
}

# sandbox_down: ends what runs, and deletes what a cluster leaves, whatever state it is in.
sandbox_down() {
  local pid
  exec 8>"$CLUSTER_DIR/starting"; flock 8; exec 8>&-
  if pid=$(recorded sandbox); then
    kill -KILL "$pid"
    wait_for 30 'the end of the old cluster' gone sandbox
  fi
  link_down
  cgroups_down
  rm -rf "$RUN" "$KUBECONFIG" "$CLUSTER_DIR/cluster.env"
}

# --- the network link

link_up() {
  ip link add "$NAME" type veth peer name uplink netns "$(recorded sandbox)"
  ip link set "$NAME" alias "$CLUSTER_DIR" up
  ip address add "$HOST_ADDRESS/17" dev "$NAME"
  in_sandbox ip link set uplink master bridge0 up
  ip route add "$SERVICE_CIDR" via "$GATEWAY"
}

# link_down: without its processes, the kernel drops the sandbox's network and so the link, but only when the last
# connection in it has timed out.
link_down() {
  local owner
  owner=$(cat "/sys/class/net/$NAME/ifalias" 2>/dev/null) || return 0
  if [ -n "$owner" ] && [ "$owner" != "$CLUSTER_DIR" ]; then
    fail "network $CLUSTER_NET is in use by the cluster of CLUSTER_DIR=$owner; end that, or set CLUSTER_NET for this one"
  fi
  ip link delete "$NAME" 2>/dev/null || [ ! -e "/sys/class/net/$NAME" ] # it may go by itself meanwhile
}

# --- control groups: one for each node, below one of the cluster's own, in each hierarchy of version 1 or in the one of
# --- version 2

cgroup_roots() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo /sys/fs/cgroup
  else
    local group
    for group in /sys/fs/cgroup/*/cgroup.procs; do dirname "$group"; done
  fi
}

cgroups_up() {
  local root node group file
  for root in $(cgroup_roots); do
    for node in "${NODES[@]}"; do
      mkdir -p "$root/$NAME/$node"
      for group in "$root/$NAME" "$root/$NAME/$node"; do
        hand_down_controllers "$(dirname "$group")"
        # Version 1's cpuset group takes no process before it has both.
        for file in cpuset.cpus cpuset.mems; do
          [ ! -e "$root/tasks" ] || [ ! -e "$group/$file" ] || cat "$root/$file" >"$group/$file"
        done
      done
    done
  done
}

# hand_down_controllers GROUP: version 2 gives a group the controllers that its parent hands down.
hand_down_controllers() {
  local controller
  [ -e "$1/cgroup.controllers" ] || return 0
  for controller in $(<"$1/cgroup.controllers"); do
    echo "+$controller" >"$1/cgroup.subtree_control" 2>/dev/null || true # some cannot be where processes are
  done
}

cgroups_down() {
  local root
  for root in $(cgroup_roots); do
    [ ! -d "$root/$NAME" ] || wait_for 10 "the end of $root/$NAME" remove_group "$root/$NAME"
  done
}

remove_group() {
  find "$1" -depth -type d -exec rmdir {} \; 2>/dev/null
  [ ! -d "$1" ]
}
