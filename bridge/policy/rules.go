package policy

import (
	"fmt"
	"path"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

func parent(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

func (p *Policy) problem(list *diag.List, code diag.Code, path, hint, format string, args ...any) {
	list.Add(diag.Diagnostic{
		Severity: diag.Error, Code: code, Position: p.at(path), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// check finds what is wrong between keys of one policy.
func (p *Policy) check() diag.List {
	var list diag.List
	p.checkStorage(&list)
	for i, t := range p.Tolerations {
		p.checkToleration(&list, fmt.Sprintf("tolerations.%d", i), t)
	}
	p.checkVolumes(&list)
	return list
}

// checkStorage finds settings of storage that each other leave without effect. What cannot be planned is found by Fit,
// which knows the runner's own settings.
func (p *Policy) checkStorage(list *diag.List) {
	if p.Storage.Layout != workspace.Pod {
		return
	}
	for _, key := range []string{"claims", "storage_class", "access_mode", "size", "spread"} {
		if at := "storage." + key; p.has(at) && (key != "spread" || p.Storage.Spread != nil && *p.Storage.Spread) {
			p.problem(list, CodeContradiction, at, "remove it, or choose the layout steps or chains",
				"%s has no effect: in the layout pod all files are in the pod, without a claim", at)
		}
	}
}

func (p *Policy) checkToleration(list *diag.List, at string, t Toleration) {
	switch {
	case p.strange[at]:
		return
	case t.Key == "" && t.Operator != "Exists":
		p.problem(list, CodeContradiction, at, "add a key, or operator: Exists for all taints", "a toleration without a key needs the operator Exists")
	case t.Operator == "Exists" && t.Value != "":
		p.problem(list, CodeContradiction, at+".value", "remove it, or use the operator Equal", "with the operator Exists there is no value")
	}
	if t.TolerationSeconds != nil && t.Effect != "NoExecute" {
		p.problem(list, CodeContradiction, at+".toleration_seconds", "remove it, or set effect: NoExecute", "only the effect NoExecute has seconds")
	}
}

func (p *Policy) checkVolumes(list *diag.List) {
	names, paths := map[string]bool{}, map[string]bool{}
	for i, v := range p.Volumes {
		at := fmt.Sprintf("volumes.%d", i)
		var kinds []string
		for _, kind := range []string{"config_map", "secret", "claim", "temp"} {
			if p.has(at + "." + kind) {
				kinds = append(kinds, kind)
			}
		}
		switch {
		case len(kinds) > 1:
			p.problem(list, CodeContradiction, at+"."+kinds[1], "keep one of them", "a volume has one kind, found %s", strings.Join(kinds, " and "))
		case len(kinds) == 0 && !p.strange[at]:
			p.problem(list, drone.CodeVolume, at, "add config_map, secret, claim or temp", "the volume has no kind")
		case len(kinds) == 1 && kinds[0] != "temp" && !p.has(at+"."+kinds[0]+".name") && !p.strange[at+"."+kinds[0]]:
			p.problem(list, drone.CodeVolume, at+"."+kinds[0], "add its name", "the %s of the volume has no name", kinds[0])
		}
		if v.Temp != nil && v.ReadOnly {
			p.problem(list, CodeContradiction, at+".read_only", "remove it", "a temp volume that nothing can be written to is always empty")
		}
		if v.Temp != nil && v.Temp.SizeLimit > 0 && v.Temp.Medium != "memory" {
			p.problem(list, CodeContradiction, at+".temp.size_limit", "remove it, or set medium: memory", "a size_limit counts only in memory")
		}
		for _, key := range []string{"name", "path"} {
			if !p.has(at+"."+key) && !p.strange[at] {
				p.problem(list, drone.CodeVolume, at, "add "+key, "the volume has no %s", key)
			}
		}
		if v.Name != "" && names[v.Name] {
			p.problem(list, drone.CodeDuplicateName, at+".name", "rename one", "two volumes are named %s", v.Name)
		}
		if place := path.Clean(v.Path); v.Path != "" {
			if paths[place] {
				p.problem(list, CodeContradiction, at+".path", "choose another path", "two volumes are mounted at %s", place)
			}
			paths[place] = true
		}
		names[v.Name] = true
	}
}

// checkTogether finds what is wrong between policies.
func (list Policies) checkTogether() diag.List {
	var out diag.List
	first := map[string]*Policy{}
	var all *Policy // the first that matches every build
	for _, p := range list {
		if same := first[p.Name]; same != nil && p.Name != "" {
			p.problem(&out, drone.CodeDuplicateName, "name", "rename one",
				"two policies are named %s; the other is in line %d", p.Name, same.at("name").Line)
		} else {
			first[p.Name] = p
		}
		if all != nil {
			out.Add(diag.Diagnostic{
				Severity: diag.Warning, Code: CodeUnreachable, Position: p.at(""),
				Message: fmt.Sprintf("no build gets %s: %s, in line %d, has no match and takes all", p.title(), all.title(), all.at("").Line),
				Hint:    "put the policy without match last",
			})
		} else if !p.has("match") {
			all = p
		}
	}
	return out
}

// Fit finds policies under which no run could be planned, with the runner's own settings below them. The settings by
// themselves are taken to be sound.
func (list Policies) Fit(below workspace.Options) diag.List {
	var out diag.List
	for _, p := range list {
		o := below
		p.Storage.over(&o)
		for _, problem := range workspace.Problems(o) {
			at := "storage"
			for _, key := range []string{"spread", "access_mode", "claims", "layout"} {
				if p.has("storage." + key) {
					at = "storage." + key
					break
				}
			}
			p.problem(&out, CodeContradiction, at, "", "%s: %s", at, problem.Text)
		}
	}
	return out
}
