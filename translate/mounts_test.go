package translate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// files is what a task finds at its paths, beside the file of the state: a claim's sub-path, or a volume in JSON.
func files(t *testing.T, b *Bundle, task string) map[string]string {
	t.Helper()
	pt := taskOf(t, b, task)
	out := map[string]string{}
	for i, w := range pt.TaskSpec.Workspaces {
		if pt.Workspaces[i].Name != w.Name {
			t.Fatalf("task %s binds %q where it declares %q", task, pt.Workspaces[i].Name, w.Name)
		}
		out[w.MountPath] = "claim " + pt.Workspaces[i].Workspace + ": " + pt.Workspaces[i].SubPath
	}
	for _, m := range pt.TaskSpec.Steps[0].VolumeMounts {
		i := slices.IndexFunc(pt.TaskSpec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			t.Fatalf("task %s mounts the volume %q, which it does not have", task, m.Name)
		}
		source, err := json.Marshal(pt.TaskSpec.Volumes[i].VolumeSource)
		if err != nil {
			t.Fatal(err)
		}
		out[m.MountPath] = string(source)
		if m.SubPath != "" {
			out[m.MountPath] += " sub " + m.SubPath
		}
		if m.ReadOnly {
			out[m.MountPath] += " ro"
		}
	}
	delete(out, statusFolder)
	return out
}

// The five kinds of volumes, with what lies at a path of one.
func TestKindsOfVolumes(t *testing.T) {
	const source = "claim files: source"
	for _, test := range []struct {
		volume, mount string
		want          map[string]string
	}{
		{"temp: {}", "path: /v", map[string]string{"/v": "claim files: volume-v"}},
		{"temp: {}", "path: /v, sub_path: a/b", map[string]string{"/v": "claim files: volume-v/a/b"}},
		{"temp: {}", "path: /v, sub_path: ../../etc", map[string]string{"/v": "claim files: volume-v/etc"}},
		{"temp: {}", "path: v", map[string]string{"/v": "claim files: volume-v"}},
		{"temp: {medium: memory, size_limit: 1GiB}", "path: /v",
			map[string]string{"/v": `{"emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}}`}},
		{"temp: {medium: memory}", "path: /v", map[string]string{"/v": `{"emptyDir":{"medium":"Memory"}}`}},
		{"temp: {size_limit: 1GiB}", "path: /v", map[string]string{"/v": "claim files: volume-v"}},
		{"host: {path: /var/lib}", "path: /v", map[string]string{"/v": `{"hostPath":{"path":"/var/lib"}}`}},
		{"host: {path: /var/run/docker.sock}", "path: /var/run/docker.sock",
			map[string]string{"/var/run/docker.sock": `{"hostPath":{"path":"/var/run/docker.sock"}}`}},
		{"claim: {name: mine}", "path: /v", map[string]string{"/v": `{"persistentVolumeClaim":{"claimName":"mine"}}`}},
		{"claim: {name: mine, read_only: true}", "path: /v, sub_path: x",
			map[string]string{"/v": `{"persistentVolumeClaim":{"claimName":"mine","readOnly":true}} sub x ro`}},
		{"config_map: {name: c}", "path: /v", map[string]string{"/v": `{"configMap":{"name":"c","optional":false}}`}},
		{"config_map: {name: c, default_mode: 0400, optional: true}", "path: /v",
			map[string]string{"/v": `{"configMap":{"name":"c","defaultMode":256,"optional":true}}`}},
		{"config_map: {name: c, default_mode: 0}", "path: /v",
			map[string]string{"/v": `{"configMap":{"name":"c","optional":false}}`}},
		{"secret: {name: s}", "path: /v, sub_path: key",
			map[string]string{"/v": `{"secret":{"secretName":"s","optional":false}} sub key`}},
		{"secret: {name: s, default_mode: 256}", "path: /v",
			map[string]string{"/v": `{"secret":{"secretName":"s","defaultMode":256,"optional":false}}`}},
		{"temp: {}, host: {path: /x}", "path: /v", map[string]string{"/v": "claim files: volume-v"}},
		{"host: {path: /x}, claim: {name: mine}", "path: /v", map[string]string{"/v": `{"hostPath":{"path":"/x"}}`}},
		{"", "path: /v", map[string]string{}},
	} {
		other := "{name: z, image: i, volumes: [{name: v, path: /z}]}"
		if strings.Contains(test.volume, "memory") {
			other = "{name: z, image: i}"
		}
		b := converted(t, kubernetesHead+"clone: {disable: true}\nvolumes: [{name: v, "+test.volume+"}]\n"+
			"steps: [{name: a, image: i, volumes: [{name: v, "+test.mount+"}]}, "+other+"]\n")
		want := map[string]string{"/drone/src": source}
		for path, what := range test.want {
			want[path] = what
		}
		if diff := cmp.Diff(want, files(t, b, "a")); diff != "" {
			t.Errorf("a volume with %s, mounted with %s (-want +got):\n%s", test.volume, test.mount, diff)
		}
	}
}

