# shellcheck shell=bash
# Makes the images that the cluster's registry serves, without Docker: as an OCI image layout, a folder named after a
# hash of what goes into it.

# build_images: sets IMAGE_LAYOUT.
build_images() {
  local key scratch
  key=$({ # the names of folders of binaries carry their content's hash
    echo "$TEKTON_BIN" "$IMAGES_BIN"; cat "$CLUSTER_SRC/lib/images.sh" "$CLUSTER_SRC/images/git/clone"
    sha256sum "$(command -v busybox)" "$(command -v git)"
  } | sha256sum | cut -c1-12)
  export IMAGE_LAYOUT=$IMAGES/$key
  [ ! -d "$IMAGE_LAYOUT" ] || return 0
  say "making the images (about 10 s)"
  rm -rf "$IMAGES"/.[a-z]* # what a killed run left
  scratch=$IMAGES/.layout.$$
  mkdir -p "$scratch/layout"
  LAYOUT=$scratch/layout ROOT=$scratch/root

  local program
  image cluster/pause:1 '{"Entrypoint":["/pause"]}' install_program "$IMAGES_BIN/pause" /pause
  for program in controller webhook entrypoint nop workingdirinit sidecarlogresults; do
    image "tekton/$program:$TEKTON" "{\"Entrypoint\":[\"/ko-app/$program\"],\"User\":\"65532\"}" \
      install_program "$TEKTON_BIN/$program" "/ko-app/$program"
  done
  image library/busybox:1.36 '{"Cmd":["sh"],"Env":["PATH=/bin"]}' install_busybox
  image test/busybox-nonroot:1.36 '{"Cmd":["sh"],"Env":["PATH=/bin"],"User":"1000"}' install_busybox
  image test/plugin:1 '{"Entrypoint":["/plugin"]}' install_program "$IMAGES_BIN/plugin" /plugin
  image drone/git:latest '{"Entrypoint":["/bin/clone"],"Env":["PATH=/usr/bin:/bin","HOME=/root"]}' install_git

  mv "$LAYOUT" "$IMAGE_LAYOUT"
  rm -rf "$scratch"
  forget_old "$IMAGES"/*
}

# image NAME CONFIG-JSON COMMAND...: an image of what COMMAND puts below $ROOT.
image() {
  local name=$1 config=$2; shift 2
  rm -rf "$ROOT"; mkdir -p "$ROOT/tmp"; chmod 755 "$ROOT"; chmod 1777 "$ROOT/tmp"
  "$@"
  find "$ROOT" -exec touch --no-dereference --date=@0 {} + # the same content, the same digest
  "$IMAGES_BIN/addimage" -layout "$LAYOUT" -name "$name" -config "$config" -root "$ROOT"
}

install_program() { install -D --mode=755 "$1" "$ROOT$2"; }

install_busybox() {
  local applet
  install_program "$(command -v busybox)" /bin/busybox
  for applet in $(busybox --list); do
    [ "$applet" = busybox ] || ln -s busybox "$ROOT/bin/$applet"
  done
  mkdir -p "$ROOT/etc" "$ROOT/root"
  echo root:x:0:0:root:/root:/bin/sh >"$ROOT/etc/passwd"
  echo root:x:0: >"$ROOT/etc/group"
}

# install_git: this machine's git with the libraries that it is linked to and those that resolve names.
install_git() {
  local core library
  core=$(git --exec-path)
  install_busybox
  install_program "$(command -v git)" /usr/bin/git
  install_program "$core/git-remote-http" "$core/git-remote-http"
  ln -s git-remote-http "$ROOT$core/git-remote-https"
  ln -s /usr/bin/git "$ROOT$core/git"
  for library in $(ldd /usr/bin/git "$core/git-remote-http" | grep -o '/[^ :]*\.so[^ ]*' | sort -u); do
    install -D "$(realpath "$library")" "$ROOT$library"
  done
  for library in "$(dirname "$(ldd /usr/bin/git | grep -o '/[^ ]*/libc\.so\.6')")"/lib{nss_dns,nss_files,resolv}.so.2; do
    install -D "$(realpath "$library")" "$ROOT$library"
  done
  mkdir -p "$ROOT/usr/share/git-core/templates"
  install_program "$CLUSTER_SRC/images/git/clone" /bin/clone
}
