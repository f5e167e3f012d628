package translate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// A service is one Pod for the whole run, reachable by its name from every step: by a headless Service that names the
// run's own Pods, ready or not, and by a search domain in the run's pods.
func TestServicesAreReachableByName(t *testing.T) {
	b := converted(t, dockerHead+"services:\n- {name: redis, image: redis}\n"+
		"- {name: db, image: postgres, environment: {A: b}}\nsteps: [{name: a, image: i}]\n")
	s := b.Service
	if s == nil || s.Name != "hello-7-default" || s.Spec.ClusterIP != corev1.ClusterIPNone ||
		!s.Spec.PublishNotReadyAddresses {
		t.Fatalf("the service is %+v, want a headless one with the run's name that does not wait for readiness", s)
	}
	if len(s.Spec.Ports) > 0 {
		t.Errorf("the service has ports %v; a step may use any", s.Spec.Ports)
	}
	var hosts []string
	for _, p := range b.Pods {
		hosts = append(hosts, p.Spec.Hostname+"."+p.Spec.Subdomain)
		for label, value := range s.Spec.Selector {
			if p.Labels[label] != value {
				t.Errorf("the Pod %s has the label %s=%q, and the service selects %q", p.Name, label, p.Labels[label],
					value)
			}
		}
		if p.Spec.RestartPolicy != corev1.RestartPolicyNever || p.Spec.ActiveDeadlineSeconds == nil ||
			*p.Spec.ActiveDeadlineSeconds != 3660 {
			t.Errorf("the Pod %s has the restart policy %s and the deadline %v, want Never and an hour and a minute",
				p.Name, p.Spec.RestartPolicy, p.Spec.ActiveDeadlineSeconds)
		}
		if !slices.Contains(p.Spec.DNSConfig.Searches, "hello-7-default.default.svc.cluster.local") {
			t.Errorf("the Pod %s looks names up in %v, so services do not reach each other", p.Name,
				p.Spec.DNSConfig.Searches)
		}
	}
	if diff := cmp.Diff([]string{"redis.hello-7-default", "db.hello-7-default"}, hosts); diff != "" {
		t.Errorf("names of Pods in DNS (-want +got):\n%s", diff)
	}
	if got := startedPod(t, b.Pods[1]).env; got["A"] != "b" || got["DRONE_STEP_NAME"] != "db" ||
		got["DRONE_REPO"] != "octocat/hello" {
		t.Errorf("the service's variables are %v", got)
	}
	if l := b.PipelineRun.Spec.TaskRunTemplate.PodTemplate; !slices.Contains(l.DNSConfig.Searches,
		"hello-7-default.default.svc.cluster.local") {
		t.Errorf("steps look names up in %v", l.DNSConfig.Searches)
	}
}

// Two runs of one pipeline have services apart: everything that names them contains the run's name.
func TestServicesOfTwoRunsDoNotMeet(t *testing.T) {
	text := dockerHead + "services: [{name: redis, image: redis}]\nsteps: [{name: a, image: i}]\n"
	one := converted(t, text)
	two := converted(t, text, func(f *Facts, _ *Options) { f.Build.Number = 8 })
	if one.Service.Name == two.Service.Name || one.Pods[0].Name == two.Pods[0].Name ||
		one.Pods[0].Spec.Subdomain == two.Pods[0].Spec.Subdomain {
		t.Errorf("builds 7 and 8 share names: %s, %s, %s", one.Service.Name, one.Pods[0].Name,
			one.Pods[0].Spec.Subdomain)
	}
	if cmp.Equal(one.Service.Spec.Selector, two.Service.Spec.Selector) {
		t.Errorf("builds 7 and 8 select the same Pods: %v", one.Service.Spec.Selector)
	}
}

