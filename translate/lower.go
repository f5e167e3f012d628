package translate

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// lowering turns one plan into objects.
type lowering struct {
	plan    *Plan
	options Options
	diags   *diag.List

	common  map[bool]map[string]string // the variables of every step, by whether the pipeline is failing
	fixed   map[bool]map[string]string // those that a step cannot change
	volumes *volumes
	secrets *secretKeys
	storage storage
	name    string // of the run, without what Kubernetes adds to it
	named   bool   // the run must have exactly that name

	passed map[*Step][]*Step // see passedBy
	taskOf map[*Step]string  // the names of the tasks of steps that run in order, and of starts of detached steps

	units    []*unit
	tasks    []*task
	handlers []*task
	pods     []*detached
}

// unit is one run of a step.
type unit struct {
	step    *Step
	failing bool
	name    string // of the Tekton step, or of the Pod's container
	env     environment
	mounts  []mount
	// unlessRan names tasks: this unit runs only where none of them has.
	unlessRan []string
}

// task is a group of units that becomes one task of the pipeline.
type task struct {
	name     string
	units    []*unit
	runAfter []string
}

// stepNames are the steps' names as written.
func (t *task) stepNames() []string {
	var names []string
	for _, u := range t.units {
		names = append(names, u.step.Name)
	}
	return names
}

func (t *task) displayName() string { return strings.Join(t.stepNames(), ", ") }

// runsInOrder is a step that is a task of the pipeline: it runs while all is well.
func runsInOrder(s *Step) bool { return !s.Detached && (s.Policy == OnSuccess || s.Policy == Always) }

// handlesFailure is a step that runs, or still has to run, when something has failed.
func handlesFailure(s *Step) bool {
	return !s.Detached && (s.Policy == OnFailure || s.Policy == Always)
}

// lower makes the bundle. Problems are added to the diagnostics; with an error among them the bundle is not usable.
func lower(p *Plan, o Options, diags *diag.List) *Bundle {
	l := &lowering{
		plan: p, options: o, diags: diags,
		common: map[bool]map[string]string{
			false: p.commonVariables(o, false),
			true:  p.commonVariables(o, true),
		},
		fixed:   map[bool]map[string]string{false: p.fixedVariables(false), true: p.fixedVariables(true)},
		volumes: newVolumes(p.Pipeline, o),
		secrets: &secretKeys{secret: o.SecretName, keys: map[string]string{}},
		name:    runName(p.Facts, p.Pipeline, o),
	}
	l.answerKeys()
	mounts := map[*Step][]mount{}
	for _, s := range p.Steps {
		mounts[s] = l.mountsOf(s)
	}
	l.findDetached(mounts)
	l.passed = l.passedBy()
	l.chooseForLocalhost()
	l.placeFiles(mounts)
	if l.storage.decision.Layout == workspace.Pod {
		l.groupAll(mounts)
	} else {
		l.groupInOrder(mounts)
		l.groupHandlers(mounts)
	}
	if len(l.tasks) == 0 {
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Warning, Code: CodeNothingRuns, Position: p.Pipeline.At("steps"),
			Message: "no step of the pipeline " + p.Pipeline.DisplayName() + " runs in this build, which is a success to Drone",
			Hint:    "give the build's facts with --event, --branch and --ref, or check the steps' when",
		})
		return nil
	}
	return l.bundle()
}

