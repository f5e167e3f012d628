package translate

import (
	"strings"
	"testing"
)

// Which steps run privileged: those that say so, and Drone's plugins that build images, as long as a step does nothing
// that would let it use the privilege for something else.
func TestPrivilege(t *testing.T) {
	for _, test := range []struct {
		step   string
		extra  []string
		want   bool
		reason string
	}{
		{"image: i", nil, false, ""},
		{"image: i, privileged: true", nil, true, ""},
		{"image: i, privileged: true, commands: [ls], volumes: [{name: v, path: /v}]", nil, true, ""},
		{"image: plugins/docker", nil, true, ""},
		{"image: plugins/acr", nil, true, ""},
		{"image: plugins/ecr", nil, true, ""},
		{"image: plugins/gar", nil, true, ""},
		{"image: plugins/gcr", nil, true, ""},
		{"image: plugins/heroku", nil, true, ""},
		{"image: 'plugins/docker:18.09'", nil, true, ""},
		{"image: 'plugins/docker@sha256:0123'", nil, true, ""},
		{"image: docker.io/plugins/docker", nil, true, ""},
		{"image: 'index.docker.io/plugins/docker:latest'", nil, true, ""},
		{"image: plugins/docker-extra", nil, false, ""},
		{"image: other/plugins/docker", nil, false, ""},
		{"image: 'example.com:5000/plugins/docker'", nil, false, ""},
		{"image: docker", nil, false, ""},
		{"image: mine", []string{"mine:1"}, true, ""},
		{"image: 'docker.io/library/mine:2'", []string{"mine"}, true, ""},
		{"image: 'example.com:5000/mine:2'", []string{"example.com:5000/mine"}, true, ""},
		{"image: plugins/docker, settings: {repo: a/b}", nil, true, ""},
		{"image: plugins/docker, environment: {GOOS: linux}", nil, true, ""},
		{"image: plugins/docker, commands: [ls]", nil, false, "it has commands"},
		{"image: plugins/docker, command: [ls]", nil, false, "it has a command"},
		{"image: plugins/docker, entrypoint: [ls]", nil, false, "it has an entrypoint"},
		{"image: plugins/docker, volumes: [{name: v, path: /v}]", nil, false, "it mounts volumes"},
		{"image: plugins/docker, environment: {DOCKER_HOST: x}", nil, false, "it sets the variable DOCKER_HOST"},
		{"image: plugins/docker, environment: {path: x}", nil, false, "it sets the variable path"},
		{"image: plugins/docker, environment: {HOME: {from_secret: x}}", nil, false, "it sets the variable HOME"},
		{"image: plugins/docker, environment: {DOCKER_OPTS: x}", nil, false, "it sets the variable DOCKER_OPTS"},
		{"image: plugins/docker, environment: {XDG_RUNTIME_DIR: x}", nil, false,
			"it sets the variable XDG_RUNTIME_DIR"},
	} {
		text := dockerHead + "volumes: [{name: v, temp: {}}]\nsteps: [{name: a, " + test.step + "}]\n"
		got, reason := privileged(parsePipeline(t, text).Steps[0], test.extra)
		if got != test.want || reason != test.reason {
			t.Errorf("a step with %s: privileged = %v, %q, want %v, %q", test.step, got, reason, test.want, test.reason)
		}
		b, list := convert(t, text, func(_ *Facts, o *Options) { o.PrivilegedImages = test.extra })
		sc := stepOf(t, b, "a").SecurityContext
		if got := sc != nil && sc.Privileged != nil && *sc.Privileged; got != test.want {
			t.Errorf("a step with %s: its container is privileged: %v, want %v", test.step, got, test.want)
		}
		if told := about(list, CodePrivilege); (test.reason != "") != (len(told) == 1) || test.reason != "" &&
			!strings.HasSuffix(told[0], test.reason) {
			t.Errorf("a step with %s: said of its privilege: %q, want the reason %q", test.step, told, test.reason)
		}
	}
}

// The rule holds for services, and for repositories that are not trusted, which may not ask for privilege themselves.
func TestPrivilegeOfServicesAndUntrustedRepositories(t *testing.T) {
	untrusted := func(_ *Facts, o *Options) { o.Trusted = false }
	b := converted(t, dockerHead+"services: [{name: s, image: plugins/docker}]\n"+
		"steps: [{name: a, image: plugins/gcr}]\n", untrusted)
	if sc := b.Pods[0].Spec.Containers[0].SecurityContext; sc == nil || sc.Privileged == nil || !*sc.Privileged {
		t.Errorf("the service's container has the security context %v, want it privileged", sc)
	}
	if sc := stepOf(t, b, "a").SecurityContext; sc == nil || sc.Privileged == nil || !*sc.Privileged {
		t.Errorf("the step's container has the security context %v, want it privileged", sc)
	}
	if b, list := convert(t, dockerHead+"steps: [{name: a, image: i, privileged: true}]\n", untrusted); b != nil ||
		!list.HasErrors() {
		t.Errorf("an untrusted repository may run a privileged step: %s", report(list))
	}
}