// Names that DNS does not allow become names that it does, which is told.
func TestNamesOfServicesInDNS(t *testing.T) {
	b, list := convert(t, dockerHead+"services: [{name: My_DB, image: i}, {name: my db, image: i}]\n"+
		"steps: [{name: a, image: i}]\n")
	if list.HasErrors() {
		t.Fatal(list)
	}
	if one, two := b.Pods[0].Spec.Hostname, b.Pods[1].Spec.Hostname; one != "my-db" || two != "my-db-"+hash("my db") {
		t.Errorf("host names are %q and %q", one, two)
	}
	want := []string{
		`warning: "My_DB" is not a name that DNS allows; steps reach it as "my-db"`,
		`warning: "my db" is not a name that DNS allows; steps reach it as "my-db-` + hash("my db") + `"`,
	}
	if diff := cmp.Diff(want, about(list, CodeService)); diff != "" {
		t.Errorf("what is said of services (-want +got):\n%s", diff)
	}
}

// A service that is its image alone starts with the run. One with commands, and a detached step, start when the steps
// before them are done, and see the run's files.
func TestDetachedStepsStartInTheirPlace(t *testing.T) {
	b := converted(t, dockerHead+`services: [{name: db, image: i}]
steps:
- {name: build, image: i}
- {name: server, image: i, detach: true, commands: [./server]}
- {name: test, image: i}
`)
	want := map[string]string{"clone": "", "build": "clone", "start-server": "build", "test": "start-server"}
	if diff := cmp.Diff(want, runAfter(b)); diff != "" {
		t.Errorf("runAfter by task (-want +got):\n%s", diff)
	}
	db, server := b.Pods[0].Spec, b.Pods[1].Spec
	if len(db.InitContainers) > 0 || len(db.Volumes) > 0 {
		t.Errorf("the service waits (%d init containers) or has files (%d volumes)", len(db.InitContainers),
			len(db.Volumes))
	}
	if len(server.InitContainers) != 1 || !slices.Contains(server.InitContainers[0].Command, "server") {
		t.Errorf("the detached step has the init containers %v, want one that waits for its start",
			server.InitContainers)
	}
	start := taskOf(t, b, "start-server")
	if args := start.TaskSpec.Steps[0].Args; !slices.Contains(args, "server") ||
		start.Workspaces[0].SubPath != server.InitContainers[0].VolumeMounts[0].SubPath {
		t.Errorf("the start is marked by %q below %q, and looked for below %q", args, start.Workspaces[0].SubPath,
			server.InitContainers[0].VolumeMounts[0].SubPath)
	}
	if m := server.Containers[0].VolumeMounts; len(m) != 1 || m[0].MountPath != "/drone/src" ||
		m[0].SubPath != "source" {
		t.Errorf("the detached step mounts %v, want the source", m)
	}
	if w := b.PipelineRun.Spec.Workspaces[0]; w.PersistentVolumeClaim == nil || len(b.Claims) != 1 ||
		w.PersistentVolumeClaim.ClaimName != b.Claims[0].Name {
		t.Errorf("the run binds %+v, want the claim that stands beside it", w)
	}
}

// On storage that one node alone can use, a detached step that has files runs where the tasks run.
func TestDetachedStepsRunWhereTheirFilesAre(t *testing.T) {
	text := dockerHead + "steps: [{name: server, image: i, detach: true, commands: [x]}, {name: a, image: i}]\n"
	for _, test := range []struct {
		rule    string
		options workspace.Options
		cluster *workspace.Cluster
		want    bool
	}{
		{"one node", workspace.Options{}, nil, true},
		{"many nodes", workspace.Options{AccessMode: corev1.ReadWriteMany}, nil, false},
		{"spread", workspace.Options{Spread: true}, nil, false},
		{"without an assistant there is nothing to follow", workspace.Options{},
			&workspace.Cluster{Coschedule: workspace.CoscheduleDisabled,
				Classes: []workspace.Class{{Name: "c", Default: true}}}, false},
	} {
		b := converted(t, text, func(_ *Facts, o *Options) { o.Workspace, o.Cluster = test.options, test.cluster })
		if got := b.Pods[0].Spec.Affinity != nil; got != test.want {
			t.Errorf("%s: the Pod follows the tasks: %v, want %v", test.rule, got, test.want)
		}
	}
}

// A detached step that runs on failure only has nothing left to serve; it is left out, and that is told.
func TestDetachedStepsOnFailure(t *testing.T) {
	b, list := convert(t, dockerHead+"steps: [{name: a, image: i}, {name: d, image: i, detach: true, "+
		"when: {status: [failure]}}]\n")
	if len(b.Pods) != 0 || b.Service != nil {
		t.Errorf("there are %d Pods", len(b.Pods))
	}
	if got := about(list, CodeService); len(got) != 1 {
		t.Errorf("what is said: %q", got)
	}
}

