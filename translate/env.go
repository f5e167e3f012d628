package translate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// environment is the variables of one run of a step: the common ones, those that are its own and win over them, and
// references to secrets, which win over texts.
type environment struct {
	common  map[string]string // not changed: all steps have the same map
	own     map[string]string
	secrets map[string]*corev1.SecretKeySelector
	// withoutEmpty is an environment without variables that are empty.
	withoutEmpty bool
}

// commonVariables are the variables that Drone gives to every step of a pipeline, later ones winning: the runner's own,
// build parameters, the pipeline's environment, and then what Drone knows, which nothing above can change.
func (p *Plan) commonVariables(o Options, failing bool) map[string]string {
	f := p.Facts
	vars := merged(o.Environment, f.Build.Params, p.Pipeline.Environment,
		f.systemVariables(), f.repoVariables(), f.buildVariables(failing), f.stageVariables(failing), f.linkVariables(),
		gitVariables(p.Pipeline, f),
		map[string]string{"DRONE_WORKSPACE": p.Source.Full})
	if !p.Pipeline.IsKubernetes() {
		vars["DRONE_WORKSPACE_BASE"] = p.Source.Base
		vars["DRONE_WORKSPACE_PATH"] = p.Source.Path
	}
	return vars
}

// fixedVariables are those of the common variables that a step cannot change: the docker runner sets the variables of
// build and stage once more when a step starts.
func (p *Plan) fixedVariables(failing bool) map[string]string {
	if p.Pipeline.IsKubernetes() {
		return nil
	}
	return merged(p.Facts.buildVariables(failing), p.Facts.stageVariables(failing))
}

// environmentOf is the environment of a step that starts while the pipeline is, or is not, failing. A step's own
// environment wins over the common variables, then come its settings and its secrets. The docker runner passes no
// variable that is empty.
func (l *lowering) environmentOf(s *Step, failing bool) environment {
	env := environment{
		common: l.common[failing], own: map[string]string{}, secrets: map[string]*corev1.SecretKeySelector{},
		withoutEmpty: !l.plan.Pipeline.IsKubernetes(),
	}
	// In order, since the first spelling of a secret's name gives it its key.
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Environment)) {
		v := s.Spec.Environment[name]
		_, fixed := l.fixed[failing][name]
		switch {
		case !l.isVariable(s.Spec, "environment", name, name):
		case v == nil: // Drone drops a variable without a value.
		case v.Secret != "":
			env.secrets[name] = l.secrets.reference(v.Secret)
		case !fixed:
			env.own[name] = v.Value
		}
	}
	env.own["DRONE_STEP_NAME"] = s.Name
	env.own["DRONE_STEP_NUMBER"] = strconv.Itoa(s.Number)
	for _, key := range slices.Sorted(maps.Keys(s.Spec.Settings)) {
		v, name := s.Spec.Settings[key], settingName(key)
		switch {
		case !l.isVariable(s.Spec, "settings", key, name):
		case v == nil || v.Secret == "" && v.Value == nil: // Drone drops a setting without a value.
		case v.Secret != "":
			env.secrets[name] = l.secrets.reference(v.Secret)
		default:
			env.own[name] = encodeSetting(v.Value)
		}
	}
	if s.Clone && l.options.Restricted { // its image's home belongs to root
		env.own["HOME"] = "/tekton/home"
	}
	if l.givesNetrc(s) {
		for name, key := range netrcVariables {
			env.secrets[name] = &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: l.options.Netrc}, Key: key,
			}
		}
	}
	return env
}

// netrcVariables are the credentials for cloning, by variable, with the keys of their Secret.
var netrcVariables = map[string]string{
	"DRONE_NETRC_MACHINE":  NetrcMachine,
	"DRONE_NETRC_USERNAME": NetrcUsername,
	"DRONE_NETRC_PASSWORD": NetrcPassword,
	"DRONE_NETRC_FILE":     NetrcFile,
}

// Keys of the Secret that Options.Netrc names.
const (
	NetrcMachine  = "machine"
	NetrcUsername = "username"
	NetrcPassword = "password"
	NetrcFile     = "file" // a line of a netrc file: machine M login L password P
)

