package translate

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// checkForKubernetes finds values that go into objects as they are written, and that Kubernetes would refuse there.
// Where Tekton's webhook does not see them, a pod would fail to be created in the middle of a build.
func (l *lowering) checkForKubernetes() {
	p := l.plan.Pipeline
	for _, vars := range l.common {
		maps.DeleteFunc(vars, func(name, _ string) bool { return !l.isVariable(p, "environment", name, name) })
	}
	for k, v := range p.Metadata.Labels {
		l.refuse(p.At(at("metadata.labels", k)), "the label "+k+": "+v, validation.IsQualifiedName(k),
			validation.IsValidLabelValue(v))
	}
	for k := range p.Metadata.Annotations {
		l.refuse(p.At(at("metadata.annotations", k)), "the annotation "+k,
			validation.IsQualifiedName(strings.ToLower(k)))
	}
	for k, v := range p.NodeSelector {
		l.refuse(p.At(at("node_selector", k)), "the label of nodes "+k+": "+v, validation.IsQualifiedName(k),
			validation.IsValidLabelValue(v))
	}
	l.refuse(p.At("node_name"), "the node "+p.NodeName, validation.IsValidLabelValue(p.NodeName))
	if ns := l.namespace(); ns != "" {
		l.refuse(p.At("metadata.namespace"), "the namespace "+ns, validation.IsDNS1123Label(ns))
	}
	if name := p.ServiceAccountName; name != "" {
		l.refuse(p.At("service_account_name"), "the service account "+name, validation.IsDNS1123Subdomain(name))
	}
	for i, a := range p.HostAliases {
		pos := p.At(at("host_aliases", i))
		l.refuse(pos, fmt.Sprintf("the address %q", a.IP), notAddress(a.IP))
		for _, name := range a.Hostnames {
			l.refuse(pos, fmt.Sprintf("the host name %q", name), validation.IsDNS1123Subdomain(name))
		}
	}
	for i, a := range p.DNSConfig.Nameservers {
		l.refuse(p.At(at("dns_config.nameservers", i)), fmt.Sprintf("the address %q", a), notAddress(a))
	}
	for i, t := range p.Tolerations {
		l.refuse(p.At(at("tolerations", i)), "the toleration", notToleration(t))
	}
	for i, name := range p.DNSConfig.Searches {
		l.refuse(p.At(at("dns_config.searches", i)), fmt.Sprintf("the domain %q", name),
			validation.IsDNS1123Subdomain(strings.TrimSuffix(name, ".")))
	}
	for i, o := range p.DNSConfig.Options {
		if o.Name == "" {
			l.refuse(p.At(at("dns_config.options", i)), "an option", []string{"it must have a name"})
		}
	}
	l.checkVolumes()
	for _, s := range l.plan.Steps {
		l.checkStep(s)
	}
}

// isVariable reports whether a container can have a variable of a name, and tells where it cannot: at a key of a map.
func (l *lowering) isVariable(in interface{ At(string) diag.Position }, path, key, name string) bool {
	if len(validation.IsEnvVarName(name)) == 0 {
		return true
	}
	l.diags.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: CodeKubernetes, Position: in.At(at(path, key)),
		Message: fmt.Sprintf("the variable %q is left out, because Kubernetes does not allow the name", name),
		Hint:    "rename it",
	})
	return false
}

// checkVolumes looks at the volumes that exist, and at where volumes are mounted.
func (l *lowering) checkVolumes() {
	for _, v := range l.plan.Pipeline.Volumes {
		name, kind, mode := "", "", (*int32)(nil)
		switch {
		case v.Temp != nil:
			continue
		case v.Host != nil && l.options.Restricted:
			l.diags.Add(diag.Diagnostic{
				Severity: diag.Error, Code: CodePrivilege, Position: v.At("host"),
				Message: fmt.Sprintf("the volume %q is a path of the node, which the Pod security standard restricted forbids", v.Name),
				Hint:    "use a claim, or a namespace that allows it",
			})
			continue
		case v.Host != nil:
			if !strings.HasPrefix(v.Host.Path, "/") || slices.Contains(strings.Split(v.Host.Path, "/"), "..") {
				l.refuse(v.At("host"), fmt.Sprintf("the path %q of the volume %s", v.Host.Path, v.Name),
					[]string{"it must be absolute, without steps upwards"})
			}
			continue
		case v.Claim != nil:
			name, kind = v.Claim.Name, "claim"
		case v.ConfigMap != nil:
			name, kind, mode = v.ConfigMap.Name, "config_map", v.ConfigMap.DefaultMode
		case v.Secret != nil:
			name, kind, mode = v.Secret.Name, "secret", v.Secret.DefaultMode
		default:
			continue
		}
		l.refuse(v.At(kind), fmt.Sprintf("the name %q of the %s of the volume %s", name, kind, v.Name),
			validation.IsDNS1123Subdomain(name))
		if mode != nil && (*mode < 0 || *mode > 0o777) {
			l.refuse(v.At(kind), fmt.Sprintf("the mode %#o of the files of the volume %s", *mode, v.Name),
				[]string{"it must be between 0 and 0777"})
		}
	}
}