// Services of kubernetes pipelines are at localhost in Drone. Here they are only in the layout pod; elsewhere every
// text that looks for one there is told, at its place.
func TestServicesAtLocalhost(t *testing.T) {
	body := `services: [{name: redis, image: redis}]
steps:
- name: a
  image: i
  commands:
  - ping redis
  - redis-cli -h localhost ping
  environment:
    URL: redis://127.0.0.1:6379
  settings:
    hosts: [localhost]
`
	places := func(head string, change func(*Facts, *Options)) []string {
		_, list := convert(t, head+body, change)
		var out []string
		for _, d := range list.Sorted() {
			if d.Code == CodeLocalhost {
				out = append(out, d.Position.String())
			}
		}
		return out
	}
	none := func(*Facts, *Options) {}
	if diff := cmp.Diff([]string{"f:10:5", "f:12:5", "f:14:5"}, places(kubernetesHead, none)); diff != "" {
		t.Errorf("places that are told (-want +got):\n%s", diff)
	}
	if got := places(dockerHead, none); len(got) > 0 {
		t.Errorf("told of a docker pipeline, where services never were at localhost: %v", got)
	}
	if got := places(kubernetesHead, func(_ *Facts, o *Options) { o.Workspace.Layout = workspace.Pod }); len(got) > 0 {
		t.Errorf("told in the layout pod, where services are at localhost: %v", got)
	}
}

// A sidecar whose arguments are no script cannot wait, which is told.
func TestDetachedStepsWithoutAScriptInOnePod(t *testing.T) {
	for keys, told := range map[string]int{
		"image: i": 1, "image: i, entrypoint: [/server], commands: [ls]": 1, "image: i, command: [serve]": 1,
		"image: i, commands: [./server]": 0, "image: i, entrypoint: [/bin/sh, -c], command: [./server]": 0,
		"image: i, entrypoint: ['server -x']": 0,
	} {
		_, list := convert(t, kubernetesHead+"steps: [{name: d, detach: true, "+keys+"}, {name: a, image: i}]\n",
			func(_ *Facts, o *Options) { o.Workspace.Layout = workspace.Pod })
		if got := about(list, CodeService); len(got) != told {
			t.Errorf("a detached step with %s: said %q, want %d messages", keys, got, told)
		}
	}
}

// In the layout pod services are sidecars, at their names and at localhost. One with commands waits for its turn.
func TestServicesInOnePod(t *testing.T) {
	b := converted(t, kubernetesHead+`services: [{name: redis, image: redis}]
steps:
- {name: build, image: i}
- {name: server, image: i, detach: true, commands: [./server]}
- {name: test, image: i}
`, func(_ *Facts, o *Options) { o.Workspace.Layout = workspace.Pod })
	if len(b.Pods) > 0 || b.Service != nil || len(b.Claims) > 0 || len(b.PipelineRun.Spec.Workspaces) > 0 {
		t.Errorf("beside the one pod there are %d Pods, %d claims, the service %v", len(b.Pods), len(b.Claims),
			b.Service)
	}
	spec := taskOf(t, b, onePodTask).TaskSpec
	var steps, sidecars []string
	for _, s := range spec.Steps {
		steps = append(steps, s.Name)
	}
	for _, s := range spec.Sidecars {
		sidecars = append(sidecars, s.Name)
	}
	if diff := cmp.Diff([]string{"clone", "build", "start-server", "test"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"redis", "server"}, sidecars); diff != "" {
		t.Errorf("sidecars (-want +got):\n%s", diff)
	}
	if args := spec.Sidecars[1].Args; !strings.Contains(args[0], "until [ -e /starts/server ]") {
		t.Errorf("the detached step does not wait for its turn: %q", args)
	}
	aliases := b.PipelineRun.Spec.TaskRunTemplate.PodTemplate.HostAliases
	if diff := cmp.Diff([]corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{"redis", "server"}}},
		aliases); diff != "" {
		t.Errorf("host aliases (-want +got):\n%s", diff)
	}
}
