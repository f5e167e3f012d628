package status

import (
	"slices"
	"strings"
	"time"

	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// taskLabel is Tekton's label of TaskRuns with the pipeline task that they are of.
const taskLabel = "tekton.dev/pipelineTask"

// view is a question with its objects by name.
type view struct {
	Question
	taskRuns map[string]*v1.TaskRun // by pipeline task
	pods     map[string]*corev1.Pod
	skipped  map[string]v1.SkippingReason // by pipeline task
	behind   bool                         // what is known of pods is older than what is known of tasks
}

func newView(q Question) *view {
	v := &view{Question: q, taskRuns: map[string]*v1.TaskRun{}, pods: map[string]*corev1.Pod{}, skipped: map[string]v1.SkippingReason{}}
	for _, tr := range q.TaskRuns {
		v.taskRuns[tr.Labels[taskLabel]] = tr
	}
	for _, pod := range q.Pods {
		v.pods[pod.Name] = pod
	}
	if q.Run != nil {
		for _, s := range q.Run.Status.SkippedTasks {
			v.skipped[s.Name] = s.Reason
		}
	}
	return v
}

// done reports whether the run has come to its end. Tekton calls a cancelled run done before its tasks are.
func (v *view) done() bool {
	if v.Run == nil {
		return true
	}
	if !v.Run.IsDone() && v.Run.DeletionTimestamp == nil {
		return false
	}
	if v.Run.DeletionTimestamp != nil && v.Ending == nil {
		return false // Its end comes first.
	}
	return !slices.ContainsFunc(v.TaskRuns, func(tr *v1.TaskRun) bool { return !tr.IsDone() && !v.abandoned() })
}

// patience is how long after the end of a pipeline its tasks are waited for. A node that is lost never tells.
const patience = 2 * time.Minute

func (v *view) abandoned() bool { return v.Ending != nil && v.Now.Sub(v.Ending.At) > patience }

// since is the state of a step in the light of an earlier one.
func (v *view) since(known State, s *Step) State {
	if Final(known.Status) {
		return known
	}
	st := v.step(s)
	if known.Status == api.StatusRunning && (st.Status == api.StatusPending || st.Status == api.StatusSkipped) {
		return known // Its pod has gone. What that means shows at the end.
	}
	return st
}

// step is the state of one step: that of the unit that runs, or has run.
func (v *view) step(s *Step) State {
	state := State{Status: api.StatusSkipped}
	for _, u := range s.Units {
		found := v.unit(s, u)
		switch {
		case found.Status == api.StatusSkipped:
		case found.Status == api.StatusPending && found.Waiting == "" && found.Trouble == nil:
			if state.Status == api.StatusSkipped {
				state = found
			}
		default:
			return found
		}
	}
	return state
}

func (v *view) unit(s *Step, u Unit) State {
	if u.Task == "" {
		return v.beside(u)
	}
	if _, skipped := v.skipped[u.Task]; skipped {
		return State{Status: api.StatusSkipped}
	}
	tr := v.taskRuns[u.Task]
	switch {
	case tr == nil && v.Run == nil:
		return State{Status: api.StatusSkipped}
	case tr == nil:
		return State{Status: api.StatusPending}
	case s.Detached:
		return v.sidecar(tr, u)
	case s.IgnoreFailure:
		return notIgnored(v.inTask(tr, u))
	default:
		return v.inTask(tr, u)
	}
}

// notIgnored is the state of a step whose failure is to be ignored. Tekton's entrypoint ignores what a step's own process
// does. Where it cannot start one, as without a shell, or where the whole container ends, the run fails and goes on
// with the steps for failures: to Drone an error, which is not ignored either.
func notIgnored(st State) State {
	if st.Status == api.StatusFailing && st.fatal {
		st.Status, st.ExitCode = api.StatusError, exitError
		if st.Error == "" {
			st.Error = "the step could not be started, or was ended from outside; its log may say more"
		}
	}
	return st
}

// finish settles what is still open when the run is done, as Drone's runners do: what has not started is skipped, and
// what is detached has done its work.
func (v *view) finish(states []State) {
	for i := range states {
		st, step := &states[i], &v.Steps[i]
		if Final(st.Status) {
			continue
		}
		switch {
		case st.Status == api.StatusPending:
			st.Status = api.StatusSkipped
		case step.Detached && !v.killed():
			st.Status = api.StatusPassing
		case v.killed() || v.Run == nil:
			st.Status, st.ExitCode = api.StatusKilled, exitKilled
		default:
			st.Status, st.ExitCode, st.Error = api.StatusError, exitError, "the pod vanished before the step had ended"
		}
		st.Waiting, st.WaitsFor, st.Trouble = "", "", nil
		if st.Stopped.IsZero() {
			st.Stopped = v.Now
		}
	}
}

// killed reports whether the pipeline is ended from outside, rather than by what its steps did.
func (v *view) killed() bool {
	if v.Ending != nil {
		return v.Ending.Cause != EarlyExit
	}
	if v.Run == nil {
		return true
	}
	switch v1.PipelineRunReason(v.condition().Reason) {
	case v1.PipelineRunReasonCancelled, v1.PipelineRunReasonTimedOut:
		return true
	}
	return false
}

func (v *view) condition() apis.Condition {
	if v.Run != nil {
		if c := v.Run.Status.GetCondition(apis.ConditionSucceeded); c != nil {
			return *c
		}
	}
	return apis.Condition{}
}

// end is why the pipeline has to be ended by the runner: what a PipelineRun cannot express.
func (v *view) end(states []State) Cause {
	if v.Ending != nil {
		return ""
	}
	if v.Run != nil && v.Run.DeletionTimestamp != nil {
		return Removed
	}
	if v.Run == nil || v.Run.IsDone() {
		return ""
	}
	early, running, handlers := false, false, false
	for i, st := range states {
		step := v.Steps[i]
		switch {
		case step.FailFast && (st.Status == api.StatusFailing || st.Status == api.StatusError):
			return FailFast
		case isEarlyExit(st) && !step.Detached:
			early = true
		case step.Detached:
		case st.Status == api.StatusRunning:
			running = true
		case st.Status == api.StatusPending && len(step.Units) > 1:
			handlers = true // It always runs, early exit or not.
		}
	}
	if early && !running && !handlers {
		return EarlyExit
	}
	return ""
}

// stop are the tasks that can come to nothing: their pods are in trouble for too long, or they handle a failure that is
// none, since Tekton takes exit code 78 for one.
func (v *view) stop(states []State) []string {
	var tasks []string
	early := slices.ContainsFunc(states, isEarlyExit)
	for i, st := range states {
		for _, u := range v.Steps[i].Units {
			tr := v.taskRuns[u.Task]
			if u.Task == "" || tr == nil || tr.IsDone() || tr.Spec.Status == v1.TaskRunSpecStatusCancelled || slices.Contains(tasks, tr.Name) {
				continue
			}
			if st.Trouble != nil && st.Status == api.StatusError || early && v.Steps[i].OnlyOnFailure && !v.shared(u.Task, i) {
				tasks = append(tasks, tr.Name)
			}
		}
	}
	return tasks
}

// forgiveHandlers takes back steps for failures that Tekton had begun to run on account of an exit code 78, and that were
// stopped then: to Drone there was no failure.
func (v *view) forgiveHandlers(states []State) {
	if !slices.ContainsFunc(states, isEarlyExit) {
		return
	}
	for i, st := range states {
		if v.Steps[i].OnlyOnFailure && (st.Status == api.StatusKilled || st.Status == api.StatusError) {
			states[i] = State{Status: api.StatusSkipped, Output: st.Output}
		}
	}
}

func isEarlyExit(s State) bool { return s.ExitCode == exitEarly && s.Status == api.StatusPassing }

// shared reports whether another step, that has to run, is in the task.
func (v *view) shared(task string, self int) bool {
	for i, s := range v.Steps {
		if i != self && !s.OnlyOnFailure && slices.ContainsFunc(s.Units, func(u Unit) bool { return u.Task == task }) {
			return true
		}
	}
	return false
}

// verdict is the stage's status: that of the first step, in the order of the list, that did not succeed, as in Drone.
// A step that could not be run is an error even where its failure is ignored.
func (v *view) verdict(states []State) (status string, exit int, text string) {
	if v.Ending != nil {
		switch v.Ending.Cause {
		case Cancelled:
			return api.StatusKilled, exitKilled, ""
		case TimedOut:
			return api.StatusKilled, exitKilled, v.timeoutText()
		case Removed:
			return api.StatusKilled, exitKilled, "the PipelineRun was deleted"
		}
	}
	for i, st := range states {
		switch {
		case v.Steps[i].Detached:
		case st.Status == api.StatusKilled:
			if v1.PipelineRunReason(v.condition().Reason) == v1.PipelineRunReasonTimedOut {
				return api.StatusKilled, exitKilled, v.timeoutText()
			}
			return api.StatusKilled, exitKilled, ""
		case st.Status == api.StatusError:
			return api.StatusError, exitError, st.Error
		case st.Status == api.StatusFailing && !v.Steps[i].IgnoreFailure:
			return api.StatusFailing, 0, ""
		}
	}
	return v.ofRun()
}

func (v *view) timeoutText() string {
	text := "the pipeline ran longer than its timeout"
	if v.Run != nil && v.Run.Spec.Timeouts != nil && v.Run.Spec.Timeouts.Pipeline != nil {
		text += " of " + shortDuration(v.Run.Spec.Timeouts.Pipeline.Duration)
	}
	return text
}

// shortDuration is a duration without zero minutes and seconds at its end.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ofRun is the stage's status where no step has anything against it: what Tekton says of the run as a whole.
func (v *view) ofRun() (status string, exit int, text string) {
	c := v.condition()
	switch {
	case v.Ending != nil: // Only an early exit comes here.
		return api.StatusPassing, 0, ""
	case v.Run == nil:
		return api.StatusKilled, exitKilled, "the PipelineRun was deleted"
	case c.IsTrue() || c.IsUnknown():
		return api.StatusPassing, 0, ""
	}
	switch reason := v1.PipelineRunReason(c.Reason); reason {
	case v1.PipelineRunReasonCancelled:
		return api.StatusKilled, exitKilled, "the PipelineRun was cancelled"
	case v1.PipelineRunReasonTimedOut:
		return api.StatusKilled, exitKilled, v.timeoutText()
	case v1.PipelineRunReasonFailed:
		if v.onlyExpectedFailures() {
			return api.StatusPassing, 0, ""
		}
	}
	return api.StatusError, exitError, c.Reason + ": " + c.Message
}

// onlyExpectedFailures reports whether all tasks that Tekton takes for failed are those of steps that did well in Drone's
// eyes, and handlers that were stopped on their account.
func (v *view) onlyExpectedFailures() bool {
	for task, tr := range v.taskRuns {
		if !tr.IsDone() || tr.IsSuccessful() || tr.Spec.Status == v1.TaskRunSpecStatusCancelled {
			continue
		}
		known := slices.ContainsFunc(v.Steps, func(s Step) bool {
			return slices.ContainsFunc(s.Units, func(u Unit) bool { return u.Task == task })
		})
		if !known {
			return false
		}
	}
	return true
}
