package drone

import (
	"testing"

	"github.com/drone/drone-yaml/yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// parseOne reads a file that has one pipeline and no errors.
func parseOne(t *testing.T, text string) *Pipeline {
	t.Helper()
	m, list := Parse("f", []byte(text))
	if list.HasErrors() || len(m.Pipelines) != 1 {
		t.Fatalf("Parse of\n%s: %d pipelines, %v", text, len(m.Pipelines), list)
	}
	return m.Pipelines[0]
}

func TestWholeKubernetesPipeline(t *testing.T) {
	got := parseOne(t, `kind: pipeline
type: kubernetes
name: p
clone: {disable: true, depth: 50, skip_verify: yes, trace: true}
platform: {os: linux, arch: arm64}
environment: {A: 1.10, B: on}
workspace: {path: /x}
resources: {requests: {cpu: 1000, memory: 1GiB}}
metadata: {namespace: n, labels: {a: b}, annotations: {c: d}}
node_name: n
node_selector: {a: b}
service_account_name: s
tolerations:
- {key: k, operator: Equal, value: v, effect: NoSchedule, tolerationseconds: 5}
- {key: l, toleration_seconds: 6}
dns_config: {nameservers: [1.1.1.1], searches: [x], options: [{name: ndots, value: "2"}, {name: edns0}]}
host_aliases: [{ip: 1.2.3.4, hostnames: [h]}]
image_pull_secrets: [r]
trigger: {event: push}
steps:
- name: a
  image: i
  user: 0644
  group: 1000
  resources: {limits: {cpu: 500, memory: 512MB}}
  volumes: [{name: v, path: /v, sub_path: s}]
volumes:
- {name: v, claim: {name: c, read_only: true}}
- {name: w, config_map: {name: c, default_mode: 0644}}
- {name: x, secret: {name: s, optional: true}}
- {name: y, host: {path: /h}}
- {name: z, temp: {medium: memory, size_limit: 1g}}
`)
	number := func(n int64) *int64 { return &n }
	mode := int32(0o644)
	two := "2"
	want := &Pipeline{
		Kind: "pipeline", Type: "kubernetes", Name: "p",
		Clone:              Clone{Disable: true, Depth: 50, SkipVerify: true, Trace: true},
		Platform:           Platform{OS: "linux", Arch: "arm64"},
		Environment:        map[string]string{"A": "1.10", "B": "on"},
		Workspace:          Workspace{Path: "/x"},
		Resources:          Resources{Requests: ResourceList{CPU: 1000, Memory: 1 << 30}},
		Metadata:           Metadata{Namespace: "n", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}},
		NodeName:           "n",
		NodeSelector:       map[string]string{"a": "b"},
		ServiceAccountName: "s",
		Tolerations: []Toleration{
			{Key: "k", Operator: "Equal", Value: "v", Effect: "NoSchedule", TolerationSeconds: number(5)},
			{Key: "l", TolerationSeconds: number(6)},
		},
		DNSConfig: DNSConfig{
			Nameservers: []string{"1.1.1.1"}, Searches: []string{"x"},
			Options: []DNSOption{{Name: "ndots", Value: &two}, {Name: "edns0"}},
		},
		HostAliases: []HostAlias{{IP: "1.2.3.4", Hostnames: []string{"h"}}},
		PullSecrets: []string{"r"},
		Trigger:     yaml.Conditions{Event: yaml.Condition{Include: []string{"push"}}},
		Steps: []*Step{{
			Name: "a", Image: "i", User: "420", Group: number(1000),
			Resources: Resources{Limits: ResourceList{CPU: 500, Memory: 512 << 20}},
			Volumes:   []*VolumeMount{{Name: "v", Path: "/v", SubPath: "s"}},
		}},
		Volumes: []*Volume{
			{Name: "v", Claim: &ClaimVolume{Name: "c", ReadOnly: true}},
			{Name: "w", ConfigMap: &ObjectVolume{Name: "c", DefaultMode: &mode}},
			{Name: "x", Secret: &ObjectVolume{Name: "s", Optional: true}},
			{Name: "y", Host: &HostVolume{Path: "/h"}},
			{Name: "z", Temp: &TempVolume{Medium: "memory", SizeLimit: 1 << 30}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(Positions{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWholeDockerStep(t *testing.T) {
	got := parseOne(t, `kind: pipeline
name: p
clone: {retries: 3}
workspace: {base: /go, path: src}
services:
- {name: s, image: redis}
steps:
- name: a
  image: i
  commands: [make, true, 1]
  command: [x]
  entrypoint: [y]
  environment: {A: yes, B: {from_secret: s}, C: {value: v}, D: ~, E: 0644}
  settings: {a: [1, x], b: {from_secret: s}, c: {d: e}, f: ~}
  when: {branch: main, event: {exclude: [cron]}, status: [failure]}
  depends_on: [clone]
  detach: true
  failure: ignore
  privileged: true
  pull: always
  user: "1000:1000"
  working_dir: /w
  devices: [{name: d, path: /dev/d}]
  dns: [1.1.1.1]
  dns_search: [x]
  extra_hosts: ["a:b"]
  network_mode: host
  mem_limit: 1000
  memswap_limit: 2k
  shm_size: 64m
`)
	want := &Pipeline{
		Kind: "pipeline", Type: "docker", Name: "p",
		Clone:     Clone{Retries: 3},
		Workspace: Workspace{Base: "/go", Path: "src"},
		Services:  []*Step{{Name: "s", Image: "redis"}},
		Steps: []*Step{{
			Name: "a", Image: "i",
			Commands: []string{"make", "true", "1"}, Command: []string{"x"}, Entrypoint: []string{"y"},
			Environment: map[string]*yaml.Variable{"A": {Value: "yes"}, "B": {Secret: "s"}, "C": {Value: "v"}, "E": {Value: "0644"}},
			Settings: map[string]*yaml.Parameter{
				"a": {Value: []any{1, "x"}}, "b": {Secret: "s"}, "c": {Value: map[any]any{"d": "e"}},
			},
			When: yaml.Conditions{
				Branch: yaml.Condition{Include: []string{"main"}},
				Event:  yaml.Condition{Exclude: []string{"cron"}},
				Status: yaml.Condition{Include: []string{"failure"}},
			},
			DependsOn: []string{"clone"}, Detach: true, Failure: "ignore", Privileged: true, Pull: "always",
			User: "1000:1000", WorkingDir: "/w",
			Devices: []*yaml.VolumeDevice{{Name: "d", DevicePath: "/dev/d"}},
			DNS:     []string{"1.1.1.1"}, DNSSearch: []string{"x"}, ExtraHosts: []string{"a:b"}, Network: "host",
			MemLimit: 1000, MemSwap: 2 << 10, ShmSize: 64 << 20,
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(Positions{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Merge keys count in the place where they stand, and maps are put together, as in Drone's decoder.
func TestMergesAndRepetitionsDecodeAsInDrone(t *testing.T) {
	got := parseOne(t, `kind: pipeline
name: p
x: &x {image: merged, environment: {A: merged, B: merged}}
steps:
- <<: *x
  name: a
  image: own
  environment: {A: own}
- name: b
  image: own
  <<: *x
- name: c
  image: first
  image: last
  environment: {A: first}
  environment: {B: last}
`).Steps
	env := func(a, b string) map[string]*yaml.Variable {
		return map[string]*yaml.Variable{"A": {Value: a}, "B": {Value: b}}
	}
	want := []*Step{
		{Name: "a", Image: "own", Environment: env("own", "merged")},
		{Name: "b", Image: "merged", Environment: env("merged", "merged")},
		{Name: "c", Image: "last", Environment: env("first", "last")},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(Positions{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVolumeWithoutValueIsTemp(t *testing.T) {
	v := parseOne(t, dockerHead+stepHead+"volumes:\n- name: v\n  temp:\n").Volumes[0]
	if v.Temp == nil {
		t.Error("temp without a value is no volume")
	}
}
