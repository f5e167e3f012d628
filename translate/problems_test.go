package translate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Problems that users of Drone's runners on Kubernetes have reported, by number, and surprises found in use, by letter:
// what a translation does about each. The comment is the symptom there.

const twoSteps = "steps: [{name: a, image: i}, {name: b, image: i}]\n"

// The workspace is a path of the node, so that all steps run on one node.
func TestKnownProblem01_WorkspaceOnAClaimOfTheRun(t *testing.T) {
	b := converted(t, kubernetesHead+twoSteps)
	w := b.PipelineRun.Spec.Workspaces
	if len(w) != 1 || w[0].VolumeClaimTemplate == nil ||
		w[0].VolumeClaimTemplate.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		t.Errorf("workspaces of the run: %+v, want a template for one ReadWriteOnce claim", w)
	}
	spread := converted(t, kubernetesHead+twoSteps,
		func(_ *Facts, o *Options) { o.Workspace = workspace.Options{Spread: true, StorageClass: "nfs"} })
	if c := spread.Claims; len(c) != 1 || c[0].Spec.AccessModes[0] != corev1.ReadWriteMany ||
		*c[0].Spec.StorageClassName != "nfs" {
		t.Errorf("claims beside the spread run: %+v, want one ReadWriteMany claim of the class", c)
	}
	if text := yamlText(t, b) + yamlText(t, spread); strings.Contains(text, "hostPath") {
		t.Error("a run has a path of the node")
	}
}

// Pods are pinned to a node by a label that differs from the node's name, and never scheduled.
func TestKnownProblem02_NoPodIsPinned(t *testing.T) {
	for _, layout := range []workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod} {
		b := converted(t, kubernetesHead+"services: [{name: s, image: i}]\n"+twoSteps,
			func(_ *Facts, o *Options) { o.Workspace.Layout = layout })
		if text := yamlText(t, b); strings.Contains(text, "nodeName:") || strings.Contains(text, "nodeSelector") {
			t.Errorf("layout %s: the run chooses a node:\n%s", layout, text)
		}
	}
}

// Only a pipeline that names a node is bound to it.
func TestKnownProblem03_ANodeOnlyWhereOneIsNamed(t *testing.T) {
	got := template(t, kubernetesHead+"node_name: n1\n").NodeSelector
	if diff := cmp.Diff(map[string]string{corev1.LabelHostname: "n1"}, got); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
}

// A pod asks for the sum of all steps, though one runs at a time, and never fits.
func TestKnownProblem05_EachStepAsksForItself(t *testing.T) {
	b := converted(t, kubernetesHead+"resources: {requests: {cpu: 500}}\n"+twoSteps)
	for _, pt := range b.PipelineRun.Spec.PipelineSpec.Tasks {
		if len(pt.TaskSpec.Steps) != 1 || millicores(pt.TaskSpec.Steps[0].ComputeResources.Requests) != 500 {
			t.Errorf("task %s has %d steps, the first asks for %v", pt.Name, len(pt.TaskSpec.Steps),
				pt.TaskSpec.Steps[0].ComputeResources.Requests)
		}
	}
}

// Requests of a step are read and ignored.
func TestKnownProblem06_RequestsOfAStepCount(t *testing.T) {
	b := converted(t, kubernetesHead+"resources: {requests: {cpu: 500}}\n"+
		"steps: [{name: a, image: i, resources: {requests: {cpu: 50}}}]\n")
	if got := millicores(stepOf(t, b, "a").ComputeResources.Requests); got != 50 {
		t.Errorf("the step asks for %d thousandths, want its own 50", got)
	}
}

// Pods without requests and limits overload nodes.
func TestKnownProblem07_DefaultRequestsAndLimits(t *testing.T) {
	b := converted(t, kubernetesHead+twoSteps, func(_ *Facts, o *Options) {
		o.Requests, o.Limits = drone.ResourceList{CPU: 100, Memory: 1 << 20}, drone.ResourceList{Memory: 1 << 30}
	})
	got, err := json.Marshal(stepOf(t, b, "a").ComputeResources)
	if want := `{"limits":{"memory":"1Gi"},"requests":{"cpu":"100m","memory":"1Mi"}}`; err != nil ||
		string(got) != want {
		t.Errorf("resources are %s (%v), want %s", got, err, want)
	}
}