// The source lies at one path in every step; with docker, files beside it below workspace.base are shared too.
func TestSourceIsSharedByAllSteps(t *testing.T) {
	b := converted(t, dockerHead+"workspace: {base: /go, path: src/app}\n"+
		"steps: [{name: a, image: i}, {name: b, image: i, when: {status: [failure]}}]\n")
	for _, task := range []string{"clone", "a", "b"} {
		if diff := cmp.Diff(map[string]string{"/go": "claim files: source"}, files(t, b, task)); diff != "" {
			t.Errorf("files of %s (-want +got):\n%s", task, diff)
		}
	}
	w := b.PipelineRun.Spec.Workspaces
	if len(w) != 1 || w[0].VolumeClaimTemplate == nil ||
		w[0].VolumeClaimTemplate.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		t.Errorf("the run binds %v, want one claim from a template, ReadWriteOnce", w)
	}
}

// A temp volume lives as long as the run and is shared by its steps; where several pods share it, it cannot be in
// memory.
func TestTempVolumesAreShared(t *testing.T) {
	b, list := convert(t, kubernetesHead+
		`volumes: [{name: cache, temp: {}}, {name: fast, temp: {medium: memory}}, {name: unused, temp: {}}]
steps:
- {name: a, image: i, volumes: [{name: cache, path: /a}, {name: fast, path: /f}]}
- {name: b, image: i, volumes: [{name: cache, path: /b, sub_path: x}, {name: fast, path: /f}]}
`)
	if diff := cmp.Diff(map[string]string{"/drone/src": "claim files: source", "/a": "claim files: volume-cache",
		"/f": "claim files: volume-fast"}, files(t, b, "a")); diff != "" {
		t.Errorf("files of a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"/drone/src": "claim files: source", "/b": "claim files: volume-cache/x",
		"/f": "claim files: volume-fast"}, files(t, b, "b")); diff != "" {
		t.Errorf("files of b (-want +got):\n%s", diff)
	}
	if got := about(list, CodeVolume); len(got) != 1 || !strings.Contains(got[0],
		`"fast" is on the claim and not in memory`) {
		t.Errorf("what is said of volumes: %q", got)
	}
}

// Of two volumes at one place the last counts, and it is said; one volume may be at two places.
func TestVolumesAtOnePlace(t *testing.T) {
	const head = dockerHead + "volumes: [{name: v, temp: {}}, {name: w, temp: {}}]\nclone: {disable: true}\n" +
		"steps: [{name: a, image: i, volumes: "
	for _, test := range []struct {
		mounts string
		want   map[string]string
		told   int
	}{
		{"[{name: v, path: /x}, {name: w, path: /x/}]", map[string]string{"/drone/src": "claim files: source",
			"/x": "claim files: volume-w"}, 1},
		{"[{name: v, path: /x}, {name: v, path: /y}]",
			map[string]string{"/drone/src": "claim files: source", "/x": "claim files: volume-v",
				"/y": "claim files: volume-v"}, 0},
		{"[{name: v, path: /drone/src}]", map[string]string{"/drone/src": "claim files: volume-v"}, 1},
		{"[{name: v, path: /drone/src/cache}]",
			map[string]string{"/drone/src": "claim files: source", "/drone/src/cache": "claim files: volume-v"}, 0},
	} {
		b, list := convert(t, head+test.mounts+"}, {name: z, image: i, volumes: [{name: v, path: /v}, "+
			"{name: w, path: /w}]}]\n")
		if b == nil {
			t.Errorf("mounts %s: %s", test.mounts, report(list))
			continue
		}
		if diff := cmp.Diff(test.want, files(t, b, "a")); diff != "" {
			t.Errorf("mounts %s (-want +got):\n%s", test.mounts, diff)
		}
		if got := about(list, CodeVolume); len(got) != test.told {
			t.Errorf("mounts %s: said of them: %q, want %d", test.mounts, got, test.told)
		}
	}
}