// placeFiles asks the planner where files live and which steps share a task.
func (l *lowering) placeFiles(mounts map[*Step][]mount) {
	request := workspace.Request{Options: l.options.Workspace, Cluster: l.options.Cluster}
	used := map[string]bool{}
	asked := map[*Step]workspace.Step{}
	for _, s := range l.plan.Steps {
		if s.Detached {
			continue
		}
		for _, v := range ownVolumes(mounts[s]) {
			used[v] = true
		}
		asked[s] = workspace.Step{
			Name: s.ID, Needs: l.needsInOrder(s), Mounts: mountsKey(mounts[s]), Volumes: ownVolumes(mounts[s]),
			Alone: s.Policy == Always || s.FailFast,
			// How far a task got is not known; only whether it ran is. So what tells that a handler's turn is over begins a
			// task, and what a detached step waits for ends one.
			First: l.tellsTurn(s), Last: l.startsDetached(s),
		}
		if runsInOrder(s) {
			request.Steps = append(request.Steps, asked[s])
		}
	}
	for _, group := range ordered(l.handlerSteps()) {
		var task []workspace.Step
		for _, s := range group {
			task = append(task, asked[s])
		}
		request.Handlers = append(request.Handlers, task)
	}
	for _, d := range l.pods {
		request.Outside = append(request.Outside, ownVolumes(d.unit.mounts)...)
		if d.gated() { // the mark of its start lies on the claim of the source
			request.Outside = append(request.Outside, sourceVolume)
		}
	}
	for _, v := range request.Outside {
		used[v] = true
	}
	if used[sourceVolume] {
		request.Volumes = append(request.Volumes, workspace.Volume{Name: sourceVolume})
	}
	for _, v := range l.plan.Pipeline.Volumes {
		if v == nil || !isTemp(v) || !used[l.volumes.ids[v.Name]] || l.volumes.byName[v.Name] != v {
			continue
		}
		request.Volumes = append(request.Volumes, workspace.Volume{
			Name: l.volumes.ids[v.Name], Memory: v.Temp.Medium == "memory", SizeLimit: int64(v.Temp.SizeLimit),
		})
	}
	l.storage.decision = workspace.Plan(request)
	for _, c := range l.storage.decision.Claims {
		l.named = l.named || c.Beside
	}
	l.named = l.named || len(l.pods) > 0 && !l.podsAreSidecars() || l.options.Name != "" || l.options.Suffix != ""
	l.storage.run, l.storage.beside = l.name, len(l.pods) > 0 && !l.podsAreSidecars()
	for _, w := range l.storage.decision.Warnings {
		l.diags.Warnf(l.plan.Pipeline.At(""), CodeStorage, "%s", w.Text)
	}
	for _, p := range l.storage.decision.Problems {
		l.diags.Errorf(l.plan.Pipeline.At(""), CodeStorage, "%s", p.Text)
	}
	l.reportPlaces()
}

// reportPlaces tells of volumes in memory that had to move.
func (l *lowering) reportPlaces() {
	for i, v := range l.plan.Pipeline.Volumes {
		if v == nil || v.Temp == nil || v.Temp.Medium != "memory" {
			continue
		}
		place, used := l.storage.decision.Places[l.volumes.ids[v.Name]]
		if used && !place.Memory {
			l.diags.Infof(l.plan.Pipeline.At(at("volumes", i)), CodeVolume,
				"the volume %q is on the claim and not in memory, because the pods of several steps share it", v.Name)
		}
	}
}

// needsInOrder are the IDs of the in-order steps that a step waits for, past those that are no task of the pipeline.
func (l *lowering) needsInOrder(s *Step) []string {
	var ids []string
	for _, n := range nearest(s, l.isTask) {
		ids = append(ids, n.ID)
	}
	return ids
}

// startsDetached reports whether a detached step starts when this one is done.
func (l *lowering) startsDetached(s *Step) bool {
	return slices.ContainsFunc(l.pods, func(d *detached) bool {
		return d.gated() && slices.Contains(nearest(d.unit.step, l.isTask), s)
	})
}

// isTask is a step that others can wait for: one that runs in order, or a detached step whose start is a task.
func (l *lowering) isTask(s *Step) bool {
	return runsInOrder(s) || slices.ContainsFunc(l.pods, func(d *detached) bool { return d.unit.step == s && d.gated() })
}

