package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// notRestricted is what Kubernetes' Pod security standard restricted has against a container of a pod.
func notRestricted(c *corev1.SecurityContext, pod *corev1.PodSecurityContext) []string {
	var problems []string
	if c == nil {
		c = &corev1.SecurityContext{}
	}
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	if c.Privileged != nil && *c.Privileged {
		problems = append(problems, "is privileged")
	}
	if c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation {
		problems = append(problems, "may become privileged")
	}
	if c.Capabilities == nil || !slices.Contains(c.Capabilities.Drop, "ALL") || len(c.Capabilities.Add) > 0 {
		problems = append(problems, "has capabilities")
	}
	nonRoot, user, profile := c.RunAsNonRoot, c.RunAsUser, c.SeccompProfile
	if nonRoot == nil {
		nonRoot = pod.RunAsNonRoot
	}
	if user == nil {
		user = pod.RunAsUser
	}
	if profile == nil {
		profile = pod.SeccompProfile
	}
	if nonRoot == nil || !*nonRoot || user != nil && *user == 0 {
		problems = append(problems, "may be root")
	}
	if profile == nil || profile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		problems = append(problems, "has no seccomp profile")
	}
	return problems
}

// Nothing of a run breaks the Pod security standard restricted where that is asked for: steps, helpers, services.
func TestRestrictedRuns(t *testing.T) {
	text := kubernetesHead + `services: [{name: s, image: i}]
steps:
- {name: server, image: i, detach: true, commands: [./server]}
- {name: a, image: i, user: 1000}
- {name: n, image: plugins/slack, when: {status: [success, failure]}}
`
	for _, layout := range []workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod} {
		b := converted(t, text, func(_ *Facts, o *Options) { o.Restricted, o.Workspace.Layout = true, layout })
		check := func(name string, c *corev1.SecurityContext, pod *corev1.PodSecurityContext) {
			if problems := notRestricted(c, pod); len(problems) > 0 {
				t.Errorf("layout %s: %s %s", layout, name, strings.Join(problems, ", "))
			}
		}
		run := b.PipelineRun.Spec
		for _, pt := range slices.Concat(run.PipelineSpec.Tasks, run.PipelineSpec.Finally) {
			for _, s := range pt.TaskSpec.Steps {
				check(fmt.Sprintf("the step %s of %s", s.Name, pt.Name), s.SecurityContext,
					run.TaskRunTemplate.PodTemplate.SecurityContext)
			}
			for _, s := range pt.TaskSpec.Sidecars {
				check("the sidecar "+s.Name, s.SecurityContext, run.TaskRunTemplate.PodTemplate.SecurityContext)
			}
		}
		for _, p := range b.Pods {
			for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
				check("the container "+c.Name+" of "+p.Name, c.SecurityContext, p.Spec.SecurityContext)
			}
		}
	}
}

// What the standard forbids is refused where it is asked for, at its place.
func TestWhatRestrictedRunsCannotHave(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"steps: [{name: a, image: i, privileged: true}]\n", "f:4:"},
		{"steps: [{name: a, image: plugins/docker}]\n", "f:4:19: error: "},
		{"steps: [{name: a, image: i, user: 0}]\n", "f:4:29: error: "},
		{"volumes: [{name: v, host: {path: /x}}]\nsteps: [{name: a, image: i, volumes: [{name: v, path: /x}]}]\n",
			"f:4:"},
	} {
		b, list := convert(t, kubernetesHead+test.text, func(_ *Facts, o *Options) { o.Restricted = true })
		if b != nil || !strings.Contains(report(list), test.want) || !list.HasErrors() {
			t.Errorf("of %swas said: %s, want an error at %s", test.text, report(list), test.want)
		}
	}
}
