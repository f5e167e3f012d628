package translate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
)

// template is the pod template of a pipeline of one step.
func template(t *testing.T, head string) *pod.Template {
	t.Helper()
	return converted(t, head+"steps: [{name: a, image: i}]\n").PipelineRun.Spec.TaskRunTemplate.PodTemplate
}

// Where pods may run is said for the whole run, since Tekton's affinity assistant, which chooses the node for tasks
// that share a claim, follows that alone.
func TestNodesOfARun(t *testing.T) {
	for _, test := range []struct {
		keys string
		want map[string]string
	}{
		{"", nil},
		{"node_selector: {disk: ssd}\n", map[string]string{"disk": "ssd"}},
		{"node_name: n1\n", map[string]string{"kubernetes.io/hostname": "n1"}},
		{"platform: {os: linux, arch: arm64}\n", map[string]string{"kubernetes.io/os": "linux",
			"kubernetes.io/arch": "arm64"}},
		{"platform: {arch: amd64}\nnode_selector: {disk: ssd}\n", map[string]string{"kubernetes.io/arch": "amd64",
			"disk": "ssd"}},
		{"platform: {arch: amd64}\nnode_selector: {kubernetes.io/arch: arm64}\n",
			map[string]string{"kubernetes.io/arch": "arm64"}},
	} {
		if diff := cmp.Diff(test.want, template(t, kubernetesHead+test.keys).NodeSelector); diff != "" {
			t.Errorf("node selector of\n%s(-want +got):\n%s", test.keys, diff)
		}
	}
}