// The trouble of one container ends all others of the pod.
func TestKnownProblem20_StepsHavePodsOfTheirOwn(t *testing.T) {
	b := converted(t, kubernetesHead+twoSteps)
	if got := taskNames(b.PipelineRun.Spec.PipelineSpec.Tasks); !slices.Equal(got, []string{"clone", "a", "b"}) {
		t.Errorf("tasks are %v, want one for each step", got)
	}
}

// Nothing ends a run whose runner is gone.
func TestKnownProblem30_TimeLimitsWithoutARunner(t *testing.T) {
	b := converted(t, dockerHead+"services: [{name: s, image: i}]\n"+twoSteps,
		func(f *Facts, _ *Options) { f.Repo.Timeout = 90 })
	if got := b.PipelineRun.Spec.Timeouts.Pipeline.Duration.String(); got != "1h30m0s" {
		t.Errorf("the run may take %s, want the repository's time", got)
	}
	if got := b.Pods[0].Spec.ActiveDeadlineSeconds; got == nil || *got < 5400 || *got > 6000 {
		t.Errorf("the service ends after %v seconds, want little more than the run", got)
	}
}

// Tekton's own time limit of a task, an hour, ends steps of longer pipelines.
func TestKnownProblem32_TasksMayTakeAsLongAsTheRun(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: a, image: i}, {name: f, image: i, when: {status: [failure]}}]\n",
		func(f *Facts, _ *Options) { f.Repo.Timeout = 240 })
	spec := b.PipelineRun.Spec.PipelineSpec
	for _, pt := range slices.Concat(spec.Tasks, spec.Finally) {
		if pt.Timeout == nil || pt.Timeout.Duration.String() != "4h0m0s" {
			t.Errorf("task %s may take %v, want 4h", pt.Name, pt.Timeout)
		}
	}
}

// DRONE_BUILD_STATUS is always success, so notifications lie.
func TestKnownProblem37_NotificationsTellTheTruth(t *testing.T) {
	b := converted(t, kubernetesHead+"steps: [{name: a, image: i}, {name: n, image: i, commands: [x], "+
		"when: {status: [success, failure]}}]\n")
	for task, want := range map[string]string{"n": "success", "n-on-failure": "failure"} {
		if got := started(t, b, task).env["DRONE_BUILD_STATUS"]; got != want {
			t.Errorf("%s is told the status %q, want %q", task, got, want)
		}
		if got := taskOf(t, b, task).TaskSpec.Metadata.Annotations["DRONE_BUILD_STATUS"]; got != want {
			t.Errorf("/run/drone/env of %s says %q, want %q", task, got, want)
		}
	}
}

// DRONE_FAILED_STEPS and DRONE_FAILED_STAGES are never set.
func TestKnownProblem38_FailedStepsAndStages(t *testing.T) {
	b := converted(t, kubernetesHead+"steps: [{name: a, image: i}, {name: n, image: plugins/slack, "+
		"when: {status: [failure]}}]\n",
		func(f *Facts, _ *Options) { f.Build.Stages = failedStages })
	env := map[string]string{}
	steps := taskOf(t, b, "n").TaskSpec.Steps
	for _, v := range slices.Concat(steps[len(steps)-1].Env, b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.Env) {
		env[v.Name] = v.Value
	}
	if env["DRONE_FAILED_STEPS"] != "$(steps.failed-steps.results.failed-steps)" ||
		env["DRONE_FAILED_STAGES"] != "bad,worse,shot" {
		t.Errorf("the step is told %q and %q", env["DRONE_FAILED_STEPS"], env["DRONE_FAILED_STAGES"])
	}
}

