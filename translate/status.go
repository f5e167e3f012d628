package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// statusVolume holds the file that Drone's kubernetes runner keeps up to date with the state of the build, for plugins
// that read it there: /run/drone/env, one variable a line.
const (
	statusVolume = "drone-status"
	statusFolder = "/run/drone"
	statusFile   = "env"
)

// addStatusFile gives all steps of a task the file, made of the annotations of its pod as Drone's runner does. Pipelines
// of type docker do not have it. Neither has a pod that goes on after a failure: what the file says could not change, and
// plugins that miss it look at their environment.
func (l *lowering) addStatusFile(task *v1.EmbeddedTask, failing bool) {
	if !l.plan.Pipeline.IsKubernetes() || l.podsAreSidecars() {
		return
	}
	for _, name := range []string{"DRONE_BUILD_STATUS", "DRONE_BUILD_FINISHED", "DRONE_STAGE_STATUS", "DRONE_STAGE_FINISHED"} {
		task.Metadata.Annotations[name] = l.common[failing][name]
	}
	spec := &task.TaskSpec
	addVolume(spec, corev1.Volume{Name: statusVolume, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path:     statusFile,
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations"},
		}}},
	}})
	for i := range spec.Steps {
		spec.Steps[i].VolumeMounts = append(spec.Steps[i].VolumeMounts, corev1.VolumeMount{Name: statusVolume, MountPath: statusFolder})
	}
}

const (
	failedStepsName     = "failed-steps" // the helper step, and its result
	failedStepsVariable = "DRONE_FAILED_STEPS"
	statesParam         = "states" // of all tasks, in the run's order
)

// listFailed gets the states of tasks in one argument, then the names of each task's steps, and writes the names of the
// tasks that failed.
const listFailed = `out=; states=$1; shift
for state in $states; do
  if [ "$state" = Failed ]; then out="$out${out:+,}$1"; fi
  shift
done; printf '%s' "$out" > "$(step.results.failed-steps.path)"`

// failedStepsStep is a helper that finds out which steps have failed, for DRONE_FAILED_STEPS. Which they are is known only
// when the task starts, and only a container can turn Tekton's states into Drone's list. It is left out where no step of
// the task would look: one whose commands do not name the variable.
func (l *lowering) failedStepsStep(t *task) *v1.Step {
	wanted := slices.ContainsFunc(t.units, func(u *unit) bool {
		spec := u.step.Spec
		return len(spec.Commands) == 0 || slices.ContainsFunc(spec.Commands, func(c string) bool { return strings.Contains(c, failedStepsVariable) })
	})
	if !wanted {
		return nil
	}
	step := &v1.Step{
		Name: failedStepsName, Image: l.options.CloneImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"/bin/sh", "-c"}, Args: []string{listFailed, failedStepsName},
		Results:         []v1.StepResult{{Name: failedStepsName, Type: v1.ResultsTypeString}},
		OnError:         v1.Continue,
		SecurityContext: l.helperSecurity(),
	}
	return step
}

// addFailedSteps puts the helper before the steps of a task, tells it how each task of the main graph ended, and gives its
// result to the steps. A task that holds several steps is named by all of them: which one failed cannot be known there.
func (l *lowering) addFailedSteps(pt *v1.PipelineTask, helper v1.Step) {
	var states, names []string
	for _, t := range l.tasks {
		states = append(states, "$(tasks."+t.name+".status)")
		names = append(names, strings.Join(t.stepNames(), ","))
	}
	names, dollar := literals(names)
	if dollar {
		helper.Env = []corev1.EnvVar{dollarEnv}
	}
	addParam(pt, statesParam, strings.Join(states, " "))
	helper.Args = append(append(helper.Args, "$(params."+statesParam+")"), names...)
	variable := corev1.EnvVar{Name: failedStepsVariable, Value: "$(steps." + failedStepsName + ".results." + failedStepsName + ")"}
	for i := range pt.TaskSpec.Steps {
		pt.TaskSpec.Steps[i].Env = append(pt.TaskSpec.Steps[i].Env, variable)
	}
	pt.TaskSpec.Steps = slices.Insert(pt.TaskSpec.Steps, 0, helper)
}
