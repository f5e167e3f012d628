package compile

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	api "github.com/drone/drone-go/drone"
	corev1 "k8s.io/api/core/v1"

	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/translate/diag"
)

// Registries finds credentials for image registries.
type Registries interface {
	List(ctx context.Context, repo *api.Repo, build *api.Build) ([]*api.Registry, error)
}

// Environment finds variables for builds.
type Environment interface {
	List(ctx context.Context, repo *api.Repo, build *api.Build) ([]Variable, error)
}

// Variable is a variable for a build; one with Mask must not show in logs.
type Variable struct {
	Name, Data string
	Mask       bool
}

// dockerConfig is the content of a docker config.json, as far as it is about credentials.
type dockerConfig struct {
	Auths map[string]dockerAuth `json:"auths"`
}

type dockerAuth struct {
	Auth     string `json:"auth,omitempty"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
}

// ParseDockerConfig reads the credentials of a docker config.json. Addresses stay as written: unlike Drone, which reduces
// them to the host, Kubernetes tells apart gcr.io/a and gcr.io/b.
func ParseDockerConfig(text []byte) ([]*api.Registry, error) {
	var c dockerConfig
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("reading a docker config.json: %w", err)
	}
	var list []*api.Registry
	for address, auth := range c.Auths {
		if auth.Auth != "" {
			pair, err := base64.StdEncoding.DecodeString(auth.Auth)
			if err != nil {
				return nil, fmt.Errorf("reading a docker config.json: the auth of %s: %w", address, err)
			}
			auth.Username, auth.Password, _ = strings.Cut(strings.TrimRight(string(pair), "\x00"), ":")
		}
		list = append(list, &api.Registry{Address: address, Username: auth.Username, Password: auth.Password})
	}
	return list, nil
}

// addPullSecret puts all credentials for registries into one Secret, by which the run's pods pull: the runner's own, those
// of the extension, and above them those that the pipeline names in image_pull_secrets.
func (w *Work) addPullSecret(ctx context.Context, f *finder, registries Registries, d *rpc.Details) error {
	c := dockerConfig{Auths: map[string]dockerAuth{}}
	add := func(list []*api.Registry) {
		for _, r := range list {
			auth := dockerAuth{Username: r.Username, Password: r.Password}
			auth.Auth = base64.StdEncoding.EncodeToString([]byte(r.Username + ":" + r.Password))
			c.Auths[registryAddress(r.Address)] = auth
			w.Values = append(w.Values, r.Password)
		}
	}
	if registries != nil {
		list, err := registries.List(ctx, d.Repo, d.Build)
		if err != nil {
			return fmt.Errorf("asking the registry extension: %w", err)
		}
		add(list)
	}
	for _, use := range w.Bundle.PullSecrets {
		text, warning := f.find(ctx, use.Name)
		if warning != nil {
			w.warn(warning)
		}
		if text == "" {
			w.warn(fmt.Errorf("image_pull_secrets: there is no secret %s", use.Name))
			continue
		}
		list, err := ParseDockerConfig([]byte(text))
		if err != nil {
			w.warn(fmt.Errorf("image_pull_secrets: %s: %w", use.Name, err))
			continue
		}
		add(list)
	}
	name := ""
	if len(c.Auths) > 0 {
		text, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("writing credentials for registries: %w", err)
		}
		name = w.Name + "-pull"
		w.Secrets = append(w.Secrets, w.secret(name, corev1.SecretTypeDockerConfigJson, map[string][]byte{corev1.DockerConfigJsonKey: text}))
	}
	w.pullBy(name)
	return nil
}

// registryAddress is the address by which the kubelet looks up credentials. It knows Docker Hub by one address alone.
func registryAddress(address string) string {
	host := address
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		host = u.Host + strings.TrimRight(u.Path, "/")
	}
	switch strings.TrimSuffix(strings.TrimSuffix(host, "/v1"), "/v2") {
	case "docker.io", "index.docker.io", "registry-1.docker.io":
		return "https://index.docker.io/v1/"
	}
	return host
}

// pullBy has all pods pull images by one Secret, or by none. The bundle's own names are the same for all runs of a
// namespace, which must not read each other's credentials.
func (w *Work) pullBy(name string) {
	var refs []corev1.LocalObjectReference
	if name != "" {
		refs = []corev1.LocalObjectReference{{Name: name}}
	}
	if t := w.Bundle.PipelineRun.Spec.TaskRunTemplate.PodTemplate; t != nil {
		t.ImagePullSecrets = refs
	}
	for _, pod := range w.Bundle.Pods {
		pod.Spec.ImagePullSecrets = refs
	}
}

func (w *Work) warn(err error) {
	w.Warnings.Add(diag.Diagnostic{Severity: diag.Warning, Code: "secret", Message: err.Error()})
}

// Merged are registries one after the other.
type Merged []Registries

// List implements Registries.
func (m Merged) List(ctx context.Context, repo *api.Repo, build *api.Build) (all []*api.Registry, err error) {
	for _, r := range m {
		list, err := r.List(ctx, repo, build)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Static are registries that are the same for all builds.
type Static []*api.Registry

// List implements Registries.
func (s Static) List(context.Context, *api.Repo, *api.Build) ([]*api.Registry, error) { return s, nil }
