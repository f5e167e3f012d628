package translate

import (
	"path"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// given are volumes of each kind that a runner mounts into every step.
func given(layout workspace.Layout) func(*Facts, *Options) {
	return func(_ *Facts, o *Options) {
		o.Trusted = false // Nothing of this is the pipeline's.
		o.Workspace.Layout = layout
		o.Mounts = []Mount{
			{Volume: &drone.Volume{Name: "ca", ConfigMap: &drone.ObjectVolume{Name: "bundle"}}, Path: "/etc/ca.pem", SubPath: "ca.pem", ReadOnly: true},
			{Volume: &drone.Volume{Name: "keys", Secret: &drone.ObjectVolume{Name: "keys"}}, Path: "/keys/"},
			{Volume: &drone.Volume{Name: "modules", Claim: &drone.ClaimVolume{Name: "cache"}}, Path: "/modules"},
			{Volume: &drone.Volume{Name: "shm", Temp: &drone.TempVolume{Medium: "memory", SizeLimit: 1 << 20}}, Path: "/dev/shm"},
		}
	}
}

// places are what a container mounts, by path, with the volumes of its pod.
type places map[string]string

func placesOf(mounts []corev1.VolumeMount, volumes []corev1.Volume) places {
	out := places{}
	for _, m := range mounts {
		i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		what := "nothing"
		switch v := volumes[i]; {
		case v.ConfigMap != nil:
			what = "config map " + v.ConfigMap.Name
		case v.Secret != nil:
			what = "secret " + v.Secret.SecretName
		case v.PersistentVolumeClaim != nil:
			what = "claim " + v.PersistentVolumeClaim.ClaimName
		case v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory:
			what = "memory " + v.EmptyDir.SizeLimit.String()
		case v.EmptyDir != nil:
			what = "folder"
		}
		if m.ReadOnly {
			what += ", read-only"
		}
		out[path.Join("/", m.MountPath)] = what
	}
	return out
}

const withServices = kubernetesHead + `services:
- {name: db, image: postgres}
steps:
- {name: a, image: i, commands: [x]}
- {name: server, image: i, detach: true, commands: [x]}
- {name: b, image: i, commands: [x]}
- {name: tell, image: i, commands: [x], when: {status: [failure]}}
`

// TestGivenMounts: the runner's volumes are in every container of the pipeline, in each layout, though the repository is
// not trusted.
func TestGivenMounts(t *testing.T) {
	want := places{
		"/etc/ca.pem": "config map bundle, read-only", "/keys": "secret keys", "/modules": "claim cache", "/dev/shm": "memory 1Mi",
	}
	for _, layout := range []workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod} {
		b := converted(t, withServices, given(layout))
		seen := map[string]places{}
		spec := b.PipelineRun.Spec.PipelineSpec
		for _, pt := range slices.Concat(spec.Tasks, spec.Finally) {
			for _, s := range pt.TaskSpec.Steps {
				seen[s.Name] = placesOf(s.VolumeMounts, pt.TaskSpec.Volumes)
			}
			for _, s := range pt.TaskSpec.Sidecars {
				seen[s.Name] = placesOf(s.VolumeMounts, pt.TaskSpec.Volumes)
			}
		}
		for _, p := range b.Pods {
			seen[p.Spec.Containers[0].Name] = placesOf(p.Spec.Containers[0].VolumeMounts, p.Spec.Volumes)
		}
		for _, u := range b.Units {
			got := seen[u.Container]
			for at, what := range want {
				if got[at] != what {
					t.Errorf("layout %s: step %s has %q at %s, want %q", layout, u.Step.Name, got[at], at, what)
				}
			}
		}
		if len(b.Units) < 6 {
			t.Errorf("layout %s: there are %d units, want those of 6 steps", layout, len(b.Units))
		}
	}
}

