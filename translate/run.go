package translate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// ManagedBy is the value of app.kubernetes.io/managed-by on all objects.
const ManagedBy = "drone-runner-tekton"

// Labels of all objects, cut to what labels may hold, for selection; and annotations with the full text, for people.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelRun       = "drone.io/run"
	LabelRepo      = "drone.io/repo"
	LabelBuild     = "drone.io/build"
	LabelStage     = "drone.io/stage"
	LabelBranch    = "drone.io/branch"
	LabelEvent     = "drone.io/event"
	LabelStep      = "drone.io/step"

	AnnotationRepo       = "drone.io/repo"
	AnnotationStage      = "drone.io/stage"
	AnnotationBranch     = "drone.io/branch"
	AnnotationCommit     = "drone.io/commit"
	AnnotationLink       = "drone.io/link"
	AnnotationStep       = "drone.io/step"
	AnnotationStepNumber = "drone.io/step-number"
)

// maxRunName leaves room for what Kubernetes and Tekton add to the name of a run.
const maxRunName = 45

// runName is the name of the PipelineRun: the one that was asked for, or repository, build and pipeline.
func runName(f Facts, p *drone.Pipeline, o Options) string {
	if o.Name != "" {
		return o.Name
	}
	parts := []string{f.Repo.Name}
	if f.Build.Number > 0 {
		parts = append(parts, strconv.FormatInt(f.Build.Number, 10))
	}
	name := slug(strings.Join(append(parts, p.DisplayName()), " "), maxRunName-len("run-"))
	if name[0] >= '0' && name[0] <= '9' { // names of Services begin with a letter
		name = "run-" + name
	}
	if o.Suffix != "" {
		name += "-" + o.Suffix
	}
	return name
}

// objectMeta is the metadata that all objects of a run share. What the pipeline asks for never replaces what the project
// relies on.
func (l *lowering) objectMeta() metav1.ObjectMeta {
	f, p := l.plan.Facts, l.plan.Pipeline
	labels := maps.Clone(p.Metadata.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	own := map[string]string{
		LabelManagedBy: ManagedBy,
		LabelRun:       l.name,
		LabelRepo:      f.Repo.Slug,
		LabelStage:     p.DisplayName(),
		LabelBranch:    f.Build.Target,
		LabelEvent:     f.Build.Event,
	}
	if f.Build.Number > 0 {
		own[LabelBuild] = strconv.FormatInt(f.Build.Number, 10)
	}
	for k, v := range own {
		if v := labelValue(v); v != "" {
			labels[k] = v
		}
	}
	annotations := maps.Clone(p.Metadata.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	for k, v := range map[string]string{
		AnnotationRepo: f.Repo.Slug, AnnotationStage: p.DisplayName(), AnnotationBranch: f.Build.Target,
		AnnotationCommit: f.Build.After, AnnotationLink: f.linkVariables()["DRONE_BUILD_LINK"],
	} {
		if v != "" {
			annotations[k] = v
		}
	}
	return metav1.ObjectMeta{Name: l.name, Namespace: l.namespace(), Labels: labels, Annotations: annotations}
}

// namespaceForEachRun is what Drone's kubernetes runner takes for the wish for a new namespace, which goes with the run.
const namespaceForEachRun = "drone-"

// namespace of all objects. Names of services contain it, so a run with services has to know it.
func (l *lowering) namespace() string {
	own := l.plan.Pipeline.Metadata.Namespace
	switch {
	case l.options.Namespace != "":
		return l.options.Namespace
	case own != "" && own != namespaceForEachRun:
		return own
	case len(l.pods) > 0 && !l.podsAreSidecars():
		return metav1.NamespaceDefault
	default:
		return ""
	}
}

// taskRunTemplate is what all pods of the run have in common. Tekton's affinity assistant, which decides the node where
// tasks share a claim, follows these and not the settings of single tasks.
func (l *lowering) taskRunTemplate(shared map[string]string) v1.PipelineTaskRunTemplate {
	p := l.plan.Pipeline
	no := false
	template := &pod.Template{
		NodeSelector: l.nodeSelector(),
		Tolerations:  tolerations(p.Tolerations),
		HostAliases:  append(hostAliases(p.HostAliases), l.sidecarAliases()...),
		DNSConfig:    l.dnsConfig(),
		// Variables of the namespace's Services would be in every step's environment.
		EnableServiceLinks: &no,
	}
	account := p.ServiceAccountName
	if account == "" {
		account = l.options.ServiceAccount
	}
	if p.ServiceAccountName == "" {
		template.AutomountServiceAccountToken = &no
	}
	for _, s := range pullSecrets(p) {
		template.ImagePullSecrets = append(template.ImagePullSecrets, corev1.LocalObjectReference{Name: s.Key})
	}
	if group := l.fsGroup(); group > 0 {
		template.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	}
	if l.options.Restricted {
		if template.SecurityContext == nil {
			template.SecurityContext = &corev1.PodSecurityContext{}
		}
		template.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	if l.storage.decision.AnyNode {
		template.TopologySpreadConstraints = l.spreadOverNodes()
	}
	vars := environment{own: shared}.list(nil, false)
	if p.IsKubernetes() {
		vars = append(vars, corev1.EnvVar{Name: "KUBERNETES_NODE", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"},
		}})
	}
	template.Env = vars
	return v1.PipelineTaskRunTemplate{ServiceAccountName: account, PodTemplate: template}
}

// spreadOverNodes asks the scheduler to use the nodes evenly for one run, where it can.
func (l *lowering) spreadOverNodes() []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelRun: labelValue(l.name)}},
	}}
}

