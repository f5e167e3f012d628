package translate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// checkForKubernetes finds values that go into objects as they are written, and that Kubernetes would refuse there. Where
// Tekton's webhook does not see them, a pod would fail to be created in the middle of a build.
func (l *lowering) checkForKubernetes() {
	p := l.plan.Pipeline
	for _, vars := range l.common {
		maps.DeleteFunc(vars, func(name, _ string) bool { return !l.isVariable(p, "environment", name, name) })
	}
	for k, v := range p.Metadata.Labels {
		l.refuse(p.At(at("metadata.labels", k)), "the label "+k+": "+v, validation.IsQualifiedName(k), validation.IsValidLabelValue(v))
	}
	for k := range p.Metadata.Annotations {
		l.refuse(p.At(at("metadata.annotations", k)), "the annotation "+k, validation.IsQualifiedName(strings.ToLower(k)))
	}
	for k, v := range p.NodeSelector {
		l.refuse(p.At(at("node_selector", k)), "the label of nodes "+k+": "+v, validation.IsQualifiedName(k), validation.IsValidLabelValue(v))
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
	l.checkVolumes()
}

// isVariable reports whether a container can have a variable of a name, and tells where it cannot: at a key of a map.
func (l *lowering) isVariable(in interface{ At(string) diag.Position }, path, key, name string) bool {
	if len(validation.IsEnvVarName(name)) == 0 {
		return true
	}
	l.diags.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: CodeKubernetes, Position: in.At(at(path, key)),
		Message: fmt.Sprintf("the variable %q is left out, because Kubernetes does not allow the name", name), Hint: "rename it",
	})
	return false
}

// checkVolumes looks at the volumes that exist, and at where volumes are mounted.
func (l *lowering) checkVolumes() {
	for _, v := range l.plan.Pipeline.Volumes {
		name, kind := "", ""
		switch {
		case v.Temp != nil:
			continue
		case v.Host != nil:
			if v.Host.Path == "" || slices.Contains(strings.Split(v.Host.Path, "/"), "..") {
				l.refuse(v.At("host"), fmt.Sprintf("the path %q of the volume %s", v.Host.Path, v.Name), []string{"it must be a path without steps upwards"})
			}
			continue
		case v.Claim != nil:
			name, kind = v.Claim.Name, "claim"
		case v.ConfigMap != nil:
			name, kind = v.ConfigMap.Name, "config_map"
		case v.Secret != nil:
			name, kind = v.Secret.Name, "secret"
		default:
			continue
		}
		l.refuse(v.At(kind), fmt.Sprintf("the name %q of the %s of the volume %s", name, kind, v.Name), validation.IsDNS1123Subdomain(name))
	}
	for _, s := range l.plan.Steps {
		for i, m := range s.Spec.Volumes {
			if strings.Contains(m.Path, ":") {
				l.refuse(s.Spec.At(at("volumes", i)), fmt.Sprintf("the path %q of a volume", m.Path), []string{"it must not contain a colon"})
			}
		}
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
