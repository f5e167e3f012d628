package bridge

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

const twoSteps = `kind: pipeline
type: kubernetes
name: default
steps:
- name: build
  image: golang
  commands: [go build]
- name: test
  image: golang
  commands: [go test]
  environment:
    TOKEN: {from_secret: token}
`

var secrets = []*api.Secret{{Name: "token", Data: "hunter2hunter2"}}

func TestBuildSucceeds(t *testing.T) {
	w := newWorld(t, map[string]behaviour{
		"clone": {lines: []string{"cloning"}},
		"build": {lines: []string{"one", "two"}},
		"test":  {lines: []string{"the token is hunter2hunter2"}},
	})
	w.start(nil)
	b := w.build(dronetest.Spec{Config: twoSteps, Secrets: secrets})
	b = w.ended(b.ID)
	w.want("build", b.Status, api.StatusPassing)
	w.want("steps", outcomes(b), []string{"clone:success", "build:success", "test:success"})
	w.want("log of build", w.log(b, "build"), []string{"one", "two"})
	w.want("log of test", w.log(b, "test"), []string{"the token is ******"})
	w.want("started", b.Stages[0].Started > 0 && b.Stages[0].Steps[1].Started > 0, true)
	w.clean()
}

// TestOutcomes takes pipelines to their end that do not simply succeed.
func TestOutcomes(t *testing.T) {
	const head = "kind: pipeline\ntype: kubernetes\nname: default\nclone: {disable: true}\nsteps:\n"
	step := func(name, more string) string {
		return fmt.Sprintf("- name: %s\n  image: golang\n  commands: [x]\n%s", name, more)
	}
	evicted := func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on memory."
	}
	tests := []struct {
		name   string
		config string
		steps  map[string]behaviour
		build  string
		want   []string
	}{
		{"a step fails", step("a", "") + step("b", ""), map[string]behaviour{"a": {exit: 2}},
			"failure", []string{"a:failure:2", "b:skipped"}},
		{"a failure is ignored", step("a", "  failure: ignore\n") + step("b", ""), map[string]behaviour{"a": {exit: 1}},
			"success", []string{"a:failure:1", "b:success"}},
		{"a step handles the failure", step("a", "") + step("b", "  when: {status: [failure]}\n"), map[string]behaviour{"a": {exit: 1}},
			"failure", []string{"a:failure:1", "b:success"}},
		{"nothing to handle", step("a", "") + step("b", "  when: {status: [failure]}\n"), nil,
			"success", []string{"a:success", "b:skipped"}},
		{"always, after a failure", step("a", "") + step("b", "  when: {status: [failure, success]}\n"), map[string]behaviour{"a": {exit: 1}},
			"failure", []string{"a:failure:1", "b:success"}},
		{"exit code 78", step("a", "") + step("b", "") + step("c", "  when: {status: [failure]}\n"), map[string]behaviour{"a": {exit: 78}, "c": {until: make(chan struct{})}},
			"success", []string{"a:success:78", "b:skipped", "c:skipped"}},
		{"failure: fast", step("z", "") + step("a", "  failure: fast\n  depends_on: [z]\n") + step("b", "  depends_on: [z]\n"),
			map[string]behaviour{"a": {exit: 1}, "b": {until: make(chan struct{})}},
			"failure", []string{"z:success", "a:failure:1", "b:killed:137"}},
		{"an image that cannot be pulled", step("a", "") + step("b", ""), map[string]behaviour{"a": {waiting: "ErrImagePull", message: "not found"}},
			"error", []string{"a:error:255", "b:skipped"}},
		{"an evicted pod", step("a", ""), map[string]behaviour{"a": {pod: evicted}}, "error", []string{"a:error:255"}},
		{"no step for this build", step("a", "  when: {event: [tag]}\n"), nil, "success", nil},
		{"a file with a mistake", step("a", "  privileged: true\n"), nil, "error", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.steps)
			w.start(nil)
			b := w.ended(w.build(dronetest.Spec{Config: head + tt.config}).ID)
			w.want("build", b.Status, tt.build)
			w.want("steps", outcomes(b), tt.want)
			if b.Status == api.StatusError && b.Stages[0].Error == "" {
				t.Error("the stage does not tell its error")
			}
			w.clean()
		})
	}
}

// TestCancel cancels a build in which one step has ended and one runs.
func TestCancel(t *testing.T) {
	w := newWorld(t, map[string]behaviour{
		"build": {lines: []string{"built"}},
		"test":  {lines: []string{"testing"}, until: make(chan struct{})},
	})
	w.start(nil)
	id := w.build(dronetest.Spec{Config: twoSteps}).ID
	w.running(id, "test")
	w.written(id, "build", api.StatusPassing) // It may be told after the start of test.
	w.drone.Cancel(id)
	w.clean()
	b := w.drone.Build(id)
	w.want("build", b.Status, api.StatusKilled)
	w.want("steps", outcomes(b), []string{"clone:success", "build:success", "test:killed:130"})
	w.want("log", w.log(b, "test"), []string{"testing"})
}

