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
		{"DRONE_TEKTON_KEEP_FAILED", "-1h", "not a time"},
		{"DRONE_TEKTON_LAYOUT", "chain", "none of steps, chains and pod"},
		{"DRONE_TEKTON_CLAIMS", "one", "neither shared nor per-volume"},
		{"DRONE_TEKTON_ACCESS_MODE", "RWX", "neither ReadWriteOnce nor ReadWriteMany"},
		{"DRONE_TEKTON_VOLUME_SIZE", "0", "not an amount such as 10Gi"},
		{"DRONE_TEKTON_STORAGE_CLASS", "Fast Disk", "cannot be a name"},
		{"DRONE_TEKTON_CLAIM", "my_claim", "cannot be a name"},
		{"DRONE_TEKTON_NAMESPACES", "builds,Other", `"Other" is no namespace`},
		{"DRONE_SERVICE_ACCOUNT_DEFAULT", "Bob", "cannot be a name"},
		{"DRONE_NODE_SELECTOR_DEFAULT", "a b:c", "is no label"},
		{"DRONE_LABELS_DEFAULT", "a:b c", "is no label"},
		{"DRONE_TEKTON_BUCKETS", "11", "from 0 to 10"},
	}
	for _, tt := range tests {
		_, err := Load(required(map[string]string{tt.name: tt.value}), noFiles, "h")
		if err == nil || !strings.Contains(err.Error(), tt.name) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: error %v, want one about %s with %q", tt.name, tt.value, err, tt.name, tt.want)
		}
	}
}

// TestStorageThatCannotBePlanned: what would be refused for every build is refused at start, by the variable's name.
func TestStorageThatCannotBePlanned(t *testing.T) {
	policies := func(text string) Files {
		return func(string) ([]byte, error) { return []byte("kind: policy\nname: p\n" + text), nil }
	}
	for _, tt := range []struct {
		name  string
		env   map[string]string
		files Files
		want  string
	}{
		{"spread over storage of one node", map[string]string{"DRONE_TEKTON_SPREAD": "true", "DRONE_TEKTON_ACCESS_MODE": "ReadWriteOnce"}, noFiles,
			"DRONE_TEKTON_SPREAD: tasks cannot spread over nodes with a claim of ReadWriteOnce"},
		{"spread", map[string]string{"DRONE_TEKTON_SPREAD": "true"}, noFiles, ""},
		{"policy against the runner", map[string]string{"DRONE_TEKTON_SPREAD": "true", "DRONE_POLICY_FILE": "f"}, policies("storage: {access_mode: ReadWriteOnce}\n"),
			"DRONE_POLICY_FILE: the policies do not go with the DRONE_TEKTON_ variables:\nf:3:11: error: storage.access_mode: tasks cannot spread"},
		{"policy with a fault", map[string]string{"DRONE_POLICY_FILE": "f"}, policies("alow: [node]\n"), "DRONE_POLICY_FILE: the policies cannot be used:\nf:3:1: error: alow"},
	} {
		_, err := Load(required(tt.env), tt.files, "h")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	c, err := Load(required(map[string]string{"DRONE_POLICY_FILE": "f"}), policies("---\nkind: policy\nname: q\n"), "h")
	if err != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "no build gets the policy q") {
		t.Errorf("a policy that no build gets is not told of: %v, %+v", err, c)
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

func TestGeneratedDocumentation(t *testing.T) {
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
