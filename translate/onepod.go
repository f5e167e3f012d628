package translate

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/selection"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// The layout pod: all steps in one task, one after the other, services and detached steps as its sidecars.
//
// A task ends at its first failing step, and there is no finally inside it. So where any step has to run after a failure,
// every step goes on after its failure, helpers between them find out how things stand, each step runs by what they say,
// and a last helper gives the task its verdict.

const (
	onePodTask    = "pipeline"
	verdictStep   = "verdict"
	statusResult  = "status"
	startsFolder  = "/starts"
	outcomeScript = `status=success; failed=
while [ $# -gt 1 ]; do
  code=$(cat "/tekton/steps/step-$1/exitCode" 2>/dev/null || echo 0)
  if [ "$code" != 0 ]; then status=failure; failed="$failed${failed:+,}$2"; fi
  shift 2
done
`
	tellOutcome = outcomeScript + `printf %s "$status" > "$(step.results.status.path)"
printf %s "$failed" > "$(step.results.failed-steps.path)"`
	giveVerdict = outcomeScript + `if [ "$status" != success ]; then echo "failed: $failed" >&2; exit 1; fi`
	markUnless  = outcomeScript + `if [ "$status" = success ]; then ` + markStart + `; fi`
)

// statusHelper is the name of the helper before a step.
func statusHelper(number int) string { return "status-" + strconv.Itoa(number) }

// helperNames are the names of steps that the translation puts into one task with the pipeline's own, of which there are
// so many.
func helperNames(steps int) []string {
	names := []string{failedStepsName, verdictStep}
	for i := range steps {
		names = append(names, statusHelper(i+1))
	}
	return names
}

func (l *lowering) podsAreSidecars() bool { return l.storage.decision.Layout == workspace.Pod }

// groupAll puts every step into the one task, in the plan's order, which is an order of the graph.
func (l *lowering) groupAll(mounts map[*Step][]mount) {
	t := &task{name: onePodTask}
	parallel := false
	var previous *Step
	for _, s := range l.plan.Steps {
		if s.Detached {
			continue
		}
		if previous != nil && !s.waitsFor(previous) {
			parallel = true
		}
		previous = s
		t.units = append(t.units, l.newUnit(s, s.Policy == OnFailure, mounts[s]))
	}
	if len(t.units) == 0 {
		return
	}
	l.tasks = []*task{t}
	if parallel {
		l.diags.Infof(l.plan.Pipeline.At("steps"), CodeOrder,
			"steps that Drone runs in parallel run one after the other in the layout pod")
	}
}

// onePod is the task.
func (l *lowering) onePod(shared map[string]string) v1.PipelineTask {
	t := l.tasks[0]
	pt := l.newTask(t, shared)
	pt.DisplayName = l.plan.Pipeline.DisplayName()
	spec := &pt.TaskSpec.TaskSpec
	if slices.ContainsFunc(t.units, func(u *unit) bool { return handlesFailure(u.step) }) {
		spec.Steps = l.stepsWithHandlers(t.units, spec.Steps)
	}
	l.addSidecars(spec, t.units)
	return pt
}

// stepsWithHandlers lets every step go on after its failure, and guards each by the state that a helper found.
func (l *lowering) stepsWithHandlers(units []*unit, steps []v1.Step) []v1.Step {
	var out []v1.Step
	var seen []string // names of Tekton steps and Drone steps in turn, whose failure counts
	status := outcome(false)
	helper := "" // the last one
	changed := false
	for i, u := range units {
		s := steps[i]
		if changed {
			helper = statusHelper(u.step.Number)
			out = append(out, l.outcomeStep(helper, tellOutcome, seen))
			status = "$(steps." + helper + ".results." + statusResult + ")"
			changed = false
		}
		switch u.step.Policy {
		case OnSuccess:
			if helper != "" {
				s.When = v1.StepWhenExpressions{{Input: status, Operator: selection.In, Values: []string{outcome(false)}}}
			}
		case OnFailure:
			s.When = v1.StepWhenExpressions{{Input: status, Operator: selection.In, Values: []string{outcome(true)}}}
		}
		if helper != "" && u.step.Policy != OnSuccess {
			s.Env = append(withStatus(s.Env, status), corev1.EnvVar{
				Name: failedStepsVariable, Value: "$(steps." + helper + ".results." + failedStepsName + ")",
			})
		}
		s.OnError = v1.Continue
		out = append(out, s)
		if !u.step.IgnoreFailure {
			seen = append(seen, u.name, u.step.Name)
			changed = true
		}
	}
	verdict := l.outcomeStep(verdictStep, giveVerdict, seen)
	verdict.Results = nil
	return append(out, verdict)
}

// statusVariables tell a step of the state.
var statusVariables = []string{"DRONE_BUILD_STATUS", "DRONE_STAGE_STATUS", "CI_BUILD_STATUS"}