// groupInOrder makes the tasks of the main graph.
func (l *lowering) groupInOrder(mounts map[*Step][]mount) {
	byID := map[string]*Step{}
	for _, s := range l.plan.Steps {
		byID[s.ID] = s
	}
	l.taskOf = map[*Step]string{}
	for _, d := range l.pods {
		l.taskOf[d.unit.step] = d.start
	}
	unique := l.taskNames()
	for _, ids := range l.storage.decision.Tasks {
		t := &task{name: ids[0]}
		if len(ids) > 1 {
			t.name = unique.unique(strings.Join(ids, " "))
		}
		for _, id := range ids {
			s := byID[id]
			t.units = append(t.units, l.newUnit(s, false, mounts[s]))
			l.taskOf[s] = t.name
		}
		l.tasks = append(l.tasks, t)
	}
	after := func(s *Step) []string {
		var names []string
		for _, n := range nearest(s, l.isTask) {
			if name := l.taskOf[n]; name != l.taskOf[s] && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	for _, t := range l.tasks {
		for _, u := range t.units {
			t.runAfter = append(t.runAfter, after(u.step)...)
		}
	}
	for _, d := range l.pods {
		if d.gated() {
			d.runAfter = after(d.unit.step)
		}
	}
}

// taskNames hands out names that no step and no start of a detached step has.
func (l *lowering) taskNames() *names {
	n := newNames(maxTaskName)
	for _, s := range l.plan.Steps {
		n.taken[s.ID] = true
	}
	for _, d := range l.pods {
		n.taken[d.start] = true
	}
	return n
}

func (l *lowering) newUnit(s *Step, failing bool, mounts []mount) *unit {
	u := &unit{step: s, failing: failing, name: s.ID, env: l.environmentOf(s, failing), mounts: mounts}
	l.units = append(l.units, u)
	return u
}

// bundle puts the objects together.
func (l *lowering) bundle() *Bundle {
	shared := l.shareVariables()
	run := &v1.PipelineRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "PipelineRun"},
		ObjectMeta: l.objectMeta(),
	}
	if !l.named {
		run.Name, run.GenerateName = "", l.name+"-"
	}
	if slices.ContainsFunc(l.storage.decision.Claims, func(c workspace.Claim) bool { return !c.Beside && c.Existing == "" }) {
		// From Tekton 1.12 on, the claim goes when the run has ended, and not only when it is deleted.
		run.Annotations["tekton.dev/auto-cleanup-pvc"] = "true"
	}
	spec := &v1.PipelineSpec{DisplayName: l.plan.Pipeline.DisplayName()}
	spec.Tasks = l.mainTasks(shared)
	for _, t := range l.handlers {
		spec.Finally = append(spec.Finally, l.handlerTask(t, shared))
	}
	run.Spec.PipelineSpec = spec
	run.Spec.Timeouts = &v1.TimeoutFields{Pipeline: &metav1.Duration{Duration: l.plan.Timeout}}
	run.Spec.TaskRunTemplate = l.taskRunTemplate(shared)
	for _, c := range l.storage.decision.Claims {
		if l.storage.decision.AsVolume {
			continue
		}
		spec.Workspaces = append(spec.Workspaces, v1.PipelineWorkspaceDeclaration{Name: c.Name})
		run.Spec.Workspaces = append(run.Spec.Workspaces, l.storage.binding(c))
	}
	b := &Bundle{Plan: l.plan, PipelineRun: run, SecretName: l.options.SecretName}
	for _, c := range l.storage.decision.Claims {
		if c.Beside {
			b.Claims = append(b.Claims, l.claimObject(c))
		}
	}
	l.addPods(b)
	for _, name := range l.secrets.used {
		b.Secrets = append(b.Secrets, SecretUse{Name: name, Key: l.secrets.keys[strings.ToLower(name)]})
	}
	b.PullSecrets = pullSecrets(l.plan.Pipeline)
	for _, r := range l.storage.decision.Reasons {
		b.Reasons = append(b.Reasons, r.Topic+": "+r.Text)
	}
	l.addUnits(b)
	l.warnOfLocalhost()
	l.answerSecrets(b)
	return b
}

// mainTasks are the tasks of the main graph, in the plan's order.
func (l *lowering) mainTasks(shared map[string]string) []v1.PipelineTask {
	if l.podsAreSidecars() {
		return []v1.PipelineTask{l.onePod(shared)}
	}
	byIndex := map[int]v1.PipelineTask{}
	for _, d := range l.pods {
		if d.gated() {
			byIndex[d.unit.step.index] = l.startTask(d)
		}
	}
	for _, t := range l.tasks {
		byIndex[t.units[0].step.index] = l.pipelineTask(t, shared)
	}
	var out []v1.PipelineTask
	for _, i := range slices.Sorted(maps.Keys(byIndex)) {
		out = append(out, byIndex[i])
	}
	return out
}

func (l *lowering) addUnits(b *Bundle) {
	for _, list := range [][]*task{l.tasks, l.handlers} {
		for _, t := range list {
			for _, u := range t.units {
				b.Units = append(b.Units, Unit{Step: u.step, Task: t.name, Container: u.name, Failing: u.failing})
			}
		}
	}
	for _, d := range l.pods {
		u := Unit{Step: d.unit.step, Pod: l.podName(d), Container: d.unit.name}
		if l.podsAreSidecars() {
			u.Task, u.Pod = onePodTask, ""
		}
		b.Units = append(b.Units, u)
	}
	slices.SortStableFunc(b.Units, func(x, y Unit) int { return x.Step.index - y.Step.index })
}
