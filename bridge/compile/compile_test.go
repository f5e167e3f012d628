package compile

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

const key = "0123456789abcdef0123456789abcdef"

// details are those of a push to a public repository that is not trusted.
func details(config string, change ...func(*rpc.Details)) *rpc.Details {
	d := &rpc.Details{
		Repo:   &api.Repo{Slug: "octo/cat", Namespace: "octo", Name: "cat", Secret: key, Config: ".drone.yml", Timeout: 60},
		Build:  &api.Build{Number: 7, Event: api.EventPush, Target: "main", Ref: "refs/heads/main"},
		Stage:  &rpc.Stage{Stage: api.Stage{ID: 12, Name: "default"}},
		System: &api.System{Proto: "https", Host: "drone.example.com"},
		Config: rpc.Config{Data: []byte(config)},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

func trusted(d *rpc.Details)     { d.Repo.Trusted = true }
func pullRequest(d *rpc.Details) { d.Build.Event, d.Build.Fork = api.EventPullRequest, "octo/cat" }
func private(d *rpc.Details)     { d.Repo.Private = true }

const head = "kind: pipeline\ntype: kubernetes\nname: default\n"
const steps = "steps:\n- name: a\n  image: golang\n  commands: [x]\n  environment:\n    TOKEN: {from_secret: Token}\n"

func compileOf(c *Compiler, d *rpc.Details) (*Work, error) {
	if c.Options.Namespace == "" {
		c.Options.Namespace = "builds"
	}
	return c.Stage(context.Background(), d, d.Stage, time.Unix(1000, 0))
}

// TestAccess: what a repository that is not trusted may not choose, unless something allows it.
func TestAccess(t *testing.T) {
	allow := func(what ...policy.Choice) policy.Policies { return policy.Policies{{Name: "p", Allow: what}} }
	placed := &policy.Policy{Name: "p"}
	placed.Metadata.Namespace = "forced"
	tests := []struct {
		name     string
		config   string
		change   func(*rpc.Details)
		access   Access
		policies policy.Policies
		want     string // a part of the refusal
		where    string
	}{
		{name: "nothing asked", where: "builds"},
		{name: "its own namespace", config: "metadata: {namespace: builds}\n", where: "builds"},
		{name: "namespace", config: "metadata: {namespace: other}\n", want: "not trusted"},
		{name: "namespace, trusted", config: "metadata: {namespace: other}\n", change: trusted, where: "other"},
		{name: "namespace, by rule", config: "metadata: {namespace: other}\n", access: Access{Rules: map[string][]string{"other": {"octo/*"}}}, where: "other"},
		{name: "namespace, against a rule", config: "metadata: {namespace: other}\n", change: trusted, access: Access{Rules: map[string][]string{"other": {"team/**"}}}, want: "rules"},
		{name: "namespace, by policy", config: "metadata: {namespace: other}\n", policies: allow("namespace"), where: "other"},
		{name: "namespace that a policy replaces", config: "metadata: {namespace: other}\n", policies: policy.Policies{placed}, where: "forced"},
		{name: "namespace out of reach", config: "metadata: {namespace: other}\n", change: trusted, access: Access{Namespaces: []string{"builds"}}, want: "only in builds"},
		{name: "service account", config: "service_account_name: admin\n", want: "service account"},
		{name: "service account, trusted", config: "service_account_name: admin\n", change: trusted, where: "builds"},
		{name: "service account, by policy", config: "service_account_name: admin\n", policies: allow("service_account"), where: "builds"},
		{name: "node", config: "node_name: n1\n", want: "node_selector"},
		{name: "node, by policy", config: "node_name: n1\n", policies: allow("node"), where: "builds"},
		{name: "privilege", config: "services:\n- name: s\n  image: x\n  privileged: true\n", want: "privileged"},
		{name: "host volume", config: "volumes:\n- name: v\n  host: {path: /}\n", want: "trusted"},
	}
	for _, tt := range tests {
		d := details(head + tt.config + steps)
		if tt.change != nil {
			tt.change(d)
		}
		w, err := compileOf(&Compiler{Access: tt.access, Policies: tt.policies}, d)
		switch {
		case tt.want != "":
			if !IsRefusal(err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: error %v, want a refusal with %q", tt.name, err, tt.want)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case w.Namespace != tt.where || w.Bundle.PipelineRun.Namespace != tt.where:
			t.Errorf("%s: in the namespace %s, want %s", tt.name, w.Namespace, tt.where)
		}
	}
}

// encrypted is a secret as drone encrypt makes it.
func encrypted(t *testing.T, text string) string {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, gcm.NonceSize())
	return base64.StdEncoding.EncodeToString(gcm.Seal(nonce, nonce, []byte(text), nil))
}

// chain answers with what it was given.
type chain struct {
	secret *api.Secret
	err    error
}

func (c chain) Find(context.Context, SecretQuery) (*api.Secret, error) { return c.secret, c.err }

// TestSecretLookup: server, file, runner and extension, in this order; what is not found is empty and no error.
func TestSecretLookup(t *testing.T) {
	server := func(data string, pull bool) func(*rpc.Details) {
		return func(d *rpc.Details) {
			d.Secrets = append(d.Secrets, &api.Secret{Name: "TOKEN", Data: data, PullRequest: pull})
		}
	}
	file := "---\nkind: secret\nname: Token\ndata: " + encrypted(t, "from the file") + "\n"
	tests := []struct {
		name    string
		config  string
		change  []func(*rpc.Details)
		chain   Secrets
		want    string
		warning bool
	}{
		{name: "nowhere"},
		{name: "server, whatever the case", change: []func(*rpc.Details){server("one", false)}, want: "one"},
		{name: "server first", config: file, change: []func(*rpc.Details){server("one", false)}, want: "one"},
		{name: "empty on the server", config: file, change: []func(*rpc.Details){server("", false)}, want: "from the file"},
		{name: "not for pull requests", change: []func(*rpc.Details){server("one", false), pullRequest}},
		{name: "for pull requests", change: []func(*rpc.Details){server("one", true), pullRequest}, want: "one"},
		{name: "file", config: file, want: "from the file"},
		{name: "file, pull request to a public repository", config: file, change: []func(*rpc.Details){pullRequest}},
		{name: "file, pull request to a private repository", config: file, change: []func(*rpc.Details){pullRequest, private}, want: "from the file"},
		{name: "file, damaged", config: "---\nkind: secret\nname: Token\ndata: " + base64.StdEncoding.EncodeToString(make([]byte, 40)) + "\n", warning: true},
		{name: "extension", chain: chain{secret: &api.Secret{Data: "two"}}, want: "two"},
		{name: "extension, not for pull requests", chain: chain{secret: &api.Secret{Data: "two"}}, change: []func(*rpc.Details){pullRequest}},
		{name: "extension that fails", chain: chain{err: errors.New("down")}, warning: true},
	}
	for _, tt := range tests {
		d := details(head+steps+tt.config, tt.change...)
		w, err := compileOf(&Compiler{Secrets: tt.chain}, d)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := string(w.Secrets[0].Data["Token"]); got != tt.want {
			t.Errorf("%s: the secret is %q, want %q", tt.name, got, tt.want)
		}
		if tt.want != "" && !slices.Contains(w.Values, tt.want) {
			t.Errorf("%s: the secret is not to be hidden", tt.name)
		}
		warned := slices.ContainsFunc(w.Warnings, func(x diag.Diagnostic) bool { return x.Code == "secret" })
		if warned != tt.warning {
			t.Errorf("%s: warnings %v, want one: %v", tt.name, w.Warnings, tt.warning)
		}
	}
}

// TestPullSecret: all credentials are in one Secret of the run's own; the pipeline's win.
func TestPullSecret(t *testing.T) {
	d := details(head+"image_pull_secrets: [dockerconfig]\n"+steps, func(d *rpc.Details) {
		d.Secrets = []*api.Secret{{Name: "dockerconfig", Data: `{"auths":{"ghcr.io":{"auth":"dTI6cDI="},"docker.io":{"username":"u3","password":"p3"}}}`}}
	})
	c := &Compiler{Registries: Static{{Address: "https://ghcr.io", Username: "u1", Password: "p1"}, {Address: "quay.io", Username: "u4", Password: "p4"}}}
	w, err := compileOf(c, d)
	if err != nil {
		t.Fatal(err)
	}
	last := w.Secrets[len(w.Secrets)-1]
	list, err := ParseDockerConfig(last.Data[corev1.DockerConfigJsonKey])
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range list {
		got[r.Address] = r.Username + ":" + r.Password
	}
	want := map[string]string{"ghcr.io": "u2:p2", "https://index.docker.io/v1/": "u3:p3", "quay.io": "u4:p4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("credentials (-want +got)\n%s", diff)
	}
	refs := w.Bundle.PipelineRun.Spec.TaskRunTemplate.PodTemplate.ImagePullSecrets
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: w.Name + "-pull"}}, refs); diff != "" {
		t.Errorf("references (-want +got)\n%s", diff)
	}
	for _, password := range []string{"p1", "p2", "p3", "p4"} {
		if !slices.Contains(w.Values, password) {
			t.Errorf("the password %s is not to be hidden", password)
		}
	}
}