// CI_BUILD_STATUS is that of the time when the build was made.
func TestKnownProblem39_OldNamesOfTheStateAreUpToDate(t *testing.T) {
	b := converted(t, kubernetesHead+"steps: [{name: a, image: i}, {name: n, image: i, commands: [x], "+
		"when: {status: [failure]}}]\n",
		func(f *Facts, _ *Options) { f.Build.Status = "running" })
	for task, want := range map[string]string{"a": "success", "n": "failure"} {
		if got := started(t, b, task).env["CI_BUILD_STATUS"]; got != want {
			t.Errorf("%s is told the status %q, want %q", task, got, want)
		}
	}
}

// DRONE_STEP_NUMBER is missing.
func TestKnownProblem40_NumbersOfSteps(t *testing.T) {
	b := converted(t, kubernetesHead+"services: [{name: s, image: i}]\n"+
		"steps: [{name: a, image: i, when: {branch: other}}, {name: b, image: i}]\n")
	if got := started(t, b, "b").env["DRONE_STEP_NUMBER"]; got != "3" {
		t.Errorf("the step after clone, a service and a step that is left out is number %s, want 3", got)
	}
}

// Services are not resolvable by name.
func TestKnownProblem41_ServicesHaveTheirNames(t *testing.T) {
	b := converted(t, kubernetesHead+"services: [{name: redis, image: i}]\n"+twoSteps)
	p, domain := b.Pods[0].Spec, b.Service.Name+".default.svc.cluster.local"
	if p.Hostname != "redis" || p.Subdomain != b.Service.Name ||
		!slices.Contains(b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.DNSConfig.Searches, domain) {
		t.Errorf("redis is %s.%s, and steps look in %v", p.Hostname, p.Subdomain,
			b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.DNSConfig.Searches)
	}
}

// Detached steps have no host name.
func TestKnownProblem42_DetachedStepsHaveTheirNames(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: server, image: i, detach: true}, {name: b, image: i}]\n")
	if got := b.Pods[0].Spec.Hostname; got != "server" {
		t.Errorf("the detached step is %q", got)
	}
}

// Services share ports, and are at localhost only.
func TestKnownProblem43_ServicesOnOnePortAndAtLocalhost(t *testing.T) {
	text := "services: [{name: one, image: i}, {name: two, image: i}]\n" +
		"steps: [{name: a, image: i, commands: ['curl localhost:80']}]\n"
	if b := converted(t, dockerHead+text); len(b.Pods) != 2 {
		t.Errorf("there are %d Pods, want one for each service", len(b.Pods))
	}
	if _, list := convert(t, kubernetesHead+text); len(about(list, CodeLocalhost)) != 1 {
		t.Errorf("nothing is said of localhost: %s", report(list))
	}
	b := converted(t, kubernetesHead+text, func(_ *Facts, o *Options) { o.Workspace.Layout = workspace.Pod })
	if got := len(taskOf(t, b, onePodTask).TaskSpec.Sidecars); got != 2 {
		t.Errorf("the one pod has %d sidecars, want both services", got)
	}
}

// Services of two pipelines that run at once have one name.
func TestKnownProblem44_ServicesOfTwoBuilds(t *testing.T) {
	text := dockerHead + "services: [{name: redis, image: i}]\n" + twoSteps
	one, two := converted(t, text), converted(t, text, func(f *Facts, _ *Options) { f.Build.Number++ })
	for i, o := range one.Objects() {
		if a, b := nameOf(t, o), nameOf(t, two.Objects()[i]); a == b {
			t.Errorf("both builds have the %s %s", kindOf(o), a)
		}
	}
}

