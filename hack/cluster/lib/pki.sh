# shellcheck shell=bash
# Keys, certificates and the files with which clients find the API server. New ones for each life of the cluster.

make_pki() {
  key ca
  openssl req -x509 -new -key "$PKI/ca.key" -days 365 -out "$PKI/ca.crt" -subj /CN=cluster-ca
  key service-accounts
  openssl pkey -in "$PKI/service-accounts.key" -pubout -out "$PKI/service-accounts.pub"
  local service=kubernetes.default.svc
  certificate apiserver /CN=kube-apiserver \
    "DNS:kubernetes,DNS:kubernetes.default,DNS:$service,DNS:$service.cluster.local,IP:$KUBERNETES_SERVICE,IP:$GATEWAY"
  certificate registry /CN=registry "DNS:$DOCKER_HUB,IP:$GATEWAY"
  certificate admin /O=system:masters/CN=admin DNS:admin
  kubeconfig admin "$KUBECONFIG"
  local i node
  for i in "${!NODES[@]}"; do
    node=${NODES[i]}
    certificate "$node" "/O=system:nodes/CN=system:node:$node" "DNS:$node,IP:$CLUSTER_NET.0.$((i + 1))"
    kubeconfig "$node" "$RUN/$node.kubeconfig"
  done
}

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$PKI/$1.key"; }

certificate() { # NAME SUBJECT ALTERNATIVE-NAMES
  key "$1"
  openssl req -new -key "$PKI/$1.key" -subj "$2" -out "$PKI/$1.csr"
  openssl x509 -req -in "$PKI/$1.csr" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key" -CAcreateserial -days 365 -out "$PKI/$1.crt" \
    -extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=clientAuth,serverAuth\n' "$3") 2>/dev/null
}

kubeconfig() { # CERTIFICATE FILE
  # It holds the keys themselves, so that it can be taken elsewhere. It appears at once or not at all.
  (umask 077; cat >"$2.new") <<Y
apiVersion: v1
kind: Config
current-context: local
contexts: [{name: local, context: {cluster: local, user: $1}}]
clusters:
- name: local
  cluster:
    server: https://$GATEWAY:6443
    certificate-authority-data: $(base64 -w0 "$PKI/ca.crt")
users:
- name: $1
  user:
    client-certificate-data: $(base64 -w0 "$PKI/$1.crt")
    client-key-data: $(base64 -w0 "$PKI/$1.key")
Y
  mv "$2.new" "$2"
}
