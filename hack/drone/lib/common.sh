# shellcheck shell=bash
# Sourced by every script of the Drone server's: where things are, and how to call the two APIs.
DRONE_SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$DRONE_SRC/../cluster/lib/common.sh"
for part in packages build sandbox component; do
  # shellcheck disable=SC1090
  . "$CLUSTER_SRC/lib/$part.sh"
done

STATE=$RUN/drone
GITEA_URL=http://$GATEWAY:3000
DRONE_URL=http://$GATEWAY:8000
RPC_SECRET=rpcsecret
# The one user: an administrator of both, and the owner of every repository here.
OWNER=dev PASSWORD=devpass123

# gitea_api METHOD PATH [CURL-ARGUMENTS...]; PATH without /api/v1
gitea_api() {
  curl --silent --show-error --fail --user "$OWNER:$PASSWORD" --header Content-Type:application/json \
    --request "$1" "$GITEA_URL/api/v1$2" "${@:3}"
}

# drone_api METHOD PATH [CURL-ARGUMENTS...]; PATH with /api
drone_api() {
  curl --silent --show-error --fail --header "Authorization: Bearer $(cat "$STATE/token")" \
    --request "$1" "$DRONE_URL$2" "${@:3}"
}
