# shellcheck shell=bash
# Tekton Pipelines, controller and webhook as pods, from its own manifests.

install_tekton() {
  # Beyond the manifests' own: the registry's certificate authority, so that the controller can look up entrypoints.
  kubectl apply -f "$TEKTON_CONFIG/100-namespace"
  kubectl -n tekton-pipelines create configmap config-registry-cert --from-file=cert="$PKI/ca.crt"
  kubectl apply --server-side -f "$TEKTON_CONFIG/300-crds"
  local file
  for file in "$TEKTON_CONFIG"/2*.yaml "$TEKTON_CONFIG"/clusterrole-*.yaml "$TEKTON_CONFIG"/config-*.yaml \
    "$TEKTON_CONFIG"/{controller,webhook,500-webhooks}.yaml; do
    [ "${file##*/}" = config-registry-cert.yaml ] || { tekton_manifest "$file"; echo ---; }
  done | kubectl apply --server-side -f -
}

# tekton_manifest FILE: with this cluster's images and the release's number, and asked soon whether it is ready.
tekton_manifest() {
  sed -E -e "s#ko://$TEKTON_MODULE/cmd/([a-z]+)#tekton/\1:$TEKTON#" \
    -e 's#"[^"]*/busybox@sha256:[0-9a-f]+"#"busybox:1.36"#' \
    -e "s#\"devel\"#\"v$TEKTON\"#" -e '/readinessProbe:/,/periodSeconds:/s/(Seconds): .*/\1: 1/' "$1"
}

# tekton_ready: deployments are there and the API server reaches the webhook, without which nothing can be created.
tekton_ready() {
  kubectl -n tekton-pipelines wait deployment --for=condition=Available --timeout=1s \
    tekton-pipelines-controller tekton-pipelines-webhook &&
    kubectl --request-timeout=5s create --dry-run=server -f "$CLUSTER_SRC/manifests/tekton-probe.yaml"
}
