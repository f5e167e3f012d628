package policy

import (
	"strings"
	"testing"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/google/go-cmp/cmp"

	"github.com/drone-tekton/drone-runner-tekton/translate"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

const head = "kind: policy\nname: p\n"

func report(list diag.List) string {
	var lines []string
	for _, d := range list {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

func parsed(t *testing.T, text string) Policies {
	t.Helper()
	all, list := Parse("p.yml", []byte(text))
	if len(list) > 0 {
		t.Fatalf("%s\n%s", report(list), text)
	}
	return all
}

// dronesOwn has each key that Drone's kubernetes runner reads from its file of policies.
const dronesOwn = `---
kind: policy
name: pulls
match:
  repo: [octo/**]
  branch: {include: [main], exclude: [wip/*]}
  event: pull_request
metadata:
  namespace: pulls
  labels: {team: red, count: 5, flag: true}
  annotations: {Example.com/Note: any text}
resources:
  request: {cpu: 100, memory: 100MiB}
  limit: {cpu: 1000, memory: 2GiB}
node_selector: {disktype: ssd, node-role.kubernetes.io/worker: ""}
service_account: builder
tolerations:
- {key: k, operator: Equal, value: v, effect: NoSchedule}
- {operator: Exists}
- {key: k, effect: NoExecute, toleration_seconds: 300}
---
kind: policy
name: default
`

// TestDronesPolicies: files of Drone's runner are read as they are.
func TestDronesPolicies(t *testing.T) {
	all := parsed(t, dronesOwn)
	p := all[0]
	if len(all) != 2 || p.Metadata.Namespace != "pulls" || p.Resources.Limit.Memory != 2<<30 || p.Metadata.Labels["count"] != "5" ||
		*p.Tolerations[2].TolerationSeconds != 300 || p.ServiceAccount != "builder" {
		t.Errorf("Parse = %+v", p)
	}
}

// TestOwnKeys reads what this runner adds.
func TestOwnKeys(t *testing.T) {
	p := parsed(t, head+`
allow: [namespace, node]
storage: {layout: chains, claims: shared, storage_class: fast, access_mode: ReadWriteMany, size: 10Gi, spread: true, localhost_pod: true}
retention: {keep: 0, keep_failed: 24h, per_repo: 5}
resources: {limit: {ephemeral_storage: 1GiB}}
volumes:
- {name: ca, path: /etc/ca.pem, sub_path: ca.pem, read_only: true, config_map: {name: bundle, default_mode: 0444}}
- {name: shm, path: /dev/shm, temp: {medium: memory, size_limit: 64MiB}}
- {name: scratch, path: /scratch, temp: {}}
- {name: keys, path: /keys, secret: {name: keys, optional: true}}
- {name: modules, path: /modules, claim: {name: modules, read_only: true}}
`)[0]
	if !p.Allows(Namespace) || p.Allows(ServiceAccount) || !*p.Storage.Spread || !*p.Storage.LocalhostPod || p.Resources.Limit.EphemeralStorage != 1<<30 {
		t.Errorf("Parse = %+v", p)
	}
	if r := p.Retention; *r.Keep != 0 || *r.KeepFailed != 24*time.Hour || *r.PerRepo != 5 {
		t.Errorf("retention = %+v", r)
	}
	if v := p.Volumes; len(v) != 5 || *v[0].ConfigMap.DefaultMode != 0o444 || v[1].Temp.SizeLimit != 64<<20 || v[2].Temp == nil || !v[4].Claim.ReadOnly {
		t.Errorf("volumes = %+v", v)
	}
}

// TestFaults: each fault is told once, with its place and a way out.
func TestFaults(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty file", "", "p.yml: error: the file has no policy; write a document of kind: policy [no-policy]"},
		{"comments only", "---\n# later\n", "p.yml: error: the file has no policy; write a document of kind: policy [no-policy]"},
		{"no YAML", "kind: policy\nmatch: [a\n", "p.yml:2:1: error: not valid YAML: a bracket [ that opens above is not closed here"},
		{"not UTF-8", "kind: \xff\n", "p.yml:1:7: error: the file is not UTF-8 text"},
		{"no map", "- kind: policy\n", "p.yml:1:1: error: a policy must be a map of keys, found a list; begin with kind: policy"},
		{"no kind", "name: p\n", "p.yml:1:1: error: the document has no kind; add kind: policy"},
		{"wrong kind", "kind: pipeline\nname: p\n", `p.yml:1:7: error: kind must be policy, found "pipeline"; put other documents into another file`},
		{"misspelt kind", "kind: polcy\nname: p\n", `found "polcy"; did you mean policy?`},
		{"text after the end", head + "...\nstorage: {}\n", "p.yml:4:1: error: Drone ignores the file after"},
		{"unknown key", head + "node_selektor: {a: b}\n", "p.yml:3:1: error: node_selektor is not a key of a policy; did you mean node_selector?"},
		{"unknown key, far from all", head + "x: 1\n", "x is not a key of a policy; the keys are allow, kind, match,"},
		{"Drone's sample key", head + "match: {repos: [a/b]}\n", "p.yml:3:9: error: repos is not a key of match; did you mean repo?"},
		{"condition without effect", head + "match: {paths: [a]}\n", "paths is not a key of match; the keys are action, branch, cron,"},
		{"pipelines' spelling", head + "resources: {limits: {cpu: 5}}\n", "limits is not a key of resources; did you mean limit?"},
		{"key twice", head + "name: q\n", "p.yml:3:1: error: name is given twice; keep one of the two"},
		{"label twice", head + "node_selector: {a: b, a: c}\n", "p.yml:3:23: error: node_selector.a is given twice"},
		{"empty value", head + "node_selector:\n", "node_selector has no value; give it one, or leave the key out"},
		{"empty match", head + "match: {}\n", "p.yml:3:8: error: match is empty, so the policy would hold for every build"},
		{"empty condition", head + "match: {repo: []}\n", "match.repo has no value"},
		{"empty exclusion", head + "match: {repo: {exclude: []}}\n", "match.repo.exclude has no value"},
		{"misspelt exclusion", head + "match: {repo: {excludes: [a]}}\n", "excludes is not a key of match.repo; did you mean exclude? possible are include and exclude"},
		{"exclusion that is no list", head + "match: {repo: {exclude: a/b}}\n", "match.repo.exclude must be a list of texts, found a text; start each item with a dash"},
		{"bad glob", head + "match: {repo: ['octo/[a']}\n", `p.yml:3:16: error: match.repo: "octo/[a" is no glob`},
		{"negation", head + "match: {repo: '!octo/cat'}\n", "use exclude"},
		{"no such event", head + "match: {event: [pul_request]}\n", `match.event: there is no event "pul_request"; did you mean pull_request? possible are push, pull_request, tag,`},
		{"namespace", head + "metadata: {namespace: My_Space}\n", `p.yml:3:23: error: metadata.namespace: "My_Space" cannot be the name of a namespace; use lower-case`},
		{"label's name", head + "metadata: {labels: {'a b': c}}\n", `metadata.labels: "a b" cannot be the name of a label`},
		{"label's value", head + "metadata: {labels: {a: 'b c'}}\n", `metadata.labels: "b c" cannot be the value of a label`},
		{"annotation's name", head + "metadata: {annotations: {'a b': c}}\n", `"a b" cannot be the name of a label or annotation`},
		{"the runner's own label", head + "metadata: {labels: {drone.io/ended: '1'}}\n", `"drone.io/ended" is one of the runner's own`},
		{"label of nodes", head + "node_selector: {a: [b]}\n", "node_selector.a must be a text, found a list"},
		{"service account", head + "service_account: Bob\n", `service_account: "Bob" cannot be the name of a service account`},
		{"cpu as Kubernetes writes it", head + "resources: {limit: {cpu: 500m}}\n", "resources.limit.cpu must be a whole number, found a text; write cpu: 500, in thousandths of a core"},
		{"cpu as a fraction", head + "resources: {limit: {cpu: 0.5}}\n", "resources.limit.cpu must be a whole number, found a fraction; write thousandths of a core"},
		{"cpu below 0", head + "resources: {limit: {cpu: -1}}\n", "resources.limit.cpu: -1 is no amount of CPU"},
		{"memory that is no size", head + "resources: {request: {memory: much}}\n", "resources.request.memory: much is no size; write a size such as 512MiB"},
		{"memory without a unit", head + "resources: {request: {memory: 512}}\n", "resources.request.memory: 512 is 512 bytes, with which no container can start; write a unit, such as 512MiB"},
		{"operator", head + "tolerations: [{key: a, operator: Equals}]\n", `tolerations.0.operator: "Equals" is not possible; did you mean Equal? possible are Equal and Exists`},
		{"effect", head + "tolerations: [{key: a, effect: NoSchedul}]\n", `"NoSchedul" is not possible; did you mean NoSchedule?`},
		{"taint", head + "tolerations: [{key: 'a b'}]\n", `tolerations.0.key: "a b" cannot be the key of a taint`},
		{"toleration of nothing", head + "tolerations: [{effect: NoSchedule}]\n", "p.yml:3:15: error: a toleration without a key needs the operator Exists; add a key"},
		{"value with Exists", head + "tolerations: [{key: a, operator: Exists, value: b}]\n", "with the operator Exists there is no value"},
		{"seconds without NoExecute", head + "tolerations: [{key: a, toleration_seconds: 5}]\n", "only the effect NoExecute has seconds"},
		{"seconds below 0", head + "tolerations: [{key: a, effect: NoExecute, toleration_seconds: -5}]\n", "-5 is not a whole number from 0"},
		{"choice", head + "allow: [service-account]\n", `allow: "service-account" is not possible; did you mean service_account? possible are namespace, service_account and node`},
		{"choices that are no list", head + "allow: node\n", "allow must be a list of texts, found a text; start each item with a dash"},
		{"layout", head + "storage: {layout: chain}\n", `storage.layout: "chain" is not possible; did you mean chains? possible are steps, chains and pod`},
		{"claims", head + "storage: {claims: private}\n", `storage.claims: "private" is not possible; possible are shared and per-volume`},
		{"access mode", head + "storage: {access_mode: RWX}\n", `storage.access_mode: "RWX" is not possible; possible are ReadWriteOnce and ReadWriteMany`},
		{"access mode of one pod", head + "storage: {access_mode: ReadWriteOncePod}\n", `"ReadWriteOncePod" is not possible; did you mean ReadWriteOnce?`},
		{"storage class", head + "storage: {storage_class: Fast Disk}\n", `storage.storage_class: "Fast Disk" cannot be the name of a storage class`},
		{"size", head + "storage: {size: 10GB!}\n", `storage.size: "10GB!" is no size; use an amount such as 10Gi or 500Mi`},
		{"size below 0", head + "storage: {size: -1Gi}\n", `storage.size: "-1Gi" is no size`},
		{"size without a unit", head + "storage: {size: 10}\n", `storage.size: "10" is a size of 10 bytes, in which no source has room; write a unit, such as 10Gi`},
		{"flag in quotes", head + "storage: {spread: 'true'}\n", "storage.spread must be true or false, found a text; write true or false, without quotes"},
		{"spread on one node's storage", head + "storage: {spread: true, access_mode: ReadWriteOnce}\n", "p.yml:3:11: error: storage.spread: tasks cannot spread over nodes with a claim of ReadWriteOnce"},
		{"spread in one pod", head + "storage: {layout: pod, spread: true}\n", "p.yml:3:24: error: storage.spread has no effect: in the layout pod all files are in the pod"},
		{"size in one pod", head + "storage: {layout: pod, size: 1Gi}\n", "storage.size has no effect"},
		{"days", head + "retention: {keep: 7d}\n", `retention.keep: "7d" is no time: there is no unit for days; write 168h`},
		{"time without a unit", head + "retention: {keep_failed: 3600}\n", `retention.keep_failed: "3600" is no time; use hours, minutes and seconds, such as 24h or 90m`},
		{"time below 0", head + "retention: {keep: -1h}\n", `"-1h" is no time`},
		{"runs below 0", head + "retention: {per_repo: -1}\n", "retention.per_repo: -1 is not a whole number from 0"},
		{"host path", head + "volumes: [{name: a, path: /a, host: {path: /etc}}]\n", "p.yml:3:31: error: a policy cannot mount folders of the node"},
		{"path of the node as Kubernetes writes it", head + "volumes: [{name: a, path: /a, hostPath: {path: /etc}}]\n", "a policy cannot mount folders of the node"},
		{"path as Kubernetes writes it", head + "volumes: [{name: a, mountPath: /a, temp: {}}]\n", "p.yml:3:21: error: mountPath is not a key of a volume; did you mean path?"},
		{"kind as Kubernetes writes it", head + "volumes: [{name: a, path: /a, emptyDir: {}}]\n", "did you mean temp?"},
		{"volume that is nothing", head + "volumes: [~]\n", "each item of volumes must be a map, found nothing"},
		{"map that is none", head + "retention: 24h\n", "retention must be a map, found a text; write its keys below it"},
		{"labels that are a list", head + "metadata: {labels: [a]}\n", "metadata.labels must be a map of texts, found a list; write name: value"},
		{"exclusion of nothing", head + "match: {repo: {exclude: }}\n", "match.repo.exclude has no value"},
		{"document without its line", head + "kind: policy\n", "kind is given twice; put a line --- between two documents"},
		{"a template", "{{- if .Values.x }}\nkind: policy\n{{- end }}\n", "p.yml:1:1: error: not valid YAML: a value begins with a bracket or brace"},
		{"volume without a kind", head + "volumes: [{name: a, path: /a}]\n", "p.yml:3:11: error: the volume has no kind; add config_map, secret, claim or temp"},
		{"volume of two kinds", head + "volumes: [{name: a, path: /a, claim: {name: a}, temp: {}}]\n", "p.yml:3:49: error: a volume has one kind, found claim and temp"},
		{"volume without a name", head + "volumes: [{path: /a, temp: {}}]\n", "the volume has no name; add name"},
		{"volume without a path", head + "volumes: [{name: a, temp: {}}]\n", "the volume has no path; add path"},
		{"secret without a name", head + "volumes: [{name: a, path: /a, secret: {optional: true}}]\n", "the secret of the volume has no name"},
		{"object's name", head + "volumes: [{name: a, path: /a, config_map: {name: A_B}}]\n", `"A_B" cannot be the name of a ConfigMap`},
		{"relative path", head + "volumes: [{name: a, path: cache, temp: {}}]\n", `volumes.0.path: "cache" is no place in a container; write an absolute path`},
		{"root as path", head + "volumes: [{name: a, path: /, temp: {}}]\n", `"/" would hide what containers need`},
		{"Tekton's path", head + "volumes: [{name: a, path: /tekton/bin, temp: {}}]\n", `"/tekton/bin" is taken; choose a path outside of /tekton`},
		{"path with a colon", head + "volumes: [{name: a, path: '/a:b', temp: {}}]\n", "has a colon"},
		{"two volumes of one name", head + "volumes: [{name: a, path: /a, temp: {}}, {name: a, path: /b, temp: {}}]\n", "p.yml:3:43: error: two volumes are named a"},
		{"two volumes at one path", head + "volumes: [{name: a, path: /a, temp: {}}, {name: b, path: /a/, temp: {}}]\n", "two volumes are mounted at /a"},
		{"path out of the volume", head + "volumes: [{name: a, path: /a, sub_path: ../b, temp: {}}]\n", `"../b" is no path inside a volume`},
		{"mode", head + "volumes: [{name: a, path: /a, secret: {name: a, default_mode: 400}}]\n", "400 is the mode 0620, since it does not begin with 0; write 0400"},
		{"temp that nothing can be written to", head + "volumes: [{name: a, path: /a, read_only: true, temp: {}}]\n", "is always empty"},
		{"limit on disk", head + "volumes: [{name: a, path: /a, temp: {size_limit: 1GiB}}]\n", "a size_limit counts only in memory"},
		{"two of one name", head + "match: {event: tag}\n---\n" + head, "p.yml:6:1: error: two policies are named p; the other is in line 2"},
		{"two for the rest", strings.Repeat("---\nkind: policy\nname: default\nmatch: {event: tag}\n", 2), "two policies are named default"},
		{"unreachable", head + "---\nkind: policy\nname: q\nmatch: {event: tag}\n",
			"p.yml:4:1: warning: no build gets the policy q: the policy p, in line 1, has no match and takes all; put the policy without match last"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, list := Parse("p.yml", []byte(tt.text))
			if len(list) != 1 || !strings.Contains(list[0].String(), tt.want) {
				t.Errorf("told:\n%s\nwant one with\n%s", report(list), tt.want)
			}
			if list.HasErrors() && all != nil {
				t.Error("there are policies in spite of the error")
			}
			for _, d := range list {
				if d.Hint == "" && d.Code != "contradiction" {
					t.Errorf("no way out: %s", d)
				}
			}
		})
	}
}

// TestAllFaultsAtOnce: a file is mended in one go.
func TestAllFaultsAtOnce(t *testing.T) {
	_, list := Parse("p.yml", []byte(`kind: policy
name: p
match: {event: [psh]}
storage: {layout: x, size: none}
---
kind: policy
name: p
alow: [node]
`))
	var got []int
	for _, d := range list {
		got = append(got, d.Line)
	}
	if diff := cmp.Diff([]int{3, 4, 4, 7, 8}, got); diff != "" {
		t.Errorf("lines (-want +got)\n%s\n%s", diff, report(list))
	}
}

// TestAnchors: what is written once can be used twice, with the place of the use or of the anchor.
func TestAnchors(t *testing.T) {
	all := parsed(t, "kind: policy\nname: a\nmatch: {event: tag}\nmetadata: {labels: &l {team: red}}\nnode_selector: *l\n")
	if all[0].NodeSelector["team"] != "red" {
		t.Errorf("node selector %v", all[0].NodeSelector)
	}
	all = parsed(t, "kind: policy\nname: a\nresources:\n  limit: &l {cpu: 5}\n  request: {<<: *l, memory: 4MiB}\n")
	if all[0].Resources.Request.CPU != 5 {
		t.Errorf("request %v", all[0].Resources.Request)
	}
}

// TestFind: the first policy that matches counts, then the one named default, with globs and exclusions as in Drone.
func TestFind(t *testing.T) {
	all := parsed(t, `
kind: policy
name: default
match: {repo: [nobody/nothing]}
---
kind: policy
name: releases
match: {event: [tag, promote], repo: {include: [octo/**], exclude: [octo/docs]}}
---
kind: policy
name: wip
match: {branch: {exclude: [main, release/*]}, event: push}
---
kind: policy
name: elsewhere
match: {instance: drone.example.org}
`)
	build := func(repo, event, branch, host string) translate.Facts {
		f := translate.Facts{Repo: api.Repo{Slug: repo}, Build: api.Build{Event: event, Target: branch}}
		f.System.Host = host
		return f
	}
	for _, tt := range []struct {
		facts translate.Facts
		want  string
	}{
		{build("octo/cat", "tag", "", ""), "releases"},
		{build("octo/docs", "tag", "", ""), "default"},
		{build("team/cat", "tag", "", ""), "default"},
		{build("octo/cat", "push", "topic", ""), "wip"},
		{build("octo/cat", "push", "main", ""), "default"},
		{build("octo/cat", "push", "release/1", ""), "default"},
		{build("octo/cat", "push", "release/1/fix", ""), "wip"},
		{build("octo/cat", "cron", "main", "drone.example.org"), "elsewhere"},
		{build("nobody/nothing", "tag", "", ""), "default"},
	} {
		if got := all.Find(tt.facts); got == nil || got.Name != tt.want {
			t.Errorf("%s of %s on %q gets %+v, want %s", tt.facts.Build.Event, tt.facts.Repo.Slug, tt.facts.Build.Target, got, tt.want)
		}
	}
	if got := parsed(t, head+"match: {event: tag}\n").Find(build("a/b", "push", "main", "")); got != nil {
		t.Errorf("a build that nothing matches gets %+v", got)
	}
}

// TestFit: what contradicts the runner's own settings is found before the first build.
func TestFit(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		below      workspace.Options
		want       string
	}{
		{"spread over storage of one node", "storage: {spread: true}\n", workspace.Options{AccessMode: "ReadWriteOnce"}, "p.yml:3:11: error: storage.spread: tasks cannot spread"},
		{"storage of one node under spread", "storage: {access_mode: ReadWriteOnce}\n", workspace.Options{Spread: true, AccessMode: "ReadWriteMany"}, "p.yml:3:11: error: storage.access_mode: tasks cannot spread"},
		{"one pod under spread", "storage: {layout: pod}\n", workspace.Options{Spread: true}, ""},
		{"spread with an existing claim", "storage: {spread: true}\n", workspace.Options{Existing: "files", AccessMode: "ReadWriteOnce"}, ""},
		{"nothing", "", workspace.Options{Spread: true}, ""},
	} {
		if got := report(parsed(t, head+tt.text).Fit(tt.below)); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRetentionSurvives: what is written on a run is read again.
func TestRetentionSurvives(t *testing.T) {
	p := parsed(t, head+"retention: {keep: 24h, keep_failed: 48h, per_repo: 0}\n")[0]
	annotations := map[string]string{"drone.io/keep-per-repo": "99", "other": "stays"}
	p.Mark(annotations)
	if diff := cmp.Diff(p.Retention, RetentionOf(annotations)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var none *Policy
	none.Mark(annotations)
	if diff := cmp.Diff(map[string]string{"other": "stays"}, annotations); diff != "" {
		t.Errorf("without a policy (-want +got)\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(dronesOwn)
	f.Add(head + "storage: {layout: pod, spread: true}\nvolumes: [{name: a, path: /, temp: {}}]\n")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, list := Parse("p.yml", []byte(text))
		if (len(all) > 0) == list.HasErrors() {
			t.Errorf("%d policies with\n%s", len(all), report(list))
		}
	})
}