// Secrets are in the specification of pods.
func TestKnownProblem46_SecretsAreReferencesAlone(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: a, image: i, environment: {A: {from_secret: s}}, "+
		"settings: {b: {from_secret: t}}}]\n")
	if diff := cmp.Diff(map[string]string{"A": "drone-secrets/s", "PLUGIN_B": "drone-secrets/t"},
		started(t, b, "a").secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// The credentials for cloning are in every step, in clear.
func TestKnownProblem47_CredentialsOfCloning(t *testing.T) {
	b := converted(t, dockerHead+twoSteps, func(_ *Facts, o *Options) { o.Netrc, o.NetrcCloneOnly = "creds", true })
	if got := started(t, b, "clone").secrets["DRONE_NETRC_PASSWORD"]; got != "creds/password" {
		t.Errorf("clone has the password from %q", got)
	}
	if got := started(t, b, "a").secrets; len(got) > 0 {
		t.Errorf("another step has %v", got)
	}
}

// Removing a step that is skipped breaks those that depend on it.
func TestKnownProblem49_DependentsOfSkippedSteps(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: a, image: i}, {name: b, image: i, depends_on: [a], "+
		"when: {branch: other}}, {name: c, image: i, depends_on: [b]}]\n")
	if got := runAfter(b)["c"]; got != "a" {
		t.Errorf("c waits for %q, want a, which the skipped step waited for", got)
	}
}

// A dependency on a step that a filter leaves out is refused.
func TestKnownProblem50_DependencyOnAStepThatIsLeftOut(t *testing.T) {
	_, list := convert(t, dockerHead+"steps: [{name: a, image: i, when: {event: tag}}, "+
		"{name: b, image: i, depends_on: [a]}]\n")
	if list.HasErrors() {
		t.Errorf("it is refused: %s", report(list))
	}
}

// After depends_on was added somewhere, steps without it run at once.
func TestKnownProblem51_OneDependsOnMakesAGraph(t *testing.T) {
	b, list := convert(t, dockerHead+"steps: [{name: a, image: i}, {name: b, image: i}, "+
		"{name: c, image: i, depends_on: [a]}]\n")
	if got := runAfter(b)["b"]; got != "clone" {
		t.Errorf("b waits for %q, want clone, as in Drone", got)
	}
	if len(about(list, drone.CodeGraph)) != 1 {
		t.Errorf("it is not told: %s", report(list))
	}
}

// Steps of one branch are skipped after a failure in another: so Drone means it.
func TestKnownProblem53_AFailureCountsForAllBranches(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: a, image: i, depends_on: [clone]}, "+
		"{name: b, image: i, depends_on: [clone]}, {name: c, image: i, depends_on: [b]}]\n")
	for _, pt := range b.PipelineRun.Spec.PipelineSpec.Tasks {
		if pt.OnError != "" || pt.TaskSpec.Steps[0].OnError != "" {
			t.Errorf("the run goes on after a failure of %s", pt.Name)
		}
	}
}

// A converter ignores depends_on.
func TestKnownProblem55_OrderIsTranslated(t *testing.T) {
	serial := converted(t, dockerHead+twoSteps)
	graph := converted(t, dockerHead+"steps: [{name: a, image: i}, {name: b, image: i}, "+
		"{name: c, image: i, depends_on: [a, b]}]\n")
	if serial, graph := runAfter(serial)["b"], runAfter(graph)["c"]; serial != "a" || graph != "a b" {
		t.Errorf("b waits for %q, c for %q, want a, and a and b", serial, graph)
	}
}

// Exit code 78 ends a pipeline as a success, which nobody knows who did not read it.
func TestKnownProblem56_ExitCode78IsTold(t *testing.T) {
	_, list := convert(t, dockerHead+"steps:\n- name: a\n  image: i\n  commands:\n  - test -e x || exit 78\n")
	if got := report(list); !strings.Contains(got, "f:8:5: info: exit code 78") {
		t.Errorf("it is not told where it stands: %s", got)
	}
}

