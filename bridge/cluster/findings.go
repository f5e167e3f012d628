package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// Verdict says what a finding means for runs.
type Verdict string

// The verdicts, from good to bad.
const (
	OK      Verdict = "ok"
	Note    Verdict = "note"
	Unknown Verdict = "unknown"
	Fails   Verdict = "FAILS"
)

// Finding is one line of what was found.
type Finding struct {
	Subject string
	Found   string
	Verdict Verdict
	Means   string // what follows for runs
}

// oldestTekton is the oldest release whose API has all that runs use.
var oldestTekton = semver.MustParse("1.0.0")

// Findings are what the facts mean for runs in the namespace, in the order to read them, and what the planner of files
// would do there with the options.
func (f Facts) Findings(o workspace.Options) []Finding {
	findings := []Finding{
		{"Kubernetes", f.Kubernetes, OK, "reached"},
		f.tekton(), f.coschedule(),
		f.flag("enable-api-fields", "beta", "stable", "tasks whose steps mount different volumes are refused"),
		f.flag("await-sidecar-readiness", "true", "false", "sidecars of the layout pod may start after the steps"),
		f.sidecars(), f.security(), f.namespace(), f.permissions(),
	}
	findings = append(findings, f.classes()...)
	return append(findings, f.planned(o)...)
}

// planned is what the planner does with a pipeline that has all that matters to it: a fork, a join, a volume beside the
// source, and a handler of failures.
func (f Facts) planned(o workspace.Options) []Finding {
	step := func(name string, needs ...string) workspace.Step {
		return workspace.Step{Name: name, Needs: needs, Mounts: "all", Volumes: []string{"source", "temp"}}
	}
	d := workspace.Plan(workspace.Request{
		Options: o, Cluster: f.Known(), Volumes: []workspace.Volume{{Name: "source"}, {Name: "temp"}},
		Steps:    []workspace.Step{step("clone"), step("a", "clone"), step("b", "clone"), step("join", "a", "b")},
		Handlers: [][]workspace.Step{{step("on failure")}},
	})
	var out []Finding
	add := func(list []workspace.Reason, v Verdict) {
		for _, r := range list {
			out = append(out, Finding{"plan", r.Topic, v, r.Text})
		}
	}
	add(d.Reasons, OK)
	add(d.Warnings, Note)
	add(d.Problems, Fails)
	return out
}

func (f Facts) tekton() Finding {
	found := Finding{Subject: "Tekton Pipelines", Found: f.Tekton, Verdict: OK, Means: "supported"}
	switch v, err := semver.NewVersion(f.Tekton); {
	case !f.Served:
		found.Found, found.Verdict, found.Means = "not installed", Fails, "install Tekton Pipelines: the API server does not know tekton.dev/v1"
	case f.Tekton == "" || err != nil:
		found.Found, found.Verdict, found.Means = "installed", Unknown, "its version cannot be read: "+f.Unread["tekton"]
	case v.LessThan(oldestTekton):
		found.Verdict, found.Means = Fails, "runs use fields of release 1.0 and later"
	case v.Major() == 1 && v.Minor() == 13 && v.Patch() == 0:
		found.Verdict, found.Means = Note, "this release starts pods slowly; a later one does not"
	case v.Major() == 1 && v.Minor() < 12:
		found.Verdict, found.Means = Note, "supported; claims stay until their run is deleted, and reasons of failures are coarse"
	}
	return found
}

func (f Facts) coschedule() Finding {
	found := Finding{Subject: "coschedule", Found: string(f.Storage.Coschedule), Verdict: OK}
	switch f.Storage.Coschedule {
	case "":
		found.Verdict, found.Means = Unknown, "assumed to be workspaces, Tekton's default"
	case workspace.CoscheduleWorkspaces:
		found.Means = "steps that share a claim run on one node; --spread with ReadWriteMany lifts that"
	case workspace.CoscheduleDisabled:
		found.Verdict, found.Means = Note, "steps run on any node: use ReadWriteMany, or the layout pod"
	default:
		found.Means = "all steps of a run are on one node"
	}
	return found
}

