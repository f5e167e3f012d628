package translate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// at joins the parts of a path for Positions.At.
func at(parts ...any) string {
	var texts []string
	for _, p := range parts {
		texts = append(texts, fmt.Sprint(p))
	}
	return strings.Join(texts, ".")
}

// answerKeys says what becomes of keys that have no counterpart in Tekton, so that none is dropped in silence.
func (l *lowering) answerKeys() {
	l.answerServerKeys()
	l.answerPlatform()
	for _, s := range l.plan.Steps {
		l.answerUser(s)
		l.answerDocker(s)
		l.answerPrivilege(s)
		l.answerFailure(s)
		l.answerEntrypoint(s)
	}
	l.answerSource()
	l.checkForKubernetes()
}

// answerServerKeys tells what a Drone server would do with the pipeline, where there is none.
func (l *lowering) answerServerKeys() {
	p := l.plan.Pipeline
	if l.options.Server {
		return
	}
	if len(p.DependsOn) > 0 {
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Warning, Code: CodeServerOnly, Position: p.At("depends_on"),
			Message: fmt.Sprintf("Drone's server starts %s after %s; here each pipeline is a PipelineRun of its own, and whoever "+
				"creates them keeps the order", p.DisplayName(), strings.Join(p.DependsOn, ", ")),
			Hint: "create them one after the other, or use run, which takes them in the order of the file",
		})
	}
	if p.Concurrency.Limit > 0 {
		l.diags.Infof(p.At("concurrency"), CodeServerOnly, "Drone's server limits how many builds run at once; a PipelineRun does not")
	}
	if p.Metadata.Namespace == namespaceForEachRun {
		l.diags.Infof(p.At("metadata.namespace"), CodeRunnerOnly, "only the runner makes a namespace for each run; this one is in yours")
	}
	if len(p.Node) > 0 {
		l.diags.Infof(p.At("node"), CodeServerOnly, "Drone's server chooses a runner by node; for a node of the cluster use node_selector")
	}
}

func (l *lowering) answerPlatform() {
	p := l.plan.Pipeline.Platform
	if p.Variant != "" || p.Version != "" {
		l.diags.Infof(l.plan.Pipeline.At("platform"), CodePlatform,
			"nodes are chosen by platform.os and platform.arch; variant and version have no label in Kubernetes")
	}
	if name := l.plan.Pipeline.NodeName; name != "" {
		l.diags.Infof(l.plan.Pipeline.At("node_name"), CodePlatform,
			"the node %s is chosen by the label kubernetes.io/hostname, which on some clusters differs from the node's name", name)
	}
}

// answerUser tells of users that only an image can resolve: a Pod takes numbers.
func (l *lowering) answerUser(s *Step) {
	user, _ := userOf(s.Spec)
	if s.Spec.User == "" || user != nil {
		return
	}
	l.diags.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: CodeUser, Position: s.Spec.At("user"),
		Message: fmt.Sprintf("step %q runs as the user of its image, because Kubernetes takes no names: %q", s.Name, s.Spec.User),
		Hint:    "give the user's number",
	})
}

// answerDocker tells of keys of docker containers that a Pod does not have.
func (l *lowering) answerDocker(s *Step) {
	if l.plan.Pipeline.IsKubernetes() {
		return
	}
	spec := s.Spec
	for _, k := range []struct {
		given bool
		key   string
		hint  string
	}{
		{len(spec.Devices) > 0, "devices", "ask for the device as a resource of the node"},
		{len(spec.DNS) > 0, "dns", "use dns_config with type kubernetes"},
		{len(spec.DNSSearch) > 0, "dns_search", "use dns_config with type kubernetes"},
		{len(spec.ExtraHosts) > 0, "extra_hosts", "use host_aliases with type kubernetes"},
		{spec.Network != "", "network_mode", "every step is on the cluster's network"},
		{spec.MemSwap > 0, "memswap_limit", "Kubernetes limits memory alone"},
		{spec.ShmSize > 0, "shm_size", "mount a temp volume of medium memory at /dev/shm"},
	} {
		if k.given {
			l.diags.Add(diag.Diagnostic{
				Severity: diag.Warning, Code: CodeDockerOnly, Position: spec.At(k.key),
				Message: fmt.Sprintf("%s of step %q has no effect: a Pod has nothing like it for one container", k.key, s.Name),
				Hint:    k.hint,
			})
		}
	}
}

