# shellcheck shell=bash
# Starts Gitea and the Drone server in the cluster's sandbox.

SERVERS=(gitea drone-server)

# build_servers: sets GITEA_BIN, GITEA_STATIC (the templates and the like that Gitea reads) and DRONE_BIN. Both take their
# SQLite from C.
build_servers() {
  local gitea=$DRONE_SRC/build/gitea
  mkdir -p "$BUILT"
  DRONE_BIN=$(CGO_ENABLED=1 build "$DRONE_SRC/build/drone-server" 3 tool -tags nolimit)
  GITEA_BIN=$(CGO_ENABLED=1 build "$gitea" 6 tool -tags 'sqlite sqlite_unlock_notify')
  GITEA_STATIC=$(module_source "$gitea" code.gitea.io/gitea)
}

# component_in_sandbox NAME COMMAND...
component_in_sandbox() {
  # shellcheck disable=SC2016  # expanded there
  in_sandbox bash -c '. "$1/lib/common.sh"; . "$1/lib/component.sh"; shift; component "$@"' - "$CLUSTER_SRC" "$@"
}

start_gitea() {
  mkdir -p "$STATE/gitea"
  cat >"$STATE/gitea/app.ini" <<I
RUN_MODE = prod
RUN_USER = root
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = $STATE/gitea
[server]
HTTP_ADDR = $GATEWAY
HTTP_PORT = ${GITEA_URL##*:}
ROOT_URL = $GITEA_URL/
STATIC_ROOT_PATH = $GITEA_STATIC
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = $STATE/gitea/gitea.db
[repository]
ROOT = $STATE/gitea/repositories
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
PASSWORD_HASH_ALGO = pbkdf2
[queue]
TYPE = channel # in memory; the one on disk is looked at every few seconds only
[webhook]
ALLOWED_HOST_LIST = *
[log]
LEVEL = warn
I
  gitea migrate
  gitea admin user create --admin --username "$OWNER" --password "$PASSWORD" --email "$OWNER@example.com" \
    --must-change-password=false
  component_in_sandbox gitea "$GITEA_BIN/gitea" web --config "$STATE/gitea/app.ini"
  wait_for 60 Gitea curl --silent --fail "$GITEA_URL/api/v1/version"
}

gitea() { "$GITEA_BIN/gitea" "$@" --config "$STATE/gitea/app.ini" >>"$RUN/log/gitea-setup.log" 2>&1; }

# start_drone: sets OAUTH, the application that Gitea knows the Drone server as.
start_drone() {
  mkdir -p "$STATE/drone"
  OAUTH=$(jq -n '{name: "drone", redirect_uris: [$redirect], confidential_client: true}' --arg redirect "$DRONE_URL/login" |
    gitea_api POST /user/applications/oauth2 --data @-)
  component_in_sandbox drone-server env \
    DRONE_GITEA_SERVER="$GITEA_URL" DRONE_GITEA_CLIENT_ID="$(jq -r .client_id <<<"$OAUTH")" \
    DRONE_GITEA_CLIENT_SECRET="$(jq -r .client_secret <<<"$OAUTH")" \
    DRONE_SERVER_PROTO=http DRONE_SERVER_HOST="${DRONE_URL#http://}" DRONE_SERVER_PORT="${DRONE_URL#http://}" \
    DRONE_RPC_SECRET="$RPC_SECRET" DRONE_AGENTS_ENABLED=true DRONE_USER_CREATE="username:$OWNER,admin:true" \
    DRONE_DATABASE_DATASOURCE="$STATE/drone/drone.sqlite" DRONE_CRON_INTERVAL=10s DRONE_LOGS_DEBUG=true \
    "$DRONE_BIN/drone-server"
  wait_for 60 'the Drone server' curl --silent --fail "$DRONE_URL/healthz"
}

# log_in: what a person does in a browser: logs in to Gitea, starts Drone's log-in and grants it the access. Leaves a
# token for Drone's API.
log_in() {
  local cookies=$STATE/cookies page
  browse() { curl --silent --show-error --fail --location --cookie "$cookies" --cookie-jar "$cookies" "$@"; }
  browse "$GITEA_URL/user/login" >/dev/null
  browse "$GITEA_URL/user/login" --data-urlencode "user_name=$OWNER" --data-urlencode "password=$PASSWORD" >/dev/null
  page=$(browse "$DRONE_URL/login")
  browse "$GITEA_URL/login/oauth/grant" --data granted=true --data scope= --data nonce= \
    --data-urlencode "client_id=$(jq -r .client_id <<<"$OAUTH")" --data-urlencode "redirect_uri=$DRONE_URL/login" \
    --data-urlencode "state=$(sed -n 's/.*name="state" value="\([^"]*\)".*/\1/p' <<<"$page")" >/dev/null
  browse --request POST "$DRONE_URL/api/user/token" | jq -er .token >"$STATE/token.new"
  mv "$STATE/token.new" "$STATE/token"
  rm "$cookies"
}

# servers_down: whatever state they are in.
servers_down() {
  local server
  for server in "${SERVERS[@]}"; do
    stop "$server"
    rm -f "$RUN/component/$server" "$RUN/pid/$server"
  done
  rm -rf "$STATE"
}