func TestPolicies(t *testing.T) {
	list, diags := policy.Parse("policies.yml", []byte(`
kind: policy
name: tags
match: {event: [tag]}
resources: {limit: {cpu: 500, memory: 64MiB, ephemeral_storage: 1GiB}, request: {memory: 128MiB}}
node_selector: {pool: big}
service_account: builder
tolerations: [{key: k, effect: NoExecute, toleration_seconds: 5}]
metadata: {labels: {team: red}}
storage: {layout: pod}
retention: {keep: 24h, keep_failed: 48h, per_repo: 5}
volumes: [{name: ca, path: /ca, config_map: {name: ca}}]
---
kind: policy
name: default
match: {branch: [none]}
node_selector: {pool: small}
`))
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	selector := func(change func(*rpc.Details)) map[string]string {
		w, err := compileOf(&Compiler{Policies: list}, details(head+"node_selector: {pool: mine}\n"+steps, change))
		if err != nil {
			t.Fatal(err)
		}
		return w.Bundle.PipelineRun.Spec.TaskRunTemplate.PodTemplate.NodeSelector
	}
	tag := func(d *rpc.Details) { d.Build.Event = "tag" }
	if got := selector(tag)["pool"]; got != "big" {
		t.Errorf("a tag goes to the pool %q, want that of the policy that matches", got)
	}
	if got := selector(private)["pool"]; got != "small" {
		t.Errorf("a push goes to the pool %q, want that of the policy named default", got)
	}
	w, err := compileOf(&Compiler{Policies: list}, details(head+steps, tag))
	if err != nil {
		t.Fatal(err)
	}
	run := w.Bundle.PipelineRun
	if run.Labels["team"] != "red" || run.Spec.TaskRunTemplate.ServiceAccountName != "builder" || len(run.Spec.PipelineSpec.Tasks) != 1 {
		t.Errorf("labels %v, account %q, %d tasks", run.Labels, run.Spec.TaskRunTemplate.ServiceAccountName, len(run.Spec.PipelineSpec.Tasks))
	}
	var requested int64 // by the one pod of all steps, which run one after the other
	for _, s := range run.Spec.PipelineSpec.Tasks[0].TaskSpec.Steps {
		r := s.ComputeResources
		if r.Limits.Cpu().MilliValue() != 500 || r.Limits.Memory().Value() != 64<<20 || r.Limits.StorageEphemeral().Value() != 1<<30 {
			t.Errorf("limits %v of %s, want those of the policy", r.Limits, s.Name)
		}
		requested += r.Requests.Memory().Value()
	}
	if requested != 64<<20 {
		t.Errorf("the steps request %d bytes in all, want that of one, capped by the limit", requested)
	}
	for name, want := range map[string]string{
		"drone.io/policy": "tags", "drone.io/keep": "24h0m0s", "drone.io/keep-failed": "48h0m0s", "drone.io/keep-per-repo": "5",
	} {
		if got := run.Annotations[name]; got != want {
			t.Errorf("the annotation %s is %q, want %q", name, got, want)
		}
	}
	if mounts := run.Spec.PipelineSpec.Tasks[0].TaskSpec.Steps[0].VolumeMounts; !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool {
		return m.MountPath == "/ca"
	}) {
		t.Errorf("the first step mounts %v, want the policy's volume too", mounts)
	}
}

