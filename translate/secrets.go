package translate

import (
	"fmt"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// pullSecrets are the Drone secrets that a pipeline pulls images with, each as a Secret of its own. Drone finds secrets
// without regard to case.
func pullSecrets(p *drone.Pipeline) []SecretUse {
	var uses []SecretUse
	unique := newNames(maxTaskName)
	seen := map[string]bool{"": true}
	for _, name := range p.PullSecrets {
		if folded := strings.ToLower(name); !seen[folded] {
			seen[folded] = true
			uses = append(uses, SecretUse{Name: name, Key: unique.unique(name)})
		}
	}
	return uses
}

// ExplainSecrets says where the values of a file's secrets are, for a translation that cannot get them: in a secret store,
// or encrypted with a key that Drone's server keeps.
func ExplainSecrets(m *drone.Manifest) diag.List {
	var list diag.List
	for _, s := range m.Secrets {
		d := diag.Diagnostic{Severity: diag.Info, Code: CodeSecretSource, Position: s.At(""), Hint: "put its value into the Secret that the run reads"}
		switch {
		case s.Get.Path != "" || s.Get.Name != "":
			d.Message = fmt.Sprintf("Drone gets the secret %q from a secret store (path %q, name %q)", s.Name, s.Get.Path, s.Get.Name)
		case s.Data != "":
			d.Message = fmt.Sprintf("the secret %q is encrypted with the repository's key, which Drone's server has", s.Name)
		default:
			continue
		}
		list.Add(d)
	}
	return list
}