// Names of steps with blanks, capitals or many letters break labels and names of pods.
func TestKnownProblem57_NamesAreValidDistinctAndStable(t *testing.T) {
	text := dockerHead + "steps:\n"
	names := []string{"Build A", "build-a", "build a", strings.Repeat("long", 25), strings.Repeat("long", 24) + "lon2",
		"日本語", "日本", "a/b", "$(params.x)", "-", "1"}
	for _, name := range names {
		text += "- {name: " + yamlQuote(name) + ", image: i}\n"
	}
	b, again := converted(t, text), converted(t, text)
	seen := map[string]string{}
	for i, s := range b.Plan.Steps {
		pt := taskOf(t, b, s.ID)
		if problems := validation.IsDNS1123Label(s.ID); len(problems) > 0 || len(s.ID) > 50 {
			t.Errorf("the task of %q is called %q: %v", s.Name, s.ID, problems)
		}
		if other, ok := seen[s.ID]; ok {
			t.Errorf("%q and %q are both called %q", s.Name, other, s.ID)
		}
		seen[s.ID] = s.Name
		if pt.DisplayName != s.Name {
			t.Errorf("the step %q shows as %q", s.Name, pt.DisplayName)
		}
		if again.Plan.Steps[i].ID != s.ID {
			t.Errorf("%q is called %q, and then %q", s.Name, s.ID, again.Plan.Steps[i].ID)
		}
	}
}

// Images of private registries cannot be pulled, nor their entrypoints looked up.
func TestKnownProblem58_PullSecretsAreOnThePods(t *testing.T) {
	b := converted(t, dockerHead+"image_pull_secrets: [registry]\nservices: [{name: s, image: i}]\n"+twoSteps)
	want := []corev1.LocalObjectReference{{Name: "registry"}}
	if diff := cmp.Diff(want, b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.ImagePullSecrets); diff != "" {
		t.Errorf("pull secrets of the run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, b.Pods[0].Spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull secrets of the service (-want +got):\n%s", diff)
	}
}

// The two runners pull the tag latest differently.
func TestKnownProblem59_PullPolicyOfEachType(t *testing.T) {
	for head, want := range map[string]corev1.PullPolicy{dockerHead: "", kubernetesHead: corev1.PullIfNotPresent} {
		if got := stepOf(t, converted(t, head+twoSteps), "a").ImagePullPolicy; got != want {
			t.Errorf("the pull policy of a tag latest is %q, want %q, in\n%s", got, want, head)
		}
	}
}

// The platform does not choose nodes, so that builds for arm land on amd64.
func TestKnownProblem61_PlatformChoosesNodes(t *testing.T) {
	for _, head := range []string{dockerHead, kubernetesHead} {
		want := map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "arm64"}
		if diff := cmp.Diff(want, template(t, head+"platform: {os: linux, arch: arm64}\n").NodeSelector); diff != "" {
			t.Errorf("node selector of\n%s(-want +got):\n%s", head, diff)
		}
	}
}

// A stand-in for images confuses the runner.
func TestKnownProblem65_ImagesAreTheStepsOwn(t *testing.T) {
	b := converted(t, kubernetesHead+"clone: {disable: true}\nsteps: [{name: a, image: 'example/tool:1'}]\n")
	if got := stepOf(t, b, "a").Image; got != "example/tool:1" {
		t.Errorf("the step's image is %s", got)
	}
}

// Pipelines need rights in the whole cluster.
func TestKnownProblem66_ObjectsOfOneNamespace(t *testing.T) {
	b := converted(t, kubernetesHead+"services: [{name: s, image: i}]\n"+twoSteps,
		func(_ *Facts, o *Options) { o.Workspace.Spread = true })
	var kinds []string
	for _, o := range b.Objects() {
		kinds = append(kinds, kindOf(o))
	}
	if diff := cmp.Diff([]string{"PersistentVolumeClaim", "Service", "PipelineRun", "Pod"}, kinds); diff != "" {
		t.Errorf("kinds of objects (-want +got):\n%s", diff)
	}
}

