package compile

import (
	"maps"
	"slices"
	"strings"

	api "github.com/drone/drone-go/drone"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// Access says what pipelines may choose for themselves.
type Access struct {
	// Namespaces are those that the runner works in. A pipeline can run in no other. Empty is all.
	Namespaces []string
	// Rules give namespaces to the repositories that match one of the globs of owner/name; ** spans slashes.
	Rules map[string][]string
}

// check refuses a pipeline that asks for what is not its to choose. Drone's runner lets every repository name any
// namespace that has no rule, and any service account; here that takes a trusted repository, a rule, or a policy.
func (a Access) check(p *drone.Pipeline, repo *api.Repo, chosen *policy.Policy, namespace string) error {
	if account := p.ServiceAccountName; account != "" && !repo.Trusted && !chosen.Allows(policy.ServiceAccount) {
		return refuse("%s: service_account_name: the repository is not trusted, and no policy allows it to choose a service account;"+
			" ask an administrator to trust it, or leave the key out", p.At("service_account_name"))
	}
	if node := p.NodeName; node != "" && !repo.Trusted && !chosen.Allows(policy.Node) {
		return refuse("%s: node_name: the repository is not trusted, and no policy allows it to choose a node;"+
			" use node_selector", p.At("node_name"))
	}
	wanted := p.Metadata.Namespace
	if wanted == "" || wanted == namespace || chosen != nil && chosen.Metadata.Namespace != "" {
		return nil
	}
	at := p.At("metadata.namespace")
	if globs, ruled := a.Rules[wanted]; ruled {
		if !matchesAny(globs, repo.Slug) {
			return refuse("%s: pipeline of %s may not use the namespace %s, by the runner's rules", at, repo.Slug, wanted)
		}
	} else if !repo.Trusted && !chosen.Allows(policy.Namespace) {
		return refuse("%s: the repository is not trusted, and no rule or policy allows it the namespace %s", at, wanted)
	}
	if len(a.Namespaces) > 0 && !slices.Contains(a.Namespaces, wanted) {
		return refuse("%s: the runner does not work in the namespace %s, only in %s", at, wanted, strings.Join(a.Namespaces, ", "))
	}
	return nil
}

// Ruled are the namespaces that have a rule.
func (a Access) Ruled() []string { return slices.Sorted(maps.Keys(a.Rules)) }

func matchesAny(globs []string, slug string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, _ := doublestar.Match(glob, slug) // The globs were checked when they were read.
		return ok
	})
}
