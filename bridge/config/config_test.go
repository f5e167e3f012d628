package config

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

func required(more map[string]string) map[string]string {
	env := map[string]string{"DRONE_RPC_HOST": "drone.example.com", "DRONE_RPC_SECRET": "s"}
	for k, v := range more {
		env[k] = v
	}
	return env
}

func noFiles(string) ([]byte, error) { return nil, errors.New("there is no such file") }

func TestDefaults(t *testing.T) {
	c, err := Load(required(nil), noFiles, "host-1")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{
		"server": c.Server.Server, "machine": c.Runner.Machine, "type": c.Runner.Filter.Type, "capacity": c.Runner.Capacity,
		"namespace": c.Runner.Namespace, "namespaces": c.Runner.Namespaces, "grace": c.Runner.Grace, "keep": c.Runner.Keep.For,
		"address": c.Web.Address, "password": c.Web.Password, "notes": len(c.Notes),
	}
	want := map[string]any{
		"server": "http://drone.example.com", "machine": "host-1", "type": "kubernetes", "capacity": 100,
		"namespace": "default", "namespaces": []string{"default"}, "grace": time.Minute, "keep": time.Hour,
		"address": ":3000", "password": "", "notes": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestProblems names each variable that is wrong, and what replaces one that is not supported.
func TestProblems(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"DRONE_RPC_HOST", "", "DRONE_RPC_HOST is required"},
		{"DRONE_RPC_PROTO", "ftp", `"ftp" is none of http, https`},
		{"DRONE_RUNNER_CAPACITY", "many", "not a whole number from 1"},
		{"DRONE_RUNNER_VOLUMES", "/a:/b", "declare a volume in the pipeline"},
		{"DRONE_RUNNER_MAX_PROCS", "4", "DRONE_RUNNER_CAPACITY"},
		{"DRONE_RUNNER_ENVIRON", "A=B", "write key:value"},
		{"DRONE_TMATE_ENABLED", "true", "kubectl debug"},
		{"DRONE_SERVER_PROTO", "https", "Ingress"},
		{"DRONE_ENGINE_CONTAINER_START_TIMEOUT", "480", "DRONE_TEKTON_GRACE"},
		{"DRONE_NAMESPACE_DEFAULT", "drone-", "DRONE_NAMESPACE_RULES"},
		{"DRONE_NAMESPACE_RULES", "ci", "no colon"},
		{"DRONE_POLICY_FILE", "nowhere", "no such file"},
		{"DRONE_LIMIT_REPOS", "[", "not a glob"},
		{"DRONE_TEKTON_KEEP", "soon", "not a time"},
		{"DRONE_TEKTON_BUCKETS", "11", "from 0 to 10"},
	}
	for _, tt := range tests {
		_, err := Load(required(map[string]string{tt.name: tt.value}), noFiles, "h")
		if err == nil || !strings.Contains(err.Error(), tt.name) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: error %v, want one about %s with %q", tt.name, tt.value, err, tt.name, tt.want)
		}
	}
}

// TestNothingIsIgnoredInSilence: a variable is supported, refused, or gets a note.
func TestNothingIsIgnoredInSilence(t *testing.T) {
	for _, v := range Variables() {
		if v.Supported() || v.Instead != "" {
			continue
		}
		c, err := Load(required(map[string]string{v.Name: "x"}), noFiles, "h")
		if err != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], v.Name) {
			t.Errorf("%s: %v, want a note", v.Name, err)
		}
	}
	c, err := Load(required(map[string]string{"DRONE_RUNER_CAPACITY": "3"}), noFiles, "h")
	if err != nil || len(c.Notes) != 1 {
		t.Errorf("a misspelt variable gets no note: %v", err)
	}
}

// TestServiceLinks: Kubernetes gives pods variables for Services, which are called DRONE_… beside a Service named drone.
func TestServiceLinks(t *testing.T) {
	c, err := Load(required(map[string]string{
		"DRONE_SERVER_PORT": "tcp://10.0.0.1:80", "DRONE_PORT_80_TCP_ADDR": "10.0.0.1", "DRONE_SERVICE_HOST": "10.0.0.1",
	}), noFiles, "h")
	if err != nil || len(c.Notes) != 0 || c.Web.Address != ":3000" {
		t.Errorf("Load = %+v, %v", c, err)
	}
}

func TestFilesAndRules(t *testing.T) {
	files := func(name string) ([]byte, error) {
		return []byte(map[string]string{
			"policy": "kind: policy\nname: all\nmetadata: {namespace: builds}\n",
			"rules":  "team: [octo/*]\n",
			"env":    "A=1\n",
		}[name]), nil
	}
	c, err := Load(required(map[string]string{
		"DRONE_POLICY_FILE": "policy", "DRONE_NAMESPACE_RULES_FILE": "rules", "DRONE_RUNNER_ENV_FILE": "env",
		"DRONE_RUNNER_ENVIRON": "B:2:3", "HTTP_PROXY": "http://proxy",
	}), files, "h")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"builds", "default", "team"}, c.Runner.Namespaces); diff != "" {
		t.Errorf("namespaces (-want +got)\n%s", diff)
	}
	want := map[string]string{"A": "1", "B": "2:3", "HTTP_PROXY": "http://proxy"}
	if diff := cmp.Diff(want, c.Runner.Compiler.Options.Environment); diff != "" {
		t.Errorf("environment (-want +got)\n%s", diff)
	}
}

func TestDocumentation(t *testing.T) {
	const file = "../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(file, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Markdown(), string(have)); diff != "" {
		t.Errorf("%s is not up to date; run go test ./bridge/config -update (-want +got)\n%s", file, diff)
	}
}