// TestCancelWithoutARunner cancels a build while nobody is there to hear of it.
func TestCancelWithoutARunner(t *testing.T) {
	w := newWorld(t, map[string]behaviour{"test": {lines: []string{"testing"}, until: make(chan struct{})}})
	p := w.start(nil)
	id := w.build(dronetest.Spec{Config: twoSteps}).ID
	w.running(id, "test")
	p.stop()
	w.drone.Cancel(id)
	w.start(nil)
	w.clean()
	w.want("build", w.drone.Build(id).Status, api.StatusKilled)
	w.want("log", w.log(w.drone.Build(id), "test"), []string{"testing"})
}

// TestCancelledPodGone cancels a build whose pods are gone before a runner is there that could read their logs again.
func TestCancelledPodGone(t *testing.T) {
	w := newWorld(t, map[string]behaviour{"test": {lines: []string{"testing"}, until: make(chan struct{})}})
	p := w.start(nil)
	id := w.build(dronetest.Spec{Config: twoSteps}).ID
	w.running(id, "test")
	w.written(id, "test", api.StatusRunning)
	p.stop()
	w.drone.Cancel(id)
	w.cluster.cancelAll(w.ctx)
	w.start(nil)
	w.clean()
	w.want("build", w.drone.Build(id).Status, api.StatusKilled)
	w.want("log", w.log(w.drone.Build(id), "test"),
		[]string{"[runner] the rest of the log is missing: the pod was gone before the runner could read it"})
}

// TestRunDeleted has somebody delete the PipelineRun: the step that ran did not succeed.
func TestRunDeleted(t *testing.T) {
	w := newWorld(t, map[string]behaviour{"test": {until: make(chan struct{})}})
	w.start(nil)
	id := w.build(dronetest.Spec{Config: twoSteps}).ID
	w.running(id, "test")
	runs := w.cluster.own.Tekton.TektonV1().PipelineRuns("drone")
	list, err := runs.List(w.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("List = %d runs, %v", len(list.Items), err)
	}
	if err := runs.Delete(w.ctx, list.Items[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b := w.ended(id)
	w.want("build", b.Status, api.StatusKilled)
	w.want("steps", outcomes(b), []string{"clone:success", "build:success", "test:killed:137"})
	w.clean()
}

// TestLimits refuses what the runner does not take.
func TestLimits(t *testing.T) {
	w := newWorld(t, nil)
	w.options.Compiler.Limits = compile.Limits{Repos: []string{"octocat/*"}, Events: []string{"push"}}
	w.start(nil)
	for _, spec := range []dronetest.Spec{
		{Config: twoSteps, Repo: api.Repo{Slug: "other/repo"}},
		{Config: twoSteps, Build: api.Build{Event: "tag"}},
	} {
		b := w.ended(w.build(spec).ID)
		w.want("build", b.Status, api.StatusError)
	}
	w.clean()
}

// TestKill ends the runner before and after each call that it makes, to the server and to the cluster, and starts another
// one. Every build ends as it would have, with each line of its logs once, and nothing is left.
func TestKill(t *testing.T) {
	count := 0
	w := newWorld(t, map[string]behaviour{"build": {lines: []string{"one", "two"}}, "test": {exit: 1, lines: []string{"three"}}})
	var calls []string
	var mu sync.Mutex
	w.start(func(call string, after bool) bool {
		mu.Lock()
		defer mu.Unlock()
		if !after {
			calls = append(calls, call)
			count++
		}
		return false
	})
	w.ended(w.build(dronetest.Spec{Config: twoSteps, Secrets: secrets}).ID)
	w.clean()
	mu.Lock()
	points := slices.Clone(calls)
	mu.Unlock()
	if len(points) < 20 {
		t.Fatalf("only %d calls: %v", len(points), points)
	}
	for i, call := range points {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%02d %s after=%v", i, call, after), func(t *testing.T) {
				t.Parallel()
				killAt(t, i, after)
			})
		}
	}
}

