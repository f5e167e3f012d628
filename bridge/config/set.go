package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/docker/go-units"
	droneyaml "github.com/drone/drone-yaml/yaml"
	"github.com/joho/godotenv"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/drone-tekton/drone-runner-tekton/bridge/compile"
	"github.com/drone-tekton/drone-runner-tekton/bridge/policy"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

type (
	setter = func(s *settings, value string) error
	size   = droneyaml.BytesSize
	dur    = time.Duration
)

func text(field func(*settings) *string) setter {
	return func(s *settings, value string) error {
		*field(s) = value
		return nil
	}
}

func oneOf(field func(*settings) *string, words ...string) setter {
	return func(s *settings, value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("%q is none of %s", value, strings.Join(words, ", "))
		}
		*field(s) = value
		return nil
	}
}

func yes(field func(*settings) *bool) setter {
	return func(s *settings, value string) (err error) {
		if *field(s), err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		return nil
	}
}

func isTrue(value string) bool {
	b, err := strconv.ParseBool(value)
	return b || err != nil
}

func number(field func(*settings) *int, least int) setter {
	return func(s *settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a whole number from %d", value, least)
		}
		*field(s) = n
		return nil
	}
}

func real(field func(*settings) *float32) setter {
	return func(s *settings, value string) error {
		n, err := strconv.ParseFloat(value, 32)
		if err != nil || n <= 0 {
			return fmt.Errorf("%q is not a number above 0", value)
		}
		*field(s) = float32(n)
		return nil
	}
}

func list(field func(*settings) *[]string) setter {
	return func(s *settings, value string) error {
		*field(s) = split(value)
		return nil
	}
}

func split(value string) []string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// pairs reads key:value,key:value. A value may hold colons; a comma ends it, as with Drone's runners.
func pairs(field func(*settings) *map[string]string) setter {
	return func(s *settings, value string) error {
		m := *field(s)
		if m == nil {
			m = map[string]string{}
		}
		for _, part := range split(value) {
			key, v, ok := strings.Cut(part, ":")
			if !ok {
				return fmt.Errorf("an entry has no colon; write key:value,key:value")
			}
			m[strings.TrimSpace(key)] = v
		}
		*field(s) = m
		return nil
	}
}

// labels reads pairs that are labels, of objects or nodes.
func labels(field func(*settings) *map[string]string) setter {
	set := pairs(field)
	return func(s *settings, value string) error {
		if err := set(s, value); err != nil {
			return err
		}
		for k, v := range *field(s) {
			problems := append(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)...)
			if len(problems) > 0 {
				return fmt.Errorf("%s:%s is no label: %s", k, v, strings.Join(problems, "; "))
			}
		}
		return nil
	}
}

// name reads the name of an object in Kubernetes.
func name(field func(*settings) *string) setter {
	return func(s *settings, value string) error {
		if problems := validation.IsDNS1123Subdomain(value); len(problems) > 0 {
			return fmt.Errorf("%q cannot be a name in Kubernetes: %s", value, strings.Join(problems, "; "))
		}
		*field(s) = value
		return nil
	}
}

func cpu(field func(*settings) *int64) setter {
	return func(s *settings, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a whole number of thousandths of a core", value)
		}
		*field(s) = n
		return nil
	}
}

func memory(field func(*settings) *size) setter {
	return func(s *settings, value string) error {
		n, err := units.RAMInBytes(value)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not an amount of memory such as 100MiB", value)
		}
		*field(s) = size(n)
		return nil
	}
}

func quantity(field func(*settings) *string) setter {
	return func(s *settings, value string) error {
		q, err := resource.ParseQuantity(value)
		if err != nil || q.Sign() <= 0 {
			return fmt.Errorf("%q is not an amount such as 10Gi", value)
		}
		*field(s) = value
		return nil
	}
}

func duration(field func(*settings) *dur) setter {
	return func(s *settings, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a time such as 90s, 5m or 1h", value)
		}
		*field(s) = d
		return nil
	}
}

func layouts(s *settings, value string) error {
	l := workspace.Layout(value)
	if !slices.Contains([]workspace.Layout{workspace.Steps, workspace.Chains, workspace.Pod}, l) {
		return fmt.Errorf("%q is none of steps, chains and pod", value)
	}
	s.Options.Workspace.Layout = l
	return nil
}

func claims(s *settings, value string) error {
	c := workspace.Claims(value)
	if c != workspace.Shared && c != workspace.PerVolume {
		return fmt.Errorf("%q is neither shared nor per-volume", value)
	}
	s.Options.Workspace.Claims = c
	return nil
}

