# The final image holds the static binary and the certificates of well-known authorities, and nothing else.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=development
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /drone-runner-tekton ./cmd/drone-runner-tekton

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /drone-runner-tekton /drone-runner-tekton
USER 65532:65532
ENTRYPOINT ["/drone-runner-tekton"]
CMD ["daemon"]