// flag compares one of Tekton's feature flags with the value at which something is missing.
func (f Facts) flag(name, standard, bad, means string) Finding {
	value := f.Flags[name]
	switch {
	case f.Flags == nil:
		return Finding{name, "", Unknown, "assumed to be " + standard + ", Tekton's default"}
	case value == bad:
		return Finding{name, value, Note, means}
	case value == "":
		value = standard
	}
	return Finding{name, value, OK, "as runs need it"}
}

// sidecars tells whether pods get sidecars that the steps have to wait for. Runs start without a wait, unless told.
func (f Facts) sidecars() Finding {
	const subject = "injected sidecars"
	switch {
	case f.Unread["namespace"] != "":
		return Finding{subject, "", Unknown, "use --injected-sidecars where a service mesh injects some"}
	case f.Injects != "":
		return Finding{subject, f.Injects, Note, "use --injected-sidecars, so that steps wait until these run"}
	default:
		return Finding{subject, "none asked for", OK, "steps start without waiting for Tekton's controller"}
	}
}

func (f Facts) security() Finding {
	found := Finding{Subject: "Pod security", Found: f.PodSecurity, Verdict: OK, Means: "privileged steps are allowed"}
	switch f.PodSecurity {
	case "":
		found.Found, found.Means = "none enforced", "privileged steps are allowed, for trusted repositories"
	case "baseline":
		found.Verdict, found.Means = Note, "privileged steps and host volumes are refused"
	case "restricted":
		found.Verdict, found.Means = Note, "use --restricted, images that do not run as root, and Tekton's flag set-security-context: true"
		if on, err := strconv.ParseBool(f.Flags["set-security-context"]); f.Flags != nil && (err != nil || !on) {
			found.Verdict, found.Means = Fails, "Tekton's own containers are refused: set its feature flag set-security-context to true"
		}
	}
	return found
}

func (f Facts) namespace() Finding {
	if !f.Exists {
		return Finding{"namespace", f.Namespace, Fails, "it does not exist; kubectl create namespace " + f.Namespace}
	}
	if reason := f.Unread["namespace"]; reason != "" {
		return Finding{"namespace", f.Namespace, Unknown, reason}
	}
	return Finding{"namespace", f.Namespace, OK, "runs are created here"}
}

func (f Facts) classes() []Finding {
	if reason := f.Unread["storage"]; reason != "" {
		return []Finding{{"storage classes", "", Unknown, reason}}
	}
	if len(f.Storage.Classes) == 0 {
		return []Finding{{"storage classes", "none", Note, "no claim is ever filled: use --layout=pod, or install a provisioner"}}
	}
	var out []Finding
	hasDefault := false
	for _, c := range f.Storage.Classes {
		found := Finding{"storage class", c.Name, OK, "for --storage-class " + c.Name}
		if c.Default {
			hasDefault = true
			found.Means = "the default: claims are made by it"
		}
		if c.Immediate {
			found.Verdict = Note
			found.Means += "; it places volumes before it knows the pods"
		}
		out = append(out, found)
	}
	if !hasDefault {
		out = append(out, Finding{"default storage class", "none", Note, "name a class with --storage-class, or use --layout=pod"})
	}
	return out
}

func (f Facts) permissions() Finding {
	switch reason := f.Unread["permissions"]; {
	case reason != "":
		return Finding{"permissions", "", Unknown, reason}
	case len(f.Denied) > 0:
		return Finding{"permissions", fmt.Sprintf("%d missing", len(f.Denied)), Fails, "a runner needs " + strings.Join(f.Denied, ", ")}
	default:
		return Finding{"permissions", fmt.Sprintf("%d of %d", len(needed), len(needed)), OK, "all that a runner needs"}
	}
}
