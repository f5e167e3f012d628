//go:build e2e

package push

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/cluster"
)

// deployment is the runner's name in deploy/runner.yaml.
const deployment = "drone-runner-tekton"

// settings are what a runner has beside the suite's own.
type settings struct {
	kind     string // type of pipelines: docker or kubernetes
	replicas int32  // 1 by default
	env      map[string]string
}

// policies give a layout, or volumes, to repositories by the end of their names.
const policies = `
kind: policy
name: chains
match: {repo: "*/*-chains"}
storage: {layout: chains}
---
kind: policy
name: pod
match: {repo: "*/*-pod"}
storage: {layout: pod}
---
kind: policy
name: volumes
match: {repo: "*/*-policy-volumes"}
volumes:
- name: ca
  path: /etc/ca/ca.crt
  sub_path: ca.crt
  read_only: true
  config_map: {name: push-ca}
- name: scratch
  path: /scratch
  temp: {medium: memory, size_limit: 16MiB}
`

// runner is a runner in a namespace of its own, where its pipelines run too. It takes the pipelines that name it.
type runner struct {
	namespace string
	// idle is how many goroutines it had before its first build; 0 is not known.
	idle float64
}

// all are the runners that tests have started.
var all struct {
	sync.Mutex
	runners []*runner
}

func allRunners() []*runner {
	all.Lock()
	defer all.Unlock()
	return slices.Clone(all.runners)
}

// deploy starts a runner by deploy/runner.yaml as it is, with the image under test and some variables, and waits until it
// is ready. A runner that is returned beside an error is there to be removed.
func deploy(ctx context.Context, s settings) (*runner, error) {
	r, document, err := install(ctx)
	if err != nil {
		return r, err
	}
	if err := r.createDeployment(ctx, document, s); err != nil {
		return r, err
	}
	if err := r.ready(ctx); err != nil {
		return r, err
	}
	r.idle, _, err = r.goroutines(ctx)
	return r, err
}

// install puts all of deploy/runner.yaml but its Deployment, which is returned, into a new namespace.
func install(ctx context.Context) (r *runner, document []byte, err error) {
	manifest, err := os.ReadFile("../../deploy/runner.yaml")
	if err != nil {
		return nil, nil, err
	}
	namespace, err := kube.NewNamespace(ctx, "drone-push-")
	if namespace == "" {
		return nil, nil, err
	}
	r = &runner{namespace: namespace}
	all.Lock()
	all.runners = append(all.runners, r)
	all.Unlock()
	if err != nil {
		return r, nil, err
	}
	core := kube.Core.CoreV1()
	if _, err := core.Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: deployment}, StringData: rpc,
	}, metav1.CreateOptions{}); err != nil {
		return r, nil, err
	}
	if _, err := core.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "policies"}, Data: map[string]string{"policies.yml": policies},
	}, metav1.CreateOptions{}); err != nil {
		return r, nil, err
	}
	for _, part := range bytes.Split(manifest, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(part, &o.Object); err != nil {
			return r, nil, fmt.Errorf("deploy/runner.yaml: %w", err)
		}
		if o.GetKind() == "Deployment" {
			document = part
		} else if _, err := kube.Put(ctx, namespace, o); err != nil {
			return r, nil, err
		}
	}
	return r, document, nil
}

func (r *runner) createDeployment(ctx context.Context, document []byte, s settings) error {
	d := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(document, d); err != nil {
		return fmt.Errorf("deploy/runner.yaml: %w", err)
	}
	if s.replicas > 0 {
		d.Spec.Replicas = &s.replicas
	}
	env := r.env(s)
	pod := &d.Spec.Template.Spec
	container := &pod.Containers[0]
	container.Image = image
	for _, name := range slices.Sorted(maps.Keys(env)) {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: env[name]})
	}
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "policies", MountPath: "/policies"})
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "policies", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "policies"}},
	}})
	_, err := kube.Core.AppsV1().Deployments(r.namespace).Create(ctx, d, metav1.CreateOptions{})
	return err
}

// env are the runner's variables, beside those that tell where the server is and who it is itself.
func (r *runner) env(s settings) map[string]string {
	env := map[string]string{
		"DRONE_RUNNER_TYPE":          s.kind,
		"DRONE_RUNNER_LABELS":        r.label(),
		"DRONE_POLICY_FILE":          "/policies/policies.yml",
		"DRONE_IMAGE_CLONE":          cluster.Setting("CLONE_IMAGE", "drone/git:latest"),
		"DRONE_TEKTON_VOLUME_SIZE":   "64Mi",
		"DRONE_TEKTON_GRACE":         "10s",
		"DRONE_TEKTON_LOG_LIMIT":     "2MiB",
		"DRONE_TEKTON_KEEP_PER_REPO": "0",
	}
	maps.Copy(env, s.env)
	return env
}

// label is what pipelines have to name for this runner to take them, as a value of DRONE_RUNNER_LABELS.
func (r *runner) label() string { return "runner:" + r.namespace }