// A mount of a volume that is not declared is left out, as in Drone, and told where it stands.
func TestMountOfAnUndeclaredVolume(t *testing.T) {
	b, list := convert(t, dockerHead+"clone: {disable: true}\nsteps:\n- name: a\n  image: i\n  volumes:\n"+
		"  - name: nowhere\n    path: /x\n")
	if diff := cmp.Diff(map[string]string{"/drone/src": `{"emptyDir":{}}`}, files(t, b, "a")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got := report(list); !strings.Contains(got, `f:9:5: warning: the volume "nowhere" is mounted and not declared`) {
		t.Errorf("what is said: %s", got)
	}
}

// Where files live is the user's choice.
func TestPlacesOfFiles(t *testing.T) {
	text := dockerHead + "clone: {disable: true}\nvolumes: [{name: v, temp: {}}]\nsteps:\n" +
		"- {name: a, image: i, volumes: [{name: v, path: /v}]}\n- {name: b, image: i, volumes: [{name: v, path: /v}]}\n"
	for _, test := range []struct {
		rule    string
		options workspace.Options
		want    map[string]string
		run     string // of workspaces
		beside  []string
	}{
		{"a claim for each volume", workspace.Options{Claims: workspace.PerVolume},
			map[string]string{"/drone/src": "claim source: source", "/v": "claim volume-v: volume-v"},
			"source volume-v", nil},
		{"an existing claim, in a folder of the run", workspace.Options{Existing: "mine"},
			map[string]string{"/drone/src": "claim files: $(context.pipelineRun.uid)/source",
				"/v": "claim files: $(context.pipelineRun.uid)/volume-v"}, "files=mine", nil},
		{"spread over nodes", workspace.Options{Spread: true},
			map[string]string{
				"/drone/src": `{"persistentVolumeClaim":{"claimName":"hello-7-default-files"}} sub source`,
				"/v":         `{"persistentVolumeClaim":{"claimName":"hello-7-default-files"}} sub volume-v`,
			}, "", []string{"hello-7-default-files ReadWriteMany"}},
		{"one pod", workspace.Options{Layout: workspace.Pod},
			map[string]string{"/drone/src": `{"emptyDir":{}}`, "/v": `{"emptyDir":{}}`}, "", nil},
		{"a chain that holds all steps", workspace.Options{Layout: workspace.Chains},
			map[string]string{"/drone/src": `{"emptyDir":{}}`, "/v": `{"emptyDir":{}}`}, "", nil},
	} {
		b, list := convert(t, text, func(_ *Facts, o *Options) {
			o.Workspace = test.options
			o.Cluster = &workspace.Cluster{Coschedule: workspace.CoscheduleDisabled,
				Classes: []workspace.Class{{Name: "c", Default: true}}}
		})
		if b == nil {
			t.Errorf("%s: %s", test.rule, report(list))
			continue
		}
		task := b.Units[0].Task
		if diff := cmp.Diff(test.want, files(t, b, task)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", test.rule, diff)
		}
		var run, beside []string
		for _, w := range b.PipelineRun.Spec.Workspaces {
			name := w.Name
			if w.PersistentVolumeClaim != nil {
				name += "=" + w.PersistentVolumeClaim.ClaimName
			}
			run = append(run, name)
		}
		for _, c := range b.Claims {
			beside = append(beside, c.Name+" "+string(c.Spec.AccessModes[0]))
		}
		if got := strings.Join(run, " "); got != test.run || !slices.Equal(beside, test.beside) {
			t.Errorf("%s: workspaces of the run are %q, claims beside it %q, want %q, %q", test.rule, got, beside,
				test.run, test.beside)
		}
	}
}

func TestClaimsAreAsChosen(t *testing.T) {
	b := converted(t, dockerHead+"steps: [{name: a, image: i}]\n", func(_ *Facts, o *Options) {
		o.Workspace = workspace.Options{StorageClass: "fast", AccessMode: corev1.ReadWriteMany, Size: "20Gi"}
	})
	got, err := json.Marshal(b.PipelineRun.Spec.Workspaces[0].VolumeClaimTemplate.Spec)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"20Gi"}},"storageClassName":"fast"}`
	if string(got) != want {
		t.Errorf("the claim is %s, want %s", got, want)
	}
}