func accessMode(s *settings, value string) error {
	m := corev1.PersistentVolumeAccessMode(value)
	if m != corev1.ReadWriteOnce && m != corev1.ReadWriteMany {
		return fmt.Errorf("%q is neither ReadWriteOnce nor ReadWriteMany", value)
	}
	s.Options.Workspace.AccessMode = m
	return nil
}

func setNamespace(s *settings, value string) error {
	if value == "drone-" {
		return errors.New("a namespace for each pipeline is not supported, since it takes a cluster administrator's rights;" +
			" give repositories namespaces by DRONE_NAMESPACE_RULES or policies")
	}
	if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
		return fmt.Errorf("%q: %s", value, strings.Join(problems, "; "))
	}
	s.Options.Namespace = value
	return nil
}

func setNamespaces(s *settings, value string) error {
	s.namespaces = split(value)
	for _, ns := range s.namespaces {
		if problems := validation.IsDNS1123Label(ns); ns != "*" && len(problems) > 0 {
			return fmt.Errorf("%q is no namespace: %s", ns, strings.Join(problems, "; "))
		}
	}
	return nil
}

// setKeepFailed is apart from the other times, because not being set is not 0.
func setKeepFailed(s *settings, value string) error {
	s.Runner.Keep.Failed = new(time.Duration)
	return duration(func(s *settings) *dur { return s.Runner.Keep.Failed })(s, value)
}

func setRules(s *settings, value string) error {
	for _, part := range split(value) {
		ns, glob, ok := strings.Cut(part, ":")
		if !ok {
			return errors.New("an entry has no colon; write namespace:owner/name,namespace:owner/*")
		}
		if err := s.addRule(strings.TrimSpace(ns), strings.TrimSpace(glob)); err != nil {
			return err
		}
	}
	return nil
}

func setRulesFile(s *settings, value string) error {
	data, err := s.files(value)
	if err != nil {
		return err
	}
	rules := map[string][]string{}
	if err := yaml.UnmarshalStrict(data, &rules); err != nil {
		return fmt.Errorf("%s: %w", value, err)
	}
	for ns, globs := range rules {
		for _, glob := range globs {
			if err := s.addRule(ns, glob); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *settings) addRule(ns, glob string) error {
	if !doublestar.ValidatePattern(glob) {
		return fmt.Errorf("%q is not a glob", glob)
	}
	if s.Access.Rules == nil {
		s.Access.Rules = map[string][]string{}
	}
	s.Access.Rules[ns] = append(s.Access.Rules[ns], glob)
	return nil
}

func setLimitRepos(s *settings, value string) error {
	for _, glob := range split(value) {
		if _, err := filepath.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is not a glob", glob)
		}
		s.Limits.Repos = append(s.Limits.Repos, glob)
	}
	return nil
}

func setPolicies(s *settings, value string) error {
	data, err := s.files(value)
	if err != nil {
		return err
	}
	list, diags := policy.Parse(value, data)
	s.Policies = list
	for _, d := range diags {
		if d.Severity != diag.Error {
			s.Notes = append(s.Notes, "DRONE_POLICY_FILE: "+d.String())
		}
	}
	if err := diags.Err(); err != nil {
		return fmt.Errorf("the policies cannot be used:\n%w", err)
	}
	return nil
}

func setEnvFile(s *settings, value string) error {
	data, err := s.files(value)
	if err != nil {
		return err
	}
	vars, err := godotenv.UnmarshalBytes(data)
	if err != nil {
		return fmt.Errorf("%s: %w", value, err)
	}
	for name, v := range vars {
		s.environ[name] = v
	}
	return nil
}

func setDockerConfig(s *settings, value string) error {
	data, err := s.files(value)
	if err != nil {
		return err
	}
	if s.registries, err = compile.ParseDockerConfig(data); err != nil {
		return fmt.Errorf("%s: %w", value, err)
	}
	return nil
}

func setFSGroup(s *settings, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a group's number", value)
	}
	s.Options.FSGroup = n
	return nil
}

func setLogLimit(s *settings, value string) error {
	n, err := units.RAMInBytes(value)
	if err != nil || n < 4096 || n > 1<<30 {
		return fmt.Errorf("%q is not an amount from 4KiB to 1GiB", value)
	}
	s.Runner.LogLimit.Bytes = int(n)
	return nil
}

// maxBuckets is how many Leases leader election may take, as in knative.
const maxBuckets = 10

func setBuckets(s *settings, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxBuckets {
		return fmt.Errorf("%q is not a whole number from 0 to %d", value, maxBuckets)
	}
	s.Runner.Buckets = n
	return nil
}