// claim makes each pipeline of a file one for this runner. The file's own lines stay where they are.
func (r *runner) claim(source []byte) []byte {
	documents := strings.Split(string(source), "\n---\n")
	for i, document := range documents {
		if strings.HasPrefix(document, "kind: pipeline\n") || strings.Contains(document, "\nkind: pipeline\n") {
			documents[i] = strings.TrimSuffix(document, "\n") + "\nnode: {" + strings.Replace(r.label(), ":", ": ", 1) + "}\n"
		}
	}
	return []byte(strings.Join(documents, "\n---\n"))
}

// ready waits until all replicas of the runner are ready.
func (r *runner) ready(ctx context.Context) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		d, err := kube.Core.AppsV1().Deployments(r.namespace).Get(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := d.Status; s.ObservedGeneration == d.Generation && s.ReadyReplicas == *d.Spec.Replicas && s.Replicas == *d.Spec.Replicas {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the runner is not ready:\n%s", kube.Describe(ctx, r.namespace, ""))
		}
	}
}

// pods are the runner's own.
func (r *runner) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := kube.Core.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=" + deployment,
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// log is what the runner's processes have written, those before a restart of the container not included.
func (r *runner) log(ctx context.Context) ([]string, error) {
	pods, err := r.pods(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range pods {
		stream, err := kube.Core.CoreV1().Pods(r.namespace).GetLogs(p.Name, &corev1.PodLogOptions{}).Stream(ctx)
		if err != nil {
			return lines, err
		}
		text, err := io.ReadAll(stream)
		stream.Close()
		if err != nil {
			return lines, err
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	return lines, nil
}

// leftovers are the objects of stages that the runner should have removed, those that a selector of labels selects. A run
// that has ended stays, with its pods, for people to look at.
func (r *runner) leftovers(ctx context.Context, selector string) (found []string, err error) {
	for _, kind := range []string{"configmaps", "secrets", "services", "persistentvolumeclaims", "pods"} {
		list, err := kube.Objects.Resource(corev1.SchemeGroupVersion.WithResource(kind)).Namespace(r.namespace).List(ctx,
			metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return found, fmt.Errorf("listing %s: %w", kind, err)
		}
		for _, o := range list.Items {
			phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
			if kind != "pods" || phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed) {
				found = append(found, kind+"/"+o.GetName())
			}
		}
	}
	return found, nil
}

// clean waits until nothing is left in the cluster of a build that has ended, but its finished runs.
func (r *runner) clean(t testing.TB, b *build) {
	t.Helper()
	for _, stage := range b.get().Stages {
		if err := r.emptied(t.Context(), fmt.Sprintf("%s=%d", journal.LabelStageID, stage.ID)); err != nil {
			t.Errorf("stage %q: %v", stage.Name, err)
		}
	}
}

func (r *runner) emptied(ctx context.Context, selector string) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		found, err := r.leftovers(ctx, selector)
		if err != nil || len(found) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("what is left in the cluster: %s", strings.Join(found, ", "))
		}
	}
}

// end tells what is wrong with a runner whose builds have all ended, and removes it. KEEP=1 leaves it.
func (r *runner) end(ctx context.Context) (faults []string) {
	faultf := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if err := r.emptied(ctx, journal.LabelStageID); err != nil {
		faultf("%v", err)
	}
	if r.idle > 0 {
		// Connections come and go, and each has some.
		const connections = 50
		switch now, stages, err := r.goroutines(ctx); {
		case err != nil:
			faultf("%v", err)
		case now > r.idle+connections:
			faultf("after %v stages the runner has %v goroutines, before the first it had %v", stages, now, r.idle)
		}
	}
	pods, err := r.pods(ctx)
	if err != nil {
		faultf("listing the runner's pods: %v", err)
	}
	for _, p := range pods {
		for _, s := range p.Status.ContainerStatuses {
			if s.RestartCount > 0 {
				faultf("the runner in %s was restarted %d times: %+v", p.Name, s.RestartCount, s.LastTerminationState.Terminated)
			}
		}
	}
	lines, err := r.log(ctx)
	if err != nil {
		faultf("reading the runner's log: %v", err)
	}
	for _, line := range lines {
		if strings.Contains(line, "forbidden") { // deploy/runner.yaml gives too little
			faultf("in the runner's log: %s", line)
		}
	}
	if os.Getenv("KEEP") != "" {
		return append(faults[:len(faults):len(faults)], "the namespace "+r.namespace+" is kept")
	}
	if err := kube.Core.CoreV1().Namespaces().Delete(ctx, r.namespace, metav1.DeleteOptions{}); err != nil {
		faultf("deleting the namespace: %v", err)
	}
	return faults
}

// describe tells what a runner and its namespace have to say of a stage, nothing where it is not its own.
func (r *runner) describe(ctx context.Context, stageID int64) string {
	text := kube.Describe(ctx, r.namespace, fmt.Sprintf("%s=%d", journal.LabelStageID, stageID))
	lines, err := r.log(ctx)
	if err != nil {
		text += err.Error()
	}
	for _, line := range lines {
		if strings.Contains(line, fmt.Sprintf(`"stage-id":%d,`, stageID)) {
			text += "runner: " + line + "\n"
		}
	}
	return text
}
