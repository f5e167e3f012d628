package translate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// environment is the variables of one run of a step: texts by name, and references to secrets, which win over texts.
type environment struct {
	texts   map[string]string
	secrets map[string]*corev1.SecretKeySelector
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

// environmentOf is the environment of a step that starts while the pipeline is, or is not, failing. A step's own
// environment wins over the common variables, then come its settings and its secrets. The docker runner sets the
// variables of build, stage and step again when a step starts, so that a step cannot change those there, and passes no
// variable that is empty.
func (l *lowering) environmentOf(s *Step, failing bool) environment {
	docker := !l.plan.Pipeline.IsKubernetes()
	env := environment{texts: maps.Clone(l.common[failing]), secrets: map[string]*corev1.SecretKeySelector{}}
	for name, v := range s.Spec.Environment {
		switch {
		case !l.isVariable(s.Spec.At(at("environment", name)), name):
		case v == nil: // Drone drops a variable without a value.
		case v.Secret != "":
			env.secrets[name] = l.secrets.reference(v.Secret)
		default:
			env.texts[name] = v.Value
		}
	}
	own := map[string]string{"DRONE_STEP_NAME": s.Name, "DRONE_STEP_NUMBER": strconv.Itoa(s.Number)}
	if docker {
		own = merged(l.plan.Facts.buildVariables(failing), l.plan.Facts.stageVariables(failing), own)
	}
	maps.Copy(env.texts, own)
	for key, v := range s.Spec.Settings {
		switch {
		case !l.isVariable(s.Spec.At(at("settings", key)), settingName(key)):
		case v == nil || v.Secret == "" && v.Value == nil: // Drone drops a setting without a value.
		case v.Secret != "":
			env.secrets[settingName(key)] = l.secrets.reference(v.Secret)
		default:
			env.texts[settingName(key)] = encodeSetting(v.Value)
		}
	}
	if s.Clone && l.options.Restricted { // its image's home belongs to root
		env.texts["HOME"] = "/tekton/home"
	}
	if l.givesNetrc(s) {
		for name, key := range netrcVariables {
			env.secrets[name] = &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: l.options.Netrc}, Key: key,
			}
		}
	}
	for name := range env.secrets {
		delete(env.texts, name)
	}
	if docker {
		maps.DeleteFunc(env.texts, func(_, v string) bool { return v == "" })
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

// list is the environment for a container, sorted by name. A text that Tekton would take for a reference needs a variable
// that holds a dollar sign, which then comes first.
func (e environment) list() (vars []corev1.EnvVar, dollar bool) {
	for _, name := range slices.Sorted(maps.Keys(e.texts)) {
		// Tekton's entrypoint replaces references to results of steps in the environment of the running process, where
		// nothing can be escaped, and ends the step where there is no such result. Such a text, say in a commit's message,
		// must not decide whether a build runs.
		value, d := literal(stepResult.ReplaceAllString(e.texts[name], "$$ (steps."))
		dollar = dollar || d
		vars = append(vars, corev1.EnvVar{Name: name, Value: value})
	}
	for _, name := range slices.Sorted(maps.Keys(e.secrets)) {
		vars = append(vars, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: e.secrets[name]}})
	}
	return vars, dollar
}

// without is the environment less the variables that every step has with the same value.
func (e environment) without(shared map[string]string) environment {
	texts := maps.Clone(e.texts)
	maps.DeleteFunc(texts, func(name, value string) bool {
		v, ok := shared[name]
		return ok && v == value
	})
	return environment{texts: texts, secrets: e.secrets}
}

// sharedBy is the common variables that all environments have with the same value. They are written once for the whole
// run: a hundred variables in each of a hundred steps would not fit into one object.
func sharedBy(common map[string]string, all []environment) map[string]string {
	shared := maps.Clone(common)
	for _, e := range all {
		maps.DeleteFunc(shared, func(name, value string) bool {
			v, ok := e.texts[name]
			return !ok || v != value
		})
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
