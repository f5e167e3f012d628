# shellcheck shell=bash
# Dynamic provisioning: class local-path (ReadWriteOnce, tied to a node, the default) and class shared (ReadWriteMany,
# the same folder on every node).

start_storage() {
  local namespace=local-path-storage
  mkdir -p "$RUN/data/local-path" "$RUN/data/shared"
  cat >"$RUN/storage.json" <<J
{"storageClassConfigs": {
  "local-path": {"nodePathMap": [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["$RUN/data/local-path"]}]},
  "shared": {"sharedFileSystemPath": "$RUN/data/shared"}}}
J
  kubectl apply -f "$CLUSTER_SRC/manifests/storage.yaml"
  # shellcheck disable=SC2016  # expanded in the helper pod
  kubectl -n "$namespace" create configmap local-path-config --from-file=config.json="$RUN/storage.json" \
    --from-file=helperPod.yaml="$CLUSTER_SRC/manifests/storage-helper.yaml" \
    --from-literal=setup='mkdir -m 0777 -p "$VOL_DIR"' --from-literal=teardown='rm -rf "$VOL_DIR"'
  component local-path local-path-provisioner start --kubeconfig "$KUBECONFIG" --namespace "$namespace" \
    --provisioner-name rancher.io/local-path --config "$RUN/storage.json" --configmap-name local-path-config \
    --service-account-name provisioner --helper-image busybox:1.36 --helper-pod-file "$CLUSTER_SRC/manifests/storage-helper.yaml"
}
