# shellcheck shell=bash
# Components: the long-running processes of the cluster, by name. Each is a script below $RUN/component, so that it can be
# started again as it was.

# component NAME COMMAND...: defines and starts one. Only in the sandbox.
component() {
  local name=$1; shift
  cat >"$RUN/component/$name" <<S
#!/usr/bin/env bash
. '$CLUSTER_SRC/lib/common.sh'
. '$CLUSTER_SRC/lib/sandbox.sh'
identity "$RUN/machine-proc/self/stat" >"$RUN/pid/$name"
exec ${*@Q}
S
  chmod +x "$RUN/component/$name"
  start "$name"
}

# start NAME: only in the sandbox.
start() {
  rm -f "$RUN/pid/$1"
  setsid "$RUN/component/$1" >>"$RUN/log/$1.log" 2>&1 </dev/null &
  wait_for 5 "the start of $1" test -s "$RUN/pid/$1"
}

components() { (cd "$RUN/component" && ls); }

# stop NAME: gently, then not. The folders and mounts that it leaves are as after any crash of it.
stop() {
  local pid
  pid=$(recorded "$1") || return 0
  kill "$pid"
  (wait_for 10 "the end of $1" gone "$1") 2>/dev/null || kill -KILL "$pid"
}