// killAt kills the first runner at its n-th call.
func killAt(t *testing.T, n int, after bool) {
	w := newWorld(t, map[string]behaviour{"build": {lines: []string{"one", "two"}}, "test": {exit: 1, lines: []string{"three"}}})
	seen := -1
	p := w.start(func(_ string, isAfter bool) bool {
		if !isAfter {
			seen++
		}
		return seen == n && isAfter == after
	})
	id := w.build(dronetest.Spec{Config: twoSteps, Secrets: secrets}).ID
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.drone.Wait(w.ctx, func() bool { return w.drone.Build(id).Finished > 0 })
	}()
	select {
	case <-p.ended:
	case <-ended: // It may come to die while it cleans up, or not at all.
		select {
		case <-p.ended:
		case <-time.After(100 * time.Millisecond):
		}
	}
	p.stop()
	w.start(nil)
	b := w.ended(id)
	w.clean()
	w.want("build", b.Status, api.StatusFailing)
	// Steps that the server had inserted when its answer got lost have ids that nobody knows; they stay as they are, and
	// the steps are inserted once more.
	stage := b.Stages[0]
	known := stage.Steps[max(0, len(stage.Steps)-3):]
	stage.Steps = known
	w.want("steps", outcomes(b), []string{"clone:success", "build:success", "test:failure:1"})
	w.want("log of build", w.log(b, "build"), []string{"one", "two"})
	w.want("log of test", w.log(b, "test"), []string{"three"})
}

// TestKeep keeps finished runs for a while, without their Secrets.
func TestKeep(t *testing.T) {
	w := newWorld(t, nil)
	w.options.Keep = Keep{For: 1500 * time.Millisecond}
	w.start(nil)
	w.ended(w.build(dronetest.Spec{Config: twoSteps, Secrets: secrets}).ID)
	var kept []string
	for w.ctx.Err() == nil && len(kept) == 0 {
		for _, o := range w.cluster.left(w.ctx) {
			if o.GetLabels()[labelEnded] != "" {
				kept = append(kept, o.GetName())
			}
		}
		time.Sleep(time.Millisecond)
	}
	for _, o := range w.cluster.left(w.ctx) { // The run is marked after they were removed.
		if _, ok := o.(*corev1.Secret); ok {
			t.Errorf("the Secret %s is there beside a finished run", o.GetName())
		}
	}
	w.want("runs kept", len(kept), 1)
	w.clean()
}

// running waits until a step runs on the server.
func (w *world) running(build int64, step string) {
	w.t.Helper()
	err := w.drone.Wait(w.ctx, func() bool {
		return slices.Contains(outcomes(w.drone.Build(build)), step+":"+api.StatusRunning)
	})
	if err != nil {
		w.t.Fatalf("the step %s does not run: %v", step, outcomes(w.drone.Build(build)))
	}
}