// nodeSelector is where pods may run. A platform that the pipeline names is part of it; without that, an arm build lands
// on any node. A node's name is a label here: Tekton has no other way.
func (l *lowering) nodeSelector() map[string]string {
	p := l.plan.Pipeline
	selector := maps.Clone(p.NodeSelector)
	if selector == nil {
		selector = map[string]string{}
	}
	add := func(key, value string) {
		if _, ok := selector[key]; !ok && value != "" {
			selector[key] = value
		}
	}
	add(corev1.LabelOSStable, p.Platform.OS)
	add(corev1.LabelArchStable, p.Platform.Arch)
	add(corev1.LabelHostname, p.NodeName)
	if len(selector) == 0 {
		return nil
	}
	return selector
}

func tolerations(list []drone.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	for _, t := range list {
		out = append(out, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds,
		})
	}
	return out
}

func hostAliases(list []drone.HostAlias) []corev1.HostAlias {
	var out []corev1.HostAlias
	for _, a := range list {
		out = append(out, corev1.HostAlias{IP: a.IP, Hostnames: a.Hostnames})
	}
	return out
}

// dnsConfig is the pipeline's own, and the domain in which the run's services have their plain names.
func (l *lowering) dnsConfig() *corev1.PodDNSConfig {
	c := l.plan.Pipeline.DNSConfig
	config := &corev1.PodDNSConfig{Nameservers: c.Nameservers, Searches: slices.Clone(c.Searches)}
	for _, o := range c.Options {
		config.Options = append(config.Options, corev1.PodDNSConfigOption{Name: o.Name, Value: o.Value})
	}
	if len(l.pods) > 0 && !l.podsAreSidecars() {
		domain := fmt.Sprintf("%s.%s.svc.%s", l.name, l.namespace(), l.options.ClusterDomain)
		config.Searches = append([]string{domain}, config.Searches...)
	}
	if len(config.Nameservers)+len(config.Searches)+len(config.Options) == 0 {
		return nil
	}
	return config
}

// fsGroup is the group that may write to volumes. Without one, an image that does not run as root cannot write to a new
// volume of most kinds of storage.
func (l *lowering) fsGroup() int64 {
	if l.options.FSGroup > 0 {
		return l.options.FSGroup
	}
	for _, s := range l.plan.Steps {
		user, group := userOf(s.Spec)
		switch {
		case user == nil || *user == 0:
			continue
		case group != nil && *group > 0:
			return *group
		default:
			return *user
		}
	}
	if l.options.Restricted {
		return nonRootUser
	}
	return 0
}
