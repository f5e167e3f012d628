# shellcheck shell=bash
# What the cluster takes from the distribution rather than building it.

# The Debian package behind each command that a script here calls.
declare -A PACKAGE_OF=(
  [containerd]=containerd [ctr]=containerd [runc]=runc [ip]=iproute2 [iptables]=iptables
  [nsenter]=util-linux [unshare]=util-linux [flock]=util-linux [setsid]=util-linux [sysctl]=procps
  [busybox]=busybox-static [git]=git [openssl]=openssl [curl]=curl [jq]=jq [gcc]=gcc
)

# cni_folder: where the distribution keeps the CNI plugins.
cni_folder() {
  local folder
  for folder in /usr/lib/cni /opt/cni/bin; do
    if [ -x "$folder/bridge" ] && [ -x "$folder/portmap" ]; then echo "$folder"; return; fi
  done
  return 1
}

# need COMMAND...: installs the packages of missing commands where that is possible, else names them.
need() {
  local command missing=()
  for command in "$@"; do
    command -v "$command" >/dev/null || missing+=("${PACKAGE_OF[$command]}")
    # It goes into images as it is, without the libraries of a dynamic one.
    [ "$command" != busybox ] || ! ldd "$(command -v busybox)" >/dev/null 2>&1 || missing+=(busybox-static)
    # Only gcc's own package comes without the headers that cgo needs.
    [ "$command" != gcc ] || [ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
  done
  cni_folder >/dev/null || missing+=(containernetworking-plugins)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    fail "missing; please install (Debian's names): $(printf '%s\n' "${missing[@]}" | sort -u | tr '\n' ' ')"
  fi
  say "installing ${missing[*]}"
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}