// checkStep looks at what a container is made of.
func (l *lowering) checkStep(s *Step) {
	spec := s.Spec
	if strings.TrimSpace(spec.Image) != spec.Image {
		l.refuse(spec.At("image"), fmt.Sprintf("the image %q", spec.Image),
			[]string{"it must not begin or end with a blank"})
	}
	user, group := userOf(spec)
	if l.options.Restricted && user != nil && *user == 0 {
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodePrivilege, Position: spec.At("user"),
			Message: fmt.Sprintf("step %q runs as root, which the Pod security standard restricted forbids", s.Name),
			Hint:    "choose another user, or use a namespace that allows it",
		})
	}
	for _, id := range []*int64{user, group} {
		if id != nil && (*id < 0 || *id > math.MaxInt32) {
			l.refuse(spec.At("user"), fmt.Sprintf("the number %d of a user or group", *id),
				[]string{"it must be between 0 and 2147483647"})
		}
	}
	for i, m := range spec.Volumes {
		if strings.Contains(m.Path, ":") {
			l.refuse(spec.At(at("volumes", i)), fmt.Sprintf("the path %q of a volume", m.Path),
				[]string{"it must not contain a colon"})
		}
	}
	for i, c := range spec.Commands {
		l.checkText(spec, at("commands", i), c, math.MaxInt) // long scripts are cut
	}
	for path, texts := range map[string][]string{"entrypoint": spec.Entrypoint, "command": spec.Command} {
		for i, text := range texts {
			l.checkText(spec, at(path, i), text, maxText)
			if stepResult.MatchString(text) && len(spec.Commands) == 0 {
				l.diags.Warnf(spec.At(at(path, i)), CodeEntrypoint,
					"Tekton takes %q for a result of a step, and ends step %q where there is none", text, s.Name)
			}
		}
	}
	for name, v := range spec.Environment {
		if v != nil {
			l.checkText(spec, at("environment", name), v.Value, maxText)
		}
	}
	for key, v := range spec.Settings {
		if v != nil && v.Value != nil {
			l.checkText(spec, at("settings", key), encodeSetting(v.Value), maxText)
		}
	}
}

// maxText is the longest text in bytes that Linux gives a process as one argument, or as one variable with its name.
const maxText = 128<<10 - 1

// checkText finds texts that no process can be started with.
func (l *lowering) checkText(spec *drone.Step, path, text string, limit int) {
	switch {
	case strings.Contains(text, "\x00"):
		l.diags.Errorf(spec.At(path), CodeKubernetes, "no process can be started with a text that holds the "+
			"character U+0000")
	case len(text) > limit:
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Error, Code: CodeKubernetes, Position: spec.At(path),
			Message: fmt.Sprintf("Linux starts no process with a text of %d KiB; at most 128 KiB are possible",
				len(text)>>10),
			Hint: "put it into a file of the repository",
		})
	}
}

func (l *lowering) refuse(pos diag.Position, what string, problems ...[]string) {
	for _, p := range slices.Concat(problems...) {
		l.diags.Errorf(pos, CodeKubernetes, "Kubernetes would refuse %s: %s", what, p)
	}
}

func notAddress(ip string) []string {
	if _, err := netip.ParseAddr(ip); err != nil {
		return []string{"it is not an IP address"}
	}
	return nil
}

func notToleration(t drone.Toleration) []string {
	var problems []string
	if !slices.Contains([]string{"", "Equal", "Exists"}, t.Operator) {
		problems = append(problems, "the operator must be Equal or Exists")
	}
	if t.Key == "" && t.Operator != "Exists" {
		problems = append(problems, "without a key the operator must be Exists")
	}
	if t.Operator == "Exists" && t.Value != "" {
		problems = append(problems, "with the operator Exists there must be no value")
	}
	if !slices.Contains([]string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}, t.Effect) {
		problems = append(problems, "the effect must be NoSchedule, PreferNoSchedule or NoExecute")
	}
	if t.TolerationSeconds != nil && t.Effect != "NoExecute" {
		problems = append(problems, "only the effect NoExecute has seconds")
	}
	if t.Key != "" {
		problems = append(problems, validation.IsQualifiedName(t.Key)...)
	}
	return append(problems, validation.IsValidLabelValue(t.Value)...)
}
