package translate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestSlugs(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"build", "build"}, {"Build It", "build-it"}, {"a/b_c.d", "a-b-c-d"}, {"--a--b--", "a-b"}, {"1", "1"},
		{"a1", "a1"},
		{"naïve", "na-ve"}, {"日本語", "x-" + hash("日本語")}, {"", "x-" + hash("")}, {"🚀 launch", "launch"},
		{strings.Repeat("a", 50), strings.Repeat("a", 50)},
		{strings.Repeat("a", 51), strings.Repeat("a", 41) + "-" + hash(strings.Repeat("a", 51))},
		{strings.Repeat("a", 40) + " " + strings.Repeat("b", 40), strings.Repeat("a", 40) + "-" +
			hash(strings.Repeat("a", 40)+" "+strings.Repeat("b", 40))},
	} {
		if got := slug(test.text, 50); got != test.want {
			t.Errorf("slug(%q, 50) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestNamesAreDistinct(t *testing.T) {
	n := newNames(50, "taken")
	seen := map[string]string{"taken": ""}
	long := strings.Repeat("long ", 20)
	for _, text := range []string{"build", "Build", "BUILD", "build!", "taken", "Taken", "日本", "本日", long, long + "a",
		long + "b", "build"} {
		got := n.unique(text)
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have the same name %q", text, other, got)
		}
		seen[got] = text
		if problems := validation.IsDNS1123Label(got); len(problems) > 0 || len(got) > 50 {
			t.Errorf("the name %q of %q is not valid: %v", got, text, problems)
		}
	}
}

// The name of one of two texts with the same slug does not depend on what else is there.
func TestNamesAreStable(t *testing.T) {
	a, b := newNames(50), newNames(50)
	a.unique("Build A")
	b.unique("Build A")
	b.unique("something else")
	if x, y := a.unique("build-a"), b.unique("build-a"); x != y {
		t.Errorf("the second text has the name %q, and %q beside another text", x, y)
	}
}

func TestValuesOfLabels(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"main", "main"}, {"octocat/hello", "octocat-hello"}, {"feature/a b", "feature-a-b"}, {"-a-", "a"},
		{"_.a", "a"}, {"日本", ""},
		{"v1.2_3", "v1.2_3"}, {strings.Repeat("a", 63), strings.Repeat("a", 63)},
		{strings.Repeat("a", 64), strings.Repeat("a", 54) + "-" + hash(strings.Repeat("a", 64))},
	} {
		got := labelValue(test.text)
		if got != test.want {
			t.Errorf("labelValue(%q) = %q, want %q", test.text, got, test.want)
		}
		if problems := validation.IsValidLabelValue(got); len(problems) > 0 {
			t.Errorf("labelValue(%q) = %q, which is not valid: %v", test.text, got, problems)
		}
	}
}

func TestNameOfTheRun(t *testing.T) {
	for _, test := range []struct {
		rule, repo, pipeline string
		build                int64
		option               string
		want                 string
	}{
		{"repository, build and pipeline", "hello", "default", 7, "", "hello-7-default"},
		{"without a build", "hello", "default", 0, "", "hello-default"},
		{"a pipeline without a name is default", "hello", "", 7, "", "hello-7-default"},
		{"names of Services begin with a letter", "7zip", "default", 7, "", "run-7zip-7-default"},
		{"without a repository", "", "Test It", 0, "", "test-it"},
		{"long", "hello", strings.Repeat("long ", 20), 7, "", "hello-7-long-long-long-long-long-" +
			hash("hello 7 "+strings.Repeat("long ", 20))},
		{"the name that was asked for", "hello", "default", 7, "mine", "mine"},
	} {
		f := push()
		f.Repo.Name, f.Build.Number = test.repo, test.build
		p := parsePipeline(t, "kind: pipeline\ntype: docker\nname: '"+test.pipeline+"'\nsteps: [{name: a, image: i}]\n")
		got := runName(f, p, Options{Name: test.option})
		if got != test.want {
			t.Errorf("%s: runName = %q, want %q", test.rule, got, test.want)
		}
		if problems := validation.IsDNS1035Label(got); len(problems) > 0 || len(got) > maxRunName {
			t.Errorf("%s: the name %q is not valid: %v", test.rule, got, problems)
		}
	}
}

// A run has exactly its name where it was asked for, or where something beside it has to know it; else Kubernetes
// completes it, so that one file can run many times.
func TestNamesThatKubernetesCompletes(t *testing.T) {
	plain := dockerHead + "steps: [{name: a, image: i}]\n"
	for _, test := range []struct {
		rule, text     string
		change         func(*Facts, *Options)
		name, generate string
	}{
		{"nothing beside the run", plain, func(*Facts, *Options) {}, "", "hello-7-default-"},
		{"a name was asked for", plain, func(_ *Facts, o *Options) { o.Name = "mine" }, "mine", ""},
		{"a service", dockerHead + "services: [{name: s, image: i}]\nsteps: [{name: a, image: i}]\n",
			func(*Facts, *Options) {}, "hello-7-default", ""},
		{"a claim beside the run", plain, func(_ *Facts, o *Options) { o.Workspace.Spread = true }, "hello-7-default",
			""},
	} {
		m := converted(t, test.text, test.change).PipelineRun.ObjectMeta
		if m.Name != test.name || m.GenerateName != test.generate {
			t.Errorf("%s: name %q, generateName %q, want %q, %q", test.rule, m.Name, m.GenerateName, test.name,
				test.generate)
		}
	}
}