// TestRunnersOwnNames: a pipeline cannot write labels and annotations by which the runner goes.
func TestRunnersOwnNames(t *testing.T) {
	config := head + "metadata: {labels: {drone.io/ended: '1', team: red}, annotations: {drone.io/keep: 9999h}}\n" + steps
	w, err := compileOf(&Compiler{}, details(config, trusted))
	if err != nil {
		t.Fatal(err)
	}
	run := w.Bundle.PipelineRun
	if run.Labels["drone.io/ended"] != "" || run.Annotations["drone.io/keep"] != "" || run.Labels["team"] != "red" {
		t.Errorf("labels %v, annotations %v", run.Labels, run.Annotations)
	}
	told := slices.ContainsFunc(w.Warnings, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Warning && strings.Contains(d.Message, "drone.io/ended") && d.Line == 4
	})
	if !told {
		t.Errorf("nothing tells of the label: %v", w.Warnings)
	}
}

// offers is a cluster without any storage class, where a service mesh is in the namespace meshed.
type offers struct{}

func (offers) Offers(_ context.Context, namespace string) (*workspace.Cluster, bool) {
	return &workspace.Cluster{}, namespace == "meshed"
}

// What the cluster cannot do is told before there is a run that would wait for ever.
func TestClusterIsKnown(t *testing.T) {
	const config = "kind: pipeline\nname: default\nsteps:\n- {name: a, image: i}\n"
	_, err := compileOf(&Compiler{Cluster: offers{}}, details(config))
	if !IsRefusal(err) || !strings.Contains(err.Error(), "no default storage class") {
		t.Errorf("without a storage class: %v, want a refusal", err)
	}
	c := &Compiler{Cluster: offers{}}
	c.Options.Workspace.Layout = workspace.Pod
	for namespace, want := range map[string]string{"calm": "READY", "meshed": ""} {
		c.Options.Namespace = namespace
		w, err := compileOf(c, details(config))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Bundle.PipelineRun.Spec.PipelineSpec.Tasks[0].TaskSpec.Metadata.Annotations["tekton.dev/ready"]; got != want {
			t.Errorf("in the namespace %s, steps start with the mark %q, want %q", namespace, got, want)
		}
	}
}