func (l *lowering) answerPrivilege(s *Step) {
	yes, reason := privileged(s.Spec, l.options.PrivilegedImages)
	if yes && l.options.Restricted {
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodePrivilege, Position: s.Spec.At("image"),
			Message: fmt.Sprintf("step %q runs privileged, which the Pod security standard restricted forbids", s.Name),
			Hint:    "build images without privilege, or use a namespace that allows it",
		})
	}
	if !yes && reason != "" {
		l.diags.Warnf(s.Spec.At("image"), CodePrivilege,
			"step %q does not run privileged, though its image usually does: %s", s.Name, reason)
	}
}

// answerFailure tells of rules that only a runner can keep.
func (l *lowering) answerFailure(s *Step) {
	if s.FailFast && !l.options.Server {
		l.diags.Infof(s.Spec.At("failure"), CodeRunnerOnly,
			"failure: fast of step %q ends what else is running only under the runner; a PipelineRun alone lets it finish", s.Name)
	}
	for i, c := range s.Spec.Commands {
		if !l.options.Server && strings.Contains(c, "exit 78") {
			l.diags.Infof(s.Spec.At(at("commands", i)), CodeRunnerOnly,
				"exit code 78 ends a pipeline as a success only under the runner; a PipelineRun alone fails")
		}
	}
}

func (l *lowering) answerEntrypoint(s *Step) {
	spec := s.Spec
	if l.plan.Pipeline.IsKubernetes() && len(spec.Entrypoint) > 0 && len(spec.Commands) > 0 {
		l.diags.Warnf(spec.At("entrypoint"), CodeEntrypoint, "step %q has an entrypoint, so its commands do not run", s.Name)
	}
	if spec.WorkingDir != "" && !strings.HasPrefix(spec.WorkingDir, "/") {
		l.diags.Warnf(spec.At("working_dir"), CodeEntrypoint,
			"working_dir of step %q is not absolute, which no container takes; it is taken from %s", s.Name, l.plan.Source.Full)
	}
}

// answerSource tells of a clone that cannot work.
func (l *lowering) answerSource() {
	p := l.plan.Pipeline
	if p.Clone.Disable || l.plan.Facts.Repo.HTTPURL != "" {
		return
	}
	l.diags.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: CodeNoSource, Position: p.At("clone"),
		Message: "no address to clone from is known, so the clone step will fail",
		Hint:    "pass --remote URL, or run inside the git checkout",
	})
}

// answerSecrets names what has to be in the cluster for the pipeline to run. Only names appear.
func (l *lowering) answerSecrets(b *Bundle) {
	if l.options.Server {
		return
	}
	p := l.plan.Pipeline
	create := "kubectl create secret"
	if namespace := b.PipelineRun.Namespace; namespace != "" {
		create += " -n " + namespace
	}
	if len(b.Secrets) > 0 {
		var literals []string
		for _, s := range b.Secrets {
			literals = append(literals, "--from-literal="+s.Key+"=…")
		}
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Info, Code: CodeSecretNeeded, Position: p.At(""),
			Message: fmt.Sprintf("the run reads %s from the Secret %s; a key that is missing is an unset variable", countOf(len(b.Secrets), "value"), b.SecretName),
			Hint:    create + " generic " + b.SecretName + " " + strings.Join(literals, " "),
		})
	}
	for _, s := range b.PullSecrets {
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Info, Code: CodeSecretNeeded, Position: p.At("image_pull_secrets"),
			Message: fmt.Sprintf("images are pulled with the Secret %s, which has to hold what the Drone secret %q holds", s.Key, s.Name),
			Hint:    create + " docker-registry " + s.Key + " --from-file=.dockerconfigjson=config.json",
		})
	}
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func (l *lowering) localhost(s *Step, path, service string) {
	hint := fmt.Sprintf("use the service's name, such as %s, or --layout=pod", service)
	if l.options.Server {
		hint = fmt.Sprintf("use the service's name, such as %s, or ask an administrator of the runner for a policy with localhost_pod", service)
	}
	l.diags.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: CodeLocalhost, Position: s.Spec.At(path),
		Message: fmt.Sprintf("step %q mentions localhost; services are Pods of their own here, and not there", s.Name),
		Hint:    hint,
	})
}
