package translate

import (
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// pipelineTask is a task of the main graph.
func (l *lowering) pipelineTask(t *task, shared map[string]string) v1.PipelineTask {
	pt := l.newTask(t, shared)
	pt.RunAfter = t.runAfter
	return pt
}

// handlerTask is a finally task for when something has failed.
func (l *lowering) handlerTask(t *task, shared map[string]string) v1.PipelineTask {
	pt := l.newTask(t, shared)
	pt.When = v1.WhenExpressions{{Input: "$(tasks.status)", Operator: selection.In, Values: []string{"Failed"}}}
	steps := pt.TaskSpec.Steps
	for i, u := range t.units {
		if len(t.units) == 1 {
			for _, name := range u.unlessRan {
				pt.When = append(pt.When, v1.WhenExpression{
					Input: "$(tasks." + name + ".status)", Operator: selection.In, Values: []string{"None"},
				})
			}
			continue
		}
		for _, name := range u.unlessRan {
			steps[i].When = append(steps[i].When, v1.WhenExpression{
				Input: statusParam(&pt, name), Operator: selection.In, Values: []string{"None"},
			})
		}
		if i < len(t.units)-1 {
			steps[i].OnError = v1.Continue
		}
	}
	if failedSteps := l.failedStepsStep(t); failedSteps != nil {
		l.addFailedSteps(&pt, *failedSteps)
	}
	return pt
}

// statusParam gives a finally task the state of another task as a parameter, and is the reference to it. Only so the steps
// of the task can see it.
func statusParam(pt *v1.PipelineTask, task string) string {
	name := "status-" + task
	if !slices.ContainsFunc(pt.Params, func(p v1.Param) bool { return p.Name == name }) {
		addParam(pt, name, "$(tasks."+task+".status)")
	}
	return "$(params." + name + ")"
}

// addParam gives a task a text as a parameter.
func addParam(pt *v1.PipelineTask, name, value string) {
	pt.Params = append(pt.Params, v1.Param{Name: name, Value: *v1.NewStructuredValues(value)})
	pt.TaskSpec.Params = append(pt.TaskSpec.Params, v1.ParamSpec{Name: name, Type: v1.ParamTypeString})
}

// newTask is a task with an embedded specification: its steps, where they find their files, and how long it may take.
// Tekton gives every task an hour where nothing is said, however long the run may take.
func (l *lowering) newTask(t *task, shared map[string]string) v1.PipelineTask {
	spec := &v1.EmbeddedTask{}
	for _, u := range t.units {
		spec.Steps = append(spec.Steps, l.step(u, shared))
	}
	spec.Metadata.Labels = map[string]string{LabelStep: labelValue(t.units[0].step.Name)}
	spec.Metadata.Annotations = map[string]string{AnnotationStep: t.displayName(), AnnotationStepNumber: numbers(t)}
	pt := v1.PipelineTask{
		Name: t.name, DisplayName: t.displayName(), TaskSpec: spec,
		Timeout: &metav1.Duration{Duration: l.plan.Timeout},
	}
	if !l.podsAreSidecars() || len(l.pods) == 0 {
		l.startAtOnce(spec)
	}
	l.addStatusFile(spec, t.units[0].failing)
	ShareRequests(spec.Steps)
	l.mountAll(&pt, t.units)
	return pt
}

// annotationReady is the mark that the first step of a task waits for. Tekton's controller sets it once all sidecars run:
// by default for tasks without sidecars, too, since others may inject some.
const annotationReady = "tekton.dev/ready"

// startAtOnce sets the mark from the start. Without it, each task waits until its pod's start has reached the controller,
// and the mark the pod.
func (l *lowering) startAtOnce(task *v1.EmbeddedTask) {
	if l.options.InjectedSidecars {
		return
	}
	if task.Metadata.Annotations == nil {
		task.Metadata.Annotations = map[string]string{}
	}
	task.Metadata.Annotations[annotationReady] = "READY"
}

func numbers(t *task) string {
	var out []string
	for _, u := range t.units {
		out = append(out, strconv.Itoa(u.step.Number))
	}
	return strings.Join(out, ",")
}

// step is one Drone step in a task.
//
// A step whose failure is ignored goes on at the level of the step, not of the task: with Tekton's onError of a task, the
// task counts as failed in $(tasks.status), and handlers of failures would run. It also keeps Drone's rule that a step
// that could not be started is an error all the same.
func (l *lowering) step(u *unit, shared map[string]string) v1.Step {
	spec := u.step.Spec
	s := v1.Step{
		Name:             u.name,
		Image:            spec.Image,
		ImagePullPolicy:  l.pullPolicy(spec),
		WorkingDir:       l.workingDir(u.step),
		SecurityContext:  l.securityContext(u.step),
		ComputeResources: l.resources(spec),
	}
	if u.step.IgnoreFailure {
		s.OnError = v1.Continue
	}
	var dollar bool
	s.Command, s.Args, dollar = l.commandLine(u.step)
	s.Env = u.env.list(shared, dollar)
	return s
}

// commandLine is what a step runs. Commands run in a shell and win over entrypoint and command, which are a container's
// own. The kubernetes runner of Drone lets the entrypoint win, and puts its parts into one line for a shell, which is
// kept where that line is one text with spaces.
func (l *lowering) commandLine(s *Step) (command, args []string, dollar bool) {
	spec := s.Spec
	kubernetes := l.plan.Pipeline.IsKubernetes()
	switch {
	case kubernetes && len(spec.Entrypoint) == 1 && strings.ContainsAny(spec.Entrypoint[0], " \t\n"):
		command, args = shell(strings.Join(slices.Concat(spec.Entrypoint, spec.Command), " "))
	case len(spec.Commands) > 0 && !(kubernetes && len(spec.Entrypoint) > 0):
		command, args = shell(script(spec.Commands, l.givesNetrc(s)))
	default:
		command, args = spec.Entrypoint, spec.Command
	}
	command, d1 := literals(command)
	args, d2 := literals(args)
	return command, args, d1 || d2
}

// pullPolicy is when the image is pulled. Without a word, Drone's docker runner pulls the tag latest always and others
// where they are missing, which is Kubernetes' own default; its kubernetes runner never pulls what is there.
func (l *lowering) pullPolicy(spec *drone.Step) corev1.PullPolicy {
	switch spec.Pull {
	case "always":
		return corev1.PullAlways
	case "never":
		return corev1.PullNever
	case "if-not-exists":
		return corev1.PullIfNotPresent
	}
	if l.plan.Pipeline.IsKubernetes() && latest(spec.Image) {
		return corev1.PullIfNotPresent
	}
	return ""
}

// workingDir is where a step starts: where it says, else in the source. A detached step without commands keeps what its
// image says.
func (l *lowering) workingDir(s *Step) string {
	dir := s.Spec.WorkingDir
	switch {
	case dir == "" && s.Detached && len(s.Spec.Commands) == 0:
		return ""
	case dir == "":
		return l.plan.Source.Full
	case !strings.HasPrefix(dir, "/"):
		return path.Join(l.plan.Source.Full, dir)
	default:
		return dir
	}
}

func (l *lowering) securityContext(s *Step) *corev1.SecurityContext {
	sc := &corev1.SecurityContext{}
	if yes, _ := privileged(s.Spec, l.options.PrivilegedImages); yes {
		sc.Privileged = &yes
	}
	sc.RunAsUser, sc.RunAsGroup = userOf(s.Spec)
	if l.options.Restricted {
		restrict(sc)
		if s.Clone {
			sc.RunAsUser = nonRoot()
		}
	}
	if *sc == (corev1.SecurityContext{}) {
		return nil
	}
	return sc
}

// helperSecurity is the security context of containers that the translation adds.
func (l *lowering) helperSecurity() *corev1.SecurityContext {
	if !l.options.Restricted {
		return nil
	}
	sc := &corev1.SecurityContext{RunAsUser: nonRoot()}
	restrict(sc)
	return sc
}

// nonRootUser runs what the translation adds, and the clone step, where nothing may run as root.
const nonRootUser = 65532

func nonRoot() *int64 {
	id := int64(nonRootUser)
	return &id
}

// restrict keeps a container to the Pod security standard restricted.
func restrict(sc *corev1.SecurityContext) {
	yes, no := true, false
	sc.Privileged = nil
	sc.AllowPrivilegeEscalation = &no
	sc.RunAsNonRoot = &yes
	sc.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	sc.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
}

// userOf is the user and the group that a step names, in numbers; nil where it names none, or one that only the image
// could resolve. Root is 0 everywhere.
func userOf(spec *drone.Step) (user, group *int64) {
	name, groupName, _ := strings.Cut(spec.User, ":")
	user, group = idOf(name), idOf(groupName)
	if spec.Group != nil {
		group = spec.Group
	}
	return user, group
}

func idOf(name string) *int64 {
	if name == "root" {
		name = "0"
	}
	if name == "" {
		return nil
	}
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil || id < 0 {
		return nil
	}
	return &id
}