// Kinds of volumes are missing.
func TestKnownProblem67_FiveKindsOfVolumesForTrustedRepositories(t *testing.T) {
	const text = kubernetesHead + `volumes:
- {name: a, temp: {}}
- {name: b, host: {path: /b}}
- {name: c, claim: {name: c}}
- {name: d, config_map: {name: d}}
- {name: e, secret: {name: e}}
steps:
- name: s
  image: i
  volumes:
  - {name: a, path: /a, sub_path: x}
  - {name: b, path: /b}
  - {name: c, path: /c}
  - {name: d, path: /d}
  - {name: e, path: /e}
`
	if got := files(t, converted(t, text), "s"); len(got) != 6 {
		t.Errorf("files are %v, want the source and five volumes", got)
	}
	_, list := convert(t, text, func(_ *Facts, o *Options) { o.Trusted = false })
	if got := about(list, drone.CodeUntrusted); len(got) != 4 {
		t.Errorf("refused to an untrusted repository: %q, want all but temp", got)
	}
}

// Images lose the privilege that they need, and nobody knows why.
func TestKnownProblem68_LostPrivilegeIsTold(t *testing.T) {
	_, list := convert(t, dockerHead+"services: [{name: s, image: plugins/docker, environment: {DOCKER_HOST: x}}]\n"+
		"steps: [{name: a, image: plugins/docker, commands: [ls]}]\n")
	want := []string{
		`warning: step "s" does not run privileged, though its image usually does: it sets the variable DOCKER_HOST`,
		`warning: step "a" does not run privileged, though its image usually does: it has commands`,
	}
	if diff := cmp.Diff(want, about(list, CodePrivilege)); diff != "" {
		t.Errorf("what is said (-want +got):\n%s", diff)
	}
}

// Claims of runs that are over stay for weeks.
func TestKnownProblem69_ClaimsGoWithTheRun(t *testing.T) {
	b := converted(t, dockerHead+twoSteps)
	if b.PipelineRun.Spec.Workspaces[0].VolumeClaimTemplate == nil || len(b.Claims) > 0 {
		t.Error("the claim is not the run's own, so nothing deletes it with the run")
	}
}

// Keys without a counterpart are dropped in silence.
func TestKnownProblem73_EveryKeyIsAnswered(t *testing.T) {
	m, list := drone.Parse("f", []byte(dockerHead+`concurrency: {limit: 1}
node: {a: b}
steps:
- name: a
  image: i
  network_mode: host
  devices: [{name: d, path: /d}]
  shell: bash
  ports: [80]
  build: x
  push: true
`))
	_, more := Pipeline(m.Pipelines[0], push(), Options{Trusted: true})
	told := report(append(list, more...))
	for _, key := range []string{"f:4:", "f:5:", "network_mode", "devices", "shell", "ports", "build", "push"} {
		if !strings.Contains(told, key) {
			t.Errorf("nothing is said of %s:\n%s", key, told)
		}
	}
}

// A secret that is missing is an empty text to Drone, and an error to Kubernetes.
func TestKnownProblemD_MissingSecretsAreNoError(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: a, image: i, environment: {A: {from_secret: s}}}]\n")
	for _, v := range stepOf(t, b, "a").Env {
		if v.ValueFrom != nil && (v.ValueFrom.SecretKeyRef.Optional == nil || !*v.ValueFrom.SecretKeyRef.Optional) {
			t.Errorf("%s must be there for the step to start", v.Name)
		}
	}
}

// YAML 1.1 makes true of yes, 420 of 0644 and 1.1 of 1.10, in settings and not in variables.
func TestKnownProblemE_SettingsFollowYAML11(t *testing.T) {
	env := started(t, converted(t, dockerHead+"steps: [{name: a, image: i, settings: {a: yes, b: 0644, c: 1.10}, "+
		"environment: {A: yes, B: 0644, C: 1.10}}]\n"), "a").env
	for name, want := range map[string]string{"PLUGIN_A": "true", "PLUGIN_B": "420", "PLUGIN_C": "1.1", "A": "yes",
		"B": "0644", "C": "1.10"} {
		if env[name] != want {
			t.Errorf("%s = %q, want %q", name, env[name], want)
		}
	}
}

