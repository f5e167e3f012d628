# shellcheck shell=bash
# etcd, the API server and what works with it alone, and the registry.

# The name by which clients know Docker Hub's registry.
DOCKER_HUB=index.docker.io

start_registry() {
  cp --archive --link "$IMAGE_LAYOUT/blobs" "$RUN/data/registry" # what tests push goes here, not into the cache
  component registry "$IMAGES_BIN/registry" -layout "$IMAGE_LAYOUT" -blobs "$RUN/data/registry" -address "$REGISTRY" \
    -tls-address "$GATEWAY:443" -tls-cert "$PKI/registry.crt" -tls-key "$PKI/registry.key" \
    -private-address "$PRIVATE_REGISTRY" -user "$PRIVATE_REGISTRY_USER" -password "$PRIVATE_REGISTRY_PASSWORD"
}

registry_ready() { curl --silent --fail --cacert "$PKI/ca.crt" "https://$GATEWAY/v2/"; }

start_control_plane() {
  component etcd etcd --data-dir "$RUN/data/etcd" --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
  component apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
    --bind-address="$GATEWAY" --advertise-address="$GATEWAY" --secure-port=6443 \
    --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" --client-ca-file="$PKI/ca.crt" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$PKI/service-accounts.pub" \
    --service-account-signing-key-file="$PKI/service-accounts.key" --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction --service-cluster-ip-range="$SERVICE_CIDR" --allow-privileged=true \
    --kubelet-client-certificate="$PKI/admin.crt" --kubelet-client-key="$PKI/admin.key" \
    --kubelet-preferred-address-types=InternalIP
  wait_for 60 'the API server' kubectl --request-timeout=5s get --raw /readyz
  component controller-manager kube-controller-manager --kubeconfig="$KUBECONFIG" --bind-address=127.0.0.1 \
    --service-account-private-key-file="$PKI/service-accounts.key" --root-ca-file="$PKI/ca.crt" \
    --use-service-account-credentials=true --cluster-cidr="$POD_CIDR" --leader-elect=false
  component scheduler kube-scheduler --kubeconfig="$KUBECONFIG" --bind-address=127.0.0.1 --leader-elect=false
}

# start_services_network: Service addresses and names.
start_services_network() {
  cat >"$RUN/kube-proxy.yaml" <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $KUBECONFIG}
mode: iptables
clusterCIDR: $POD_CIDR
hostnameOverride: ${NODES[0]}
healthzBindAddress: 127.0.0.1:10256
iptables: {minSyncPeriod: 100ms}
# Zero leaves the machine's own limits as they are: they cannot be changed from in here.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
Y
  component kube-proxy kube-proxy --config="$RUN/kube-proxy.yaml"

  # A server for each zone: in one for all, the template would answer before the other two are asked.
  cat >"$RUN/Corefile" <<C
cluster.local:53 {
  bind $GATEWAY
  errors
  kubernetes {
    kubeconfig $KUBECONFIG
    ttl 0
  }
}
$DOCKER_HUB:53 {
  bind $GATEWAY
  hosts {
    $GATEWAY $DOCKER_HUB
  }
}
.:53 {
  bind $GATEWAY
  template ANY ANY {
    rcode NXDOMAIN # there is no world outside
  }
}
C
  component coredns coredns -conf "$RUN/Corefile"
}