func (l *lowering) givesNetrc(s *Step) bool {
	return l.options.Netrc != "" && (s.Clone || !l.options.NetrcCloneOnly)
}

// text is the value of a variable, where there is one that is no secret.
func (e environment) text(name string) (string, bool) {
	if e.secrets[name] != nil {
		return "", false
	}
	v, ok := e.own[name]
	if !ok {
		v, ok = e.common[name]
	}
	return v, ok && !(v == "" && e.withoutEmpty)
}

// list is the environment for a container, sorted by name, without variables that are shared with the same value. A
// text that Tekton would take for a reference needs a variable that holds a dollar sign, which then comes first; it
// does so too where the container's command needs it.
func (e environment) list(shared map[string]string, dollar bool) []corev1.EnvVar {
	var vars []corev1.EnvVar
	add := func(name string) {
		value, ok := e.text(name)
		if same, isShared := shared[name]; !ok || isShared && same == value {
			return
		}
		// Tekton's entrypoint replaces references to results of steps in the environment of the running process, where
		// nothing can be escaped, and ends the step where there is no such result. Such a text, say in a commit's
		// message, must not decide whether a build runs.
		value, d := literal(strings.ReplaceAll(value, "$(steps.", "$ (steps."))
		dollar = dollar || d
		vars = append(vars, corev1.EnvVar{Name: name, Value: value})
	}
	for name := range e.common {
		if _, ok := e.own[name]; !ok {
			add(name)
		}
	}
	for name := range e.own {
		add(name)
	}
	for name, key := range e.secrets {
		vars = append(vars, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: key}})
	}
	slices.SortFunc(vars, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	if dollar {
		vars = slices.Insert(vars, 0, dollarEnv)
	}
	return vars
}

// shareVariables takes the common variables that all steps have with the same value out of their environments. They are
// written once for the whole run: a hundred variables in each of a hundred steps would not fit into one object.
func (l *lowering) shareVariables() map[string]string {
	shared := maps.Clone(l.common[false])
	keep := func(name string, value string, ok bool) {
		if !ok || shared[name] != value {
			delete(shared, name)
		}
	}
	failing := false
	for _, u := range l.units {
		failing = failing || u.failing
		for name := range u.env.own {
			v, ok := u.env.text(name)
			keep(name, v, ok)
		}
		for name := range u.env.secrets {
			delete(shared, name)
		}
	}
	for name, value := range shared {
		if value == "" && !l.plan.Pipeline.IsKubernetes() {
			delete(shared, name)
		} else if failing {
			v, ok := l.common[true][name]
			keep(name, v, ok)
		}
	}
	if l.podsAreSidecars() {
		// Only when a step of the one pod starts is the state known. Tekton puts the variables that all pods share
		// behind a step's own, so they would win over it.
		for _, name := range statusVariables {
			delete(shared, name)
		}
	}
	rest := map[bool]map[string]string{}
	for failing, common := range l.common {
		rest[failing] = maps.Clone(common)
		maps.DeleteFunc(rest[failing], func(name, value string) bool {
			v, ok := shared[name]
			return ok && v == value
		})
	}
	for _, u := range l.units {
		u.env.common = rest[u.failing]
	}
	return shared
}

// secretKeys maps names of Drone secrets to keys of the Kubernetes Secret. Drone finds its secrets without regard to
// case, so two spellings are one secret, under the first.
type secretKeys struct {
	secret string
	keys   map[string]string // by the name in lower case
	used   []string          // names as first written, in order
}

func (k *secretKeys) reference(name string) *corev1.SecretKeySelector {
	folded := strings.ToLower(name)
	key, ok := k.keys[folded]
	if !ok {
		key = secretKey(name)
		k.keys[folded] = key
		k.used = append(k.used, name)
	}
	// A secret that is missing is an empty text to Drone, not an error.
	optional := true
	return &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: k.secret}, Key: key, Optional: &optional,
	}
}

// secretKey is the name itself where Kubernetes allows it as a key, else with a hash for what had to go.
func secretKey(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, name)
	if clean == name && name != "." && !strings.HasPrefix(name, "..") && len(name) <= 253 {
		return name
	}
	return strings.Trim(clean[:min(len(clean), 200)], ".") + "-" + hash(name)
}