// withStatus sets the variables of the state.
func withStatus(env []corev1.EnvVar, status string) []corev1.EnvVar {
	env = slices.DeleteFunc(slices.Clone(env), func(v corev1.EnvVar) bool { return slices.Contains(statusVariables, v.Name) })
	for _, name := range statusVariables {
		env = append(env, corev1.EnvVar{Name: name, Value: status})
	}
	return env
}

func (l *lowering) outcomeStep(name, script string, seen []string) v1.Step {
	step := l.helperStep(name, script, name, seen)
	step.Results = []v1.StepResult{
		{Name: statusResult, Type: v1.ResultsTypeString}, {Name: failedStepsName, Type: v1.ResultsTypeString},
	}
	return step
}

// helperStep runs a script of the translation's own. $0 and the arguments are given as they are.
func (l *lowering) helperStep(name, script, zero string, args []string) v1.Step {
	args, dollar := literals(args)
	step := v1.Step{
		Name: name, Image: l.options.CloneImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"/bin/sh", "-c"}, Args: append([]string{script, zero}, args...),
		SecurityContext: l.helperSecurity(),
	}
	if dollar {
		step.Env = []corev1.EnvVar{dollarEnv}
	}
	return step
}

// addSidecars turns services and detached steps into sidecars, which share the steps' network: their names lead to the
// pod itself. One with commands waits until it is its turn; one without cannot, and starts with the pod.
func (l *lowering) addSidecars(spec *v1.TaskSpec, units []*unit) {
	for _, d := range l.pods {
		s := d.unit.step
		command, args, dollar := l.commandLine(s)
		sidecar := v1.Sidecar{
			Name: d.unit.name, Image: s.Spec.Image, ImagePullPolicy: l.pullPolicy(s.Spec),
			Command: command, Args: args, Env: d.unit.env.list(nil, dollar), WorkingDir: l.workingDir(s),
			SecurityContext: l.securityContext(s), ComputeResources: l.resources(s.Spec),
		}
		for _, m := range d.unit.mounts {
			volume, _ := l.storage.volume(m)
			addVolume(spec, volume)
			sidecar.VolumeMounts = append(sidecar.VolumeMounts, corev1.VolumeMount{
				Name: volume.Name, MountPath: m.path, SubPath: m.sub, ReadOnly: m.readOnly,
			})
		}
		switch {
		case d.gated() && runsScript(&sidecar):
			l.gateSidecar(spec, units, &sidecar, d)
		case d.gated():
			l.diags.Add(diag.Diagnostic{
				Severity: diag.Warning, Code: CodeService, Position: s.Spec.At(""),
				Message: "the detached step " + strconv.Quote(s.Name) + " starts with the pod and not in its place in the order",
				Hint:    "give it commands, or use another layout",
			})
		}
		spec.Sidecars = append(spec.Sidecars, sidecar)
	}
}

// runsScript reports whether a sidecar's arguments are a script, which can begin with something else.
func runsScript(s *v1.Sidecar) bool {
	c := s.Command
	return len(s.Args) > 0 && (slices.Equal(c, []string{"/bin/sh", "-c"}) || len(c) > 2 && c[2] == joinPieces)
}

// gateSidecar holds a sidecar back until a helper after the steps before it has marked its start.
func (l *lowering) gateSidecar(spec *v1.TaskSpec, units []*unit, sidecar *v1.Sidecar, d *detached) {
	s := d.unit.step
	addVolume(spec, corev1.Volume{Name: startsVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	mount := corev1.VolumeMount{Name: startsVolume, MountPath: startsFolder}
	sidecar.VolumeMounts = append(sidecar.VolumeMounts, mount)
	wait := "until [ -e " + startsFolder + "/" + s.ID + " ]; do sleep 1; done\n"
	sidecar.Args = slices.Clone(sidecar.Args)
	sidecar.Args[0] = wait + sidecar.Args[0]

	last := -1 // the last of the steps that it waits for
	index := func(u *unit) int {
		return slices.IndexFunc(spec.Steps, func(st v1.Step) bool { return st.Name == u.name })
	}
	for _, u := range units {
		if s.waitsFor(u.step) {
			last = max(last, index(u))
		}
	}
	// Where steps go on after a failure, so does the helper: one that is to run on success alone looks for itself.
	var seen []string
	for _, u := range units {
		if s.Policy == OnSuccess && !u.step.IgnoreFailure && index(u) <= last {
			seen = append(seen, u.name, u.step.Name)
		}
	}
	mark := l.helperStep(d.start, markUnless, s.ID, seen)
	mark.VolumeMounts = []corev1.VolumeMount{mount}
	spec.Steps = slices.Insert(spec.Steps, last+1, mark)
}

// sidecarAliases lead the names of services to the pod itself.
func (l *lowering) sidecarAliases() []corev1.HostAlias {
	if !l.podsAreSidecars() || len(l.pods) == 0 {
		return nil
	}
	alias := corev1.HostAlias{IP: "127.0.0.1"}
	for _, d := range l.pods {
		alias.Hostnames = append(alias.Hostnames, d.hostname)
	}
	return []corev1.HostAlias{alias}
}
