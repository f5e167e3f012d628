#!/usr/bin/env bash
# Checks format, vet and staticcheck, also of the code behind build tags. All of staticcheck's checks are on but those that ask
# for a comment on every package, one name for all receivers of a type, and types left to inference. And that the files to
# which documents link are there.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
[ -z "$unformatted" ] || { echo "not formatted as gofmt does: $unformatted" >&2; exit 1; }
go vet -tags e2e ./...
(cd hack/cluster/images && go vet ./...)
bin=${XDG_CACHE_HOME:-$HOME/.cache}/drone-runner-tekton/bin
(cd hack/tools && GOBIN=$bin go install honnef.co/go/tools/cmd/staticcheck)
"$bin/staticcheck" -tags e2e -checks all,-ST1000,-ST1016,-ST1023 ./...

dead=0
while IFS=: read -r document link; do
  link=${link#](} link=${link%)}
  [ -e "$(dirname "$document")/${link%%#*}" ] || { echo "$document: links to $link, which is not there" >&2; dead=1; }
done < <(git ls-files '*.md' | xargs grep -oH '](\([^):]*\))' | grep -v ':](#')
exit $dead