func TestTolerationsOfARun(t *testing.T) {
	got := template(t, kubernetesHead+`tolerations:
- {key: k, operator: Equal, value: v, effect: NoExecute, tolerationseconds: 60}
- {operator: Exists}
`).Tolerations
	seconds := int64(60)
	want := []corev1.Toleration{
		{Key: "k", Operator: "Equal", Value: "v", Effect: "NoExecute", TolerationSeconds: &seconds},
		{Operator: "Exists"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
}

func TestNamesAndAddressesOfARun(t *testing.T) {
	for _, test := range []struct{ keys, dns, hosts string }{
		{"", "null", "null"},
		{"dns_config: {nameservers: [1.1.1.1], searches: [example.com], options: [{name: ndots, value: '2'}, " +
			"{name: debug}]}\n",
			`{"nameservers":["1.1.1.1"],"searches":["example.com"],"options":[{"name":"ndots","value":"2"},{"name":"debug"}]}`, "null"},
		{"host_aliases: [{ip: 1.1.1.1, hostnames: [a, b]}]\n", "null", `[{"ip":"1.1.1.1","hostnames":["a","b"]}]`},
		{"services: [{name: db, image: i}]\n", `{"searches":["hello-7-default.default.svc.cluster.local"]}`, "null"},
		{"services: [{name: db, image: i}]\nmetadata: {namespace: builds}\ndns_config: {searches: [example.com]}\n",
			`{"searches":["hello-7-default.builds.svc.cluster.local","example.com"]}`, "null"},
	} {
		got := template(t, kubernetesHead+test.keys)
		dns, err := json.Marshal(got.DNSConfig)
		if err != nil {
			t.Fatal(err)
		}
		hosts, err := json.Marshal(got.HostAliases)
		if err != nil {
			t.Fatal(err)
		}
		if string(dns) != test.dns || string(hosts) != test.hosts {
			t.Errorf("dnsConfig is %s, hostAliases are %s, want %s, %s, of\n%s", dns, hosts, test.dns, test.hosts,
				test.keys)
		}
	}
}

// A pipeline's own service account has its token; pods of the account that is only the runner's choice do not.
func TestServiceAccount(t *testing.T) {
	for _, test := range []struct {
		keys, option, want string
		token              bool
	}{
		{"", "", "", false},
		{"", "runner", "runner", false},
		{"service_account_name: mine\n", "", "mine", true},
		{"service_account_name: mine\n", "runner", "mine", true},
	} {
		b := converted(t, kubernetesHead+test.keys+"services: [{name: s, image: i}]\nsteps: [{name: a, image: i}]\n",
			func(_ *Facts, o *Options) { o.ServiceAccount = test.option })
		spec := b.PipelineRun.Spec.TaskRunTemplate
		hasToken := func(automount *bool) bool { return automount == nil || *automount }
		if spec.ServiceAccountName != test.want ||
			hasToken(spec.PodTemplate.AutomountServiceAccountToken) != test.token {
			t.Errorf("%q with the option %q: account %q, with a token: %v, want %q, %v", test.keys, test.option,
				spec.ServiceAccountName, hasToken(spec.PodTemplate.AutomountServiceAccountToken), test.want, test.token)
		}
		if p := b.Pods[0].Spec; p.ServiceAccountName != test.want ||
			hasToken(p.AutomountServiceAccountToken) != test.token {
			t.Errorf("%q with the option %q: the service's account is %q, want %q", test.keys, test.option,
				p.ServiceAccountName, test.want)
		}
	}
}

func TestSecretsForPullingImages(t *testing.T) {
	b, list := convert(t, dockerHead+"image_pull_secrets: [docker_config, Other Config, DOCKER_CONFIG, "+
		"docker-config, '']\nsteps: [{name: a, image: i}]\n")
	third := "docker-config-" + hash("docker-config")
	want := []corev1.LocalObjectReference{{Name: "docker-config"}, {Name: "other-config"}, {Name: third}}
	if diff := cmp.Diff(want, b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.ImagePullSecrets); diff != "" {
		t.Errorf("imagePullSecrets (-want +got):\n%s", diff)
	}
	uses := []SecretUse{{"docker_config", "docker-config"}, {"Other Config", "other-config"}, {"docker-config", third}}
	if diff := cmp.Diff(uses, b.PullSecrets); diff != "" {
		t.Errorf("pull secrets of the bundle (-want +got):\n%s", diff)
	}
	if got := about(list, CodeSecretNeeded); len(got) != 3 {
		t.Errorf("what is said of secrets: %q, want a line for each", got)
	}
}

// All objects of a run carry the labels of the project and those of the pipeline, which cannot replace the project's
// own.
func TestMetadataOfObjects(t *testing.T) {
	b := converted(t, kubernetesHead+`metadata:
  namespace: builds
  labels: {team: a, app.kubernetes.io/managed-by: me, drone.io/repo: mine}
  annotations: {note: "any text", drone.io/commit: mine}
services: [{name: s, image: i}]
steps: [{name: a, image: i, detach: true, commands: [ls]}, {name: b, image: i}]
`, func(f *Facts, o *Options) { f.Build.Target, o.Workspace.Spread = "feature/x y", true })
	for _, o := range b.Objects() {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		name := kindOf(o) + " " + m.GetName()
		if m.GetNamespace() != "builds" {
			t.Errorf("%s is in the namespace %q, want builds", name, m.GetNamespace())
		}
		for label, want := range map[string]string{
			"team": "a", LabelManagedBy: ManagedBy, LabelRun: "hello-7-default", LabelRepo: "octocat-hello",
			LabelBuild: "7",
			LabelStage: "default", LabelBranch: "feature-x-y", LabelEvent: "push",
		} {
			if got := m.GetLabels()[label]; got != want {
				t.Errorf("%s has the label %s=%q, want %q", name, label, got, want)
			}
		}
		for annotation, want := range map[string]string{
			"note": "any text", AnnotationRepo: "octocat/hello", AnnotationStage: "default",
			AnnotationBranch: "feature/x y",
			AnnotationCommit: "c0ffee0123456789", AnnotationLink: "https://drone.example.com/octocat/hello/7",
		} {
			if got := m.GetAnnotations()[annotation]; got != want {
				t.Errorf("%s has the annotation %s=%q, want %q", name, annotation, got, want)
			}
		}
	}
}

// A task's pods carry the step's label, and the step's name as it was written.
func TestMetadataOfTasks(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: 'Build It / now', image: i}]\n")
	pt := taskOf(t, b, "build-it-now")
	if pt.DisplayName != "Build It / now" {
		t.Errorf("the display name is %q, want the step's name as written", pt.DisplayName)
	}
	m := pt.TaskSpec.Metadata
	if m.Labels[LabelStep] != "Build-It---now" || m.Annotations[AnnotationStep] != "Build It / now" ||
		m.Annotations[AnnotationStepNumber] != "2" {
		t.Errorf("labels %v and annotations %v do not tell the step", m.Labels, m.Annotations)
	}
	if got := b.PipelineRun.Spec.PipelineSpec.DisplayName; got != "default" {
		t.Errorf("the display name of the pipeline is %q, want its name", got)
	}
}

func TestNamespaceOfARun(t *testing.T) {
	const step = "steps: [{name: a, image: i}]\n"
	for _, test := range []struct{ rule, text, option, want string }{
		{"none is left to whoever creates the objects", kubernetesHead + step, "", ""},
		{"the pipeline's", kubernetesHead + "metadata: {namespace: builds}\n" + step, "", "builds"},
		{"the option wins", kubernetesHead + "metadata: {namespace: builds}\n" + step, "mine", "mine"},
		{"names of services need one", kubernetesHead + "services: [{name: s, image: i}]\n" + step, "", "default"},
	} {
		b := converted(t, test.text, func(_ *Facts, o *Options) { o.Namespace = test.option })
		if got := b.PipelineRun.Namespace; got != test.want {
			t.Errorf("%s: the namespace is %q, want %q", test.rule, got, test.want)
		}
	}
}

func kindOf(o runtime.Object) string { return o.GetObjectKind().GroupVersionKind().Kind }