// TestGivenMountsNeedNoNode: a service that works on no file of the run stays free to run anywhere.
func TestGivenMountsNeedNoNode(t *testing.T) {
	b := converted(t, withServices, given(workspace.Steps))
	for _, p := range b.Pods {
		if p.Spec.Containers[0].Name == "db" && p.Spec.Affinity != nil {
			t.Errorf("the service is tied to the run's node: %v", p.Spec.Affinity)
		}
	}
}

// TestGivenMountsWin: a pipeline can neither cover a volume of the runner nor reach it by its name.
func TestGivenMountsWin(t *testing.T) {
	b, list := convert(t, dockerHead+`clone: {disable: true}
steps:
- name: a
  image: i
  commands: [x]
  volumes:
  - {name: modules, path: /elsewhere}
  - {name: modules, path: /keys}
volumes:
- {name: modules, temp: {}}
`, given(workspace.Pod))
	if b == nil {
		t.Fatal(report(list))
	}
	spec := b.PipelineRun.Spec.PipelineSpec.Tasks[0].TaskSpec
	got := placesOf(spec.Steps[0].VolumeMounts, spec.Volumes)
	if got["/elsewhere"] != "folder" || got["/keys"] != "secret keys" || got["/modules"] != "claim cache" {
		t.Errorf("the step mounts %v", got)
	}
	if text := report(list); !strings.Contains(text, `f:11:5: warning: step "a" does not get its volume at /keys`) {
		t.Errorf("nothing tells of the volume that gave way: %s", text)
	}
}

// TestGivenMountsLeaveTheSource: no build can run without its source.
func TestGivenMountsLeaveTheSource(t *testing.T) {
	_, list := convert(t, kubernetesHead+"workspace: {path: /modules}\nsteps:\n- {name: a, image: i, commands: [x]}\n", given(workspace.Steps))
	if text := report(list); !strings.Contains(text, "f:4:1: error: the workspace is at /modules") {
		t.Errorf("report: %s", text)
	}
}

// TestLocalhostPod: a pipeline that looks for its service at localhost gets the layout where it is there, and no other.
func TestLocalhostPod(t *testing.T) {
	pipeline := func(command string) string {
		return kubernetesHead + "services:\n- {name: db, image: postgres}\nsteps:\n- {name: a, image: i, commands: ['" + command + "']}\n"
	}
	asked := func(_ *Facts, o *Options) { o.LocalhostPod = true }
	tests := []struct {
		name, text string
		asked      bool
		pods       int
	}{
		{"asked, and mentioned", pipeline("psql -h 127.0.0.1"), true, 0},
		{"asked, and not mentioned", pipeline("psql -h db"), true, 1},
		{"mentioned, and not asked", pipeline("psql -h localhost"), false, 1},
		{"no service", kubernetesHead + "steps:\n- {name: a, image: i, commands: ['curl localhost']}\n", true, 0},
	}
	for _, tt := range tests {
		change := func(*Facts, *Options) {}
		if tt.asked {
			change = asked
		}
		b, list := convert(t, tt.text, change)
		if b == nil {
			t.Fatalf("%s: %s", tt.name, report(list))
		}
		if len(b.Pods) != tt.pods {
			t.Errorf("%s: there are %d Pods beside the run, want %d", tt.name, len(b.Pods), tt.pods)
		}
		if tt.name == "no service" && b.PipelineRun.Spec.PipelineSpec.Tasks[0].Name == onePodTask {
			t.Errorf("%s: the layout is pod", tt.name)
		}
		if _, list := convert(t, tt.text, change, func(_ *Facts, o *Options) { o.Server = true }); strings.Contains(report(list), "--layout") {
			t.Errorf("%s: a runner's user is told of a flag: %s", tt.name, report(list))
		}
		warned := slices.ContainsFunc(about(list, CodeLocalhost), func(s string) bool { return strings.HasPrefix(s, "warning") })
		if want := tt.name == "mentioned, and not asked"; warned != want {
			t.Errorf("%s: warned %v, want %v", tt.name, warned, want)
		}
	}
}