func TestRunName(t *testing.T) {
	name := func(change ...func(*rpc.Details)) string {
		d := details("", change...)
		return RunName(d, d.Stage)
	}
	base := name()
	if !strings.HasPrefix(base, "cat-7-") || len(base) > maxName {
		t.Errorf("RunName = %q", base)
	}
	if other := name(func(d *rpc.Details) { d.Stage.ID++ }); other == base {
		t.Errorf("two stages have the name %q", other)
	}
	if other := name(func(d *rpc.Details) { d.System.Host = "other" }); other == base {
		t.Errorf("two servers' stages have the name %q", other)
	}
	long := name(func(d *rpc.Details) { d.Repo.Name, d.Stage.Name = "7"+strings.Repeat("x", 80), "Ünit & more" })
	if len(long) > maxName || !strings.HasPrefix(long, "run-7x") {
		t.Errorf("RunName = %q (%d)", long, len(long))
	}
}

// TestStage: what is wrong with a file is told with its place, and pipelines are found by name.
func TestStage(t *testing.T) {
	tests := []struct{ name, config, stage, want string }{
		{"mistake", head + "steps: 3\n", "default", ".drone.yml:4"},
		{"no such pipeline", head + steps, "other", `no pipeline "other"`},
		{"without a name", strings.Replace(head, "name: default\n", "", 1) + steps, "default", ""},
		{"the second", head + steps + "---\n" + strings.Replace(head, "default", "two", 1) + steps, "two", ""},
	}
	for _, tt := range tests {
		d := details(tt.config)
		d.Stage.Name = tt.stage
		w, err := compileOf(&Compiler{}, d)
		switch {
		case tt.want == "" && (err != nil || w.Bundle == nil):
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!IsRefusal(err) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want a refusal with %q", tt.name, err, tt.want)
		}
	}
}

// TestNetrc: credentials for cloning are in a Secret of their own, and hidden.
func TestNetrc(t *testing.T) {
	d := details(head+steps, func(d *rpc.Details) {
		d.Netrc = &api.Netrc{Machine: "git.example.com", Login: "bot", Password: "letmein"}
	})
	w, err := compileOf(&Compiler{}, d)
	if err != nil {
		t.Fatal(err)
	}
	got := w.Secrets[1]
	if got.Name != w.Name+"-netrc" || string(got.Data[translate.NetrcFile]) != "machine git.example.com login bot password letmein" {
		t.Errorf("Secret %s: %q", got.Name, got.Data)
	}
	if !slices.Contains(w.Values, "letmein") {
		t.Error("the password is not to be hidden")
	}
}
