package translate

import "testing"

// Where the source lies: the kubernetes runner mounts its volume at workspace.path, the docker runner at workspace.base
// with the source in base/path, and paths that would hide a part of the system give way to the default.
func TestPathsOfTheSource(t *testing.T) {
	docker := func(workspace string) string { return dockerHead + "workspace: " + workspace + "\n" }
	kubernetes := func(workspace string) string { return kubernetesHead + "workspace: " + workspace + "\n" }
	for _, test := range []struct {
		text string
		want SourcePath
	}{
		{docker("{}"), SourcePath{"/drone/src", "/drone/src", "/drone/src", ""}},
		{docker("{path: src/app}"), SourcePath{"/drone/src", "/drone/src/src/app", "/drone/src", "src/app"}},
		{docker("{path: /go}"), SourcePath{"/go", "/go", "/go", ""}},
		{docker("{base: /go}"), SourcePath{"/go", "/go", "/go", ""}},
		{docker("{base: /go, path: src/app}"), SourcePath{"/go", "/go/src/app", "/go", "src/app"}},
		{docker("{base: /go, path: /src}"), SourcePath{"/go", "/go/src", "/go", "/src"}},
		{docker("{base: go}"), SourcePath{"/go", "/go", "/go", ""}},
		{docker("{base: /}"), SourcePath{"/drone/src", "/drone/src", "/drone/src", ""}},
		{docker("{base: /etc}"), SourcePath{"/drone/src", "/drone/src", "/drone/src", ""}},
		{docker("{base: /, path: etc}"), SourcePath{"/drone/src", "/drone/src", "/drone/src", ""}},
		{docker("{base: /go, path: ../etc}"), SourcePath{"/drone/src", "/drone/src", "/drone/src", ""}},
		{docker("{base: /VAR}"), SourcePath{"/drone/src", "/drone/src", "/drone/src", ""}},
		{docker("{base: /var/www}"), SourcePath{"/var/www", "/var/www", "/var/www", ""}},
		{docker("{base: /usr/local/binary}"), SourcePath{"/drone/src", "/drone/src", "/drone/src", ""}},
		{docker("{base: /usr/local/src}"), SourcePath{"/usr/local/src", "/usr/local/src", "/usr/local/src", ""}},
		{kubernetes("{}"), SourcePath{"/drone/src", "/drone/src", "", ""}},
		{kubernetes("{path: /go/src}"), SourcePath{"/go/src", "/go/src", "", ""}},
		{kubernetes("{path: src}"), SourcePath{"/src", "/src", "", ""}},
		{kubernetes("{path: /proc/1}"), SourcePath{"/drone/src", "/drone/src", "", ""}},
		{kubernetes("{path: /go/../bin}"), SourcePath{"/drone/src", "/drone/src", "", ""}},
		{kubernetes("{path: bin}"), SourcePath{"/drone/src", "/drone/src", "", ""}},
		{kubernetes("{path: /go/}"), SourcePath{"/go", "/go", "", ""}},
	} {
		if got := sourcePath(parsePipeline(t, test.text+"steps: [{name: a, image: i}]\n")); got != test.want {
			t.Errorf("sourcePath = %+v, want %+v, of\n%s", got, test.want, test.text)
		}
	}
}

// A step works in the source; a relative working_dir is taken from there; a detached step without commands keeps what
// its image says.
func TestWorkingDirectoryOfAStep(t *testing.T) {
	text := dockerHead + `workspace: {base: /go, path: src}
steps:
- {name: plain, image: i}
- {name: absolute, image: i, working_dir: /x}
- {name: relative, image: i, working_dir: sub/dir}
- {name: up, image: i, working_dir: ../x}
- {name: detached, image: i, detach: true}
- {name: commands, image: i, detach: true, commands: [ls]}
- {name: own, image: i, detach: true, working_dir: /y}
`
	b := converted(t, text)
	got := map[string]string{}
	for _, name := range []string{"clone", "plain", "absolute", "relative", "up"} {
		got[name] = stepOf(t, b, name).WorkingDir
	}
	for _, p := range b.Pods {
		got[p.Spec.Containers[0].Name] = p.Spec.Containers[0].WorkingDir
	}
	for name, want := range map[string]string{
		"clone": "/go/src", "plain": "/go/src", "absolute": "/x", "relative": "/go/src/sub/dir", "up": "/go/x",
		"detached": "", "commands": "/go/src", "own": "/y",
	} {
		if got[name] != want {
			t.Errorf("%s works in %q, want %q", name, got[name], want)
		}
	}
}