// written waits until a runner has written down that the server knows of a step's status.
func (w *world) written(build int64, step, status string) {
	w.t.Helper()
	store := journal.NewStore(w.cluster.own.Kube.CoreV1().ConfigMaps(w.options.Namespace))
	stage := w.drone.Build(build).Stages[0].ID
	for w.ctx.Err() == nil {
		e, err := store.Get(w.ctx, stage)
		if err == nil && e != nil && slices.ContainsFunc(e.Steps, func(s *journal.Step) bool { return s.Name == step && s.Told.Status == status }) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	w.t.Fatalf("it was not written down that the step %s is %s", step, status)
}

// TestOrphan removes a run whose entry is gone, and leaves alone what is kept or not the runner's.
func TestOrphan(t *testing.T) {
	w := newWorld(t, nil)
	w.options.Keep = Keep{For: time.Hour}
	runs := w.cluster.own.Tekton.TektonV1().PipelineRuns("drone")
	make := func(name string, labels map[string]string) {
		t.Helper()
		run := &v1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		run.Spec.Status = v1.PipelineRunSpecStatusPending
		if _, err := runs.Create(w.ctx, run, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	make("orphan", map[string]string{journal.LabelStageID: "77"})
	make("kept", map[string]string{journal.LabelStageID: "78", labelEnded: formatID(time.Now().Unix())})
	make("strange", nil)
	w.start(nil)
	for w.ctx.Err() == nil {
		if _, err := runs.Get(w.ctx, "orphan", metav1.GetOptions{}); apierrors.IsNotFound(err) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	var left []string
	for _, o := range w.cluster.left(w.ctx) {
		left = append(left, o.GetName())
	}
	w.want("runs left", left, []string{"kept", "strange"})
}

// TestReplicas has a runner of another name go on with what one had that died.
func TestReplicas(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, map[string]behaviour{"build": {lines: []string{"one"}, until: release}})
	first := w.start(nil)
	id := w.build(dronetest.Spec{Config: twoSteps}).ID
	w.running(id, "build")
	w.options.Machine = "another"
	first.stop()
	w.start(nil)
	close(release)
	b := w.ended(id)
	w.want("steps", outcomes(b), []string{"clone:success", "build:success", "test:success"})
	w.want("machine", b.Stages[0].Machine, "runner")
	w.want("log", w.log(b, "build"), []string{"one"})
	w.clean()
}

func TestExpired(t *testing.T) {
	now := time.Unix(10_000, 0)
	run := func(name, repo string, ended int64) *v1.PipelineRun {
		r := &v1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{translate.LabelRepo: repo}}}
		if ended > 0 {
			r.Labels[labelEnded] = formatID(ended)
		}
		return r
	}
	runs := []*v1.PipelineRun{
		run("old", "a", 9_000), run("a1", "a", 9_700), run("a2", "a", 9_800), run("a3", "a", 9_900), run("b1", "b", 9_701), run("running", "a", 0),
	}
	due, next := expired(runs, Keep{For: 500 * time.Second, PerRepo: 2}, now)
	var names []string
	for _, r := range due {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a1", "old"}, names); diff != "" {
		t.Errorf("due (-want +got)\n%s", diff)
	}
	if want := 201 * time.Second; next != want {
		t.Errorf("next = %s, want %s: the end of b1", next, want)
	}
}

// TestExpiredByPolicy: what a policy has written on a run wins over the runner's settings, whatever these are now.
func TestExpiredByPolicy(t *testing.T) {
	hours := func(n time.Duration) *time.Duration {
		n *= time.Hour
		return &n
	}
	two := 2
	day := &policy.Policy{Name: "day", Retention: policy.Retention{Keep: hours(24)}}
	failed := &policy.Policy{Name: "failed", Retention: policy.Retention{Keep: hours(1), KeepFailed: hours(48)}}
	few := &policy.Policy{Name: "few", Retention: policy.Retention{Keep: hours(24), PerRepo: &two}}
	now := time.Now()
	run := func(name string, p *policy.Policy, hours time.Duration, outcome string) *v1.PipelineRun {
		r := &v1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}, Labels: map[string]string{
			translate.LabelRepo: "a", labelEnded: formatID(now.Add(-hours * time.Hour).Unix()), labelStatus: outcome,
		}}}
		p.Mark(r.Annotations)
		slimmed, err := slim(r)
		if err != nil {
			t.Fatal(err)
		}
		return slimmed.(*v1.PipelineRun)
	}
	runs := []*v1.PipelineRun{
		run("plain, kept", nil, 0, api.StatusPassing), run("plain, due", nil, 1, api.StatusPassing), run("plain, failed", nil, 3, api.StatusFailing),
		run("plain, failed long ago", nil, 5, api.StatusFailing),
		run("day, kept", day, 23, api.StatusPassing), run("day, due", day, 24, api.StatusPassing),
		run("failed, due", failed, 2, api.StatusPassing), run("failed, kept", failed, 47, api.StatusKilled), run("failed, due too", failed, 48, api.StatusError),
		run("few, first", few, 5, api.StatusPassing), run("few, second", few, 6, api.StatusPassing), run("few, third", few, 7, api.StatusPassing),
	}
	due, next := expired(runs, Keep{For: time.Hour, Failed: hours(4), PerRepo: 100}, now)
	var names []string
	for _, r := range due {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	want := []string{"day, due", "failed, due", "failed, due too", "few, third", "plain, due", "plain, failed long ago"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("due (-want +got)\n%s", diff)
	}
	if next > time.Hour || next < 59*time.Minute {
		t.Errorf("next = %s, want about an hour: the ends of three", next)
	}
}

// TestKeepByPolicy: a runner that keeps nothing keeps the run of a policy that does, and a later one removes it.
func TestKeepByPolicy(t *testing.T) {
	w := newWorld(t, nil)
	stay := 2500 * time.Millisecond
	w.options.Compiler.Policies = policy.Policies{{Name: "p", Retention: policy.Retention{Keep: &stay}}}
	p := w.start(nil)
	w.ended(w.build(dronetest.Spec{Config: twoSteps, Secrets: secrets}).ID)
	kept := func() *v1.PipelineRun {
		for _, o := range w.cluster.left(w.ctx) {
			if run, ok := o.(*v1.PipelineRun); ok && run.Labels[labelEnded] != "" {
				return run
			}
		}
		return nil
	}
	for w.ctx.Err() == nil && kept() == nil {
		time.Sleep(time.Millisecond)
	}
	run := kept()
	if run == nil || run.Labels[labelStatus] != api.StatusPassing || run.Annotations[policy.AnnotationPolicy] != "p" {
		t.Fatalf("the run that is kept is %+v", run)
	}
	p.stop()
	w.options.Compiler.Policies = nil
	w.start(nil)
	w.clean()
}