// CPU is a whole number of thousandths: half a core is nothing.
func TestKnownProblemF_AmountsOfCPUAreTold(t *testing.T) {
	for text, want := range map[string]int64{"0.5": 0, "2": 2} {
		yaml := kubernetesHead + "steps:\n- name: a\n  image: i\n  resources:\n    limits:\n      cpu: " + text + "\n"
		m, list := drone.Parse("f", []byte(yaml))
		if !strings.Contains(report(list), "f:9:") {
			t.Errorf("cpu: %s is not told: %s", text, report(list))
		}
		b, _ := Pipeline(m.Pipelines[0], push(), Options{})
		if got := millicores(stepOf(t, b, "a").ComputeResources.Limits); got != want {
			t.Errorf("cpu: %s is a limit of %d thousandths, want %d as in Drone", text, got, want)
		}
	}
}

// Substitution makes one dollar sign of two.
func TestKnownProblemG_TwoDollarsBecomeOne(t *testing.T) {
	text, list := drone.Substitute("f", []byte("echo $$HOME; kill $$"), nil)
	if string(text) != "echo $HOME; kill $" || len(list) != 1 {
		t.Errorf("Substitute gives %q and says %s", text, report(list))
	}
}

// Backquotes in a command run in its announcement too.
func TestKnownProblemH_BackquotesRunOnce(t *testing.T) {
	p := started(t, converted(t, stepWith(t, "echo `echo x >> log; wc -l < log`")), "a")
	if got, exit := run(t, p, []string{"/bin/sh"}, ""); got != "+ echo `echo x >> log; wc -l < log`\n1\n" || exit != 0 {
		t.Errorf("exit status %d, output %q", exit, got)
	}
}

// A command that reads its input swallows the rest of the script.
func TestKnownProblemI_InputIsNotTheScript(t *testing.T) {
	p := started(t, converted(t, stepWith(t, "cat > /dev/null", "echo after")), "a")
	if got, exit := run(t, p, []string{"/bin/sh"}, ""); !strings.HasSuffix(got, "\nafter\n") || exit != 0 {
		t.Errorf("exit status %d, output %q", exit, got)
	}
}

// Kubernetes and Tekton replace what they take for their own variables.
func TestKnownProblemJ_TextsThatLookLikeReferences(t *testing.T) {
	const text = "$(HOME) $(params.x) $$(date) $(context.taskRun.name)"
	p := started(t, converted(t, dockerHead+"steps: [{name: a, image: i, environment: {HOME: /h, X: "+yamlQuote(text)+
		"}}]\n"), "a")
	if p.env["X"] != text {
		t.Errorf("X = %q, want %q", p.env["X"], text)
	}
}

// A step whose failure is ignored, and that cannot be started, fails the build all the same: so Drone means it.
func TestKnownProblemK_IgnoredFailuresAreThoseOfAProcess(t *testing.T) {
	pt := taskOf(t, converted(t, dockerHead+"steps: [{name: a, image: i, failure: ignore}]\n"), "a")
	if pt.OnError != "" || pt.TaskSpec.Steps[0].OnError != "continue" {
		t.Errorf("onError of the task is %q, of its step %q, want the step's alone", pt.OnError,
			pt.TaskSpec.Steps[0].OnError)
	}
}

// A failure that ends the pipeline at once is what a PipelineRun cannot do.
func TestKnownProblemL_FailFastIsTold(t *testing.T) {
	for _, word := range []string{"fast", "fast-fail", "fail-fast"} {
		b, list := convert(t, dockerHead+"steps: [{name: a, image: i, failure: "+word+"}]\n")
		if !b.Plan.Step("a").FailFast || len(about(list, CodeRunnerOnly)) != 1 {
			t.Errorf("failure: %s: %s", word, report(list))
		}
	}
}

// An on-failure step whose turn came before anything failed never runs.
func TestKnownProblemM_AStepForFailuresWhoseTurnHasPassed(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: f, image: i, commands: [x], when: {status: [failure]}}, "+
		"{name: b, image: i}]\n")
	var when []string
	for _, w := range taskOf(t, b, "f").When {
		when = append(when, w.Input+"="+strings.Join(w.Values, ","))
	}
	if diff := cmp.Diff([]string{"$(tasks.status)=Failed", "$(tasks.b.status)=None"}, when); diff != "" {
		t.Errorf("conditions of the step (-want +got):\n%s", diff)
	}
}

// The condition instance of a trigger is never looked at.
func TestKnownProblemN_TriggerIgnoresInstance(t *testing.T) {
	p := parsePipeline(t, dockerHead+"trigger: {instance: elsewhere}\n"+twoSteps)
	if !Triggered(p.Trigger, push()) {
		t.Error("the trigger looks at instance, which Drone's server does not")
	}
}

// A pipeline of type kubernetes takes numbers of users alone.
func TestKnownProblemO_RootIsToldOrTaken(t *testing.T) {
	m, list := drone.Parse("f", []byte(kubernetesHead+"steps:\n- name: a\n  image: i\n  user: root\n"))
	if !strings.Contains(report(list), "f:7:") {
		t.Errorf("user: root is not told: %s", report(list))
	}
	if list.HasErrors() {
		return
	}
	b, _ := Pipeline(m.Pipelines[0], push(), Options{})
	if sc := stepOf(t, b, "a").SecurityContext; sc == nil || sc.RunAsUser == nil || *sc.RunAsUser != 0 {
		t.Errorf("the step runs with %v, want as root", sc)
	}
}

// Arguments with blanks are taken apart.
func TestKnownProblemP_ArgumentsWithBlanks(t *testing.T) {
	b := converted(t, kubernetesHead+"steps: [{name: a, image: i, entrypoint: [tool, -m], command: ['two words']}]\n")
	if diff := cmp.Diff([]string{"tool", "-m", "two words"}, started(t, b, "a").argv); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// A line of 64 KiB ends the file in silence.
func TestKnownProblemQ_LongLinesAreKept(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	m, list := drone.Parse("f", []byte(dockerHead+"steps:\n- name: a\n  image: i\n  environment: {X: "+long+
		"}\n- name: b\n  image: i\n"))
	if len(m.Pipelines[0].Steps) != 2 || m.Pipelines[0].Steps[0].Environment["X"].Value != long ||
		len(about(list, drone.CodeLongLine)) != 1 {
		t.Errorf("steps: %d, said: %s", len(m.Pipelines[0].Steps), about(list, drone.CodeLongLine))
	}
}

// Files of configuration have the mode 0000 where none is given.
func TestKnownProblemR_FilesOfConfigurationCanBeRead(t *testing.T) {
	b := converted(t, kubernetesHead+"volumes: [{name: v, config_map: {name: c}}]\n"+
		"steps: [{name: a, image: i, volumes: [{name: v, path: /v}]}]\n")
	for _, v := range taskOf(t, b, "a").TaskSpec.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.DefaultMode != nil {
			t.Errorf("the mode is %o, want Kubernetes' own", *v.ConfigMap.DefaultMode)
		}
	}
}

// Variables that are empty are not there in docker pipelines.
func TestKnownProblemT_EmptyVariables(t *testing.T) {
	for head, want := range map[string]bool{dockerHead: false, kubernetesHead: true} {
		if _, got := started(t, converted(t, head+"steps: [{name: a, image: i, environment: {X: ''}}]\n"),
			"a").env["X"]; got != want {
			t.Errorf("an empty variable is there: %v, want %v, in\n%s", got, want, head)
		}
	}
}

func yamlText(t *testing.T, b *Bundle) string {
	t.Helper()
	text, err := YAML(b.Objects())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func millicores(list corev1.ResourceList) int64 { return list.Cpu().MilliValue() }

func nameOf(t *testing.T, o runtime.Object) string {
	t.Helper()
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	return m.GetName() + m.GetGenerateName()
}
