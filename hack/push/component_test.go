//go:build e2e

package push

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// needsLocalCluster fails a test of the local cluster's own processes on any other.
func needsLocalCluster(t *testing.T) {
	t.Helper()
	out, err := exec.Command("../cluster/env").Output()
	if err != nil || !strings.Contains(string(out), "export KUBECONFIG="+os.Getenv("KUBECONFIG")+"\n") {
		t.Fatal("this test kills processes of the local cluster, and KUBECONFIG is another's; leave it out by -skip 'Killed$'")
	}
}

// component deals with a process of the local cluster by hack/cluster/component.
func component(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.Command("../cluster/component", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("component %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// outage kills a process of the local cluster, waits and starts it again.
func outage(t *testing.T, name string, pause time.Duration) {
	t.Helper()
	t.Logf("%s kill -9 %s, for %v", time.Now().Format(time.TimeOnly), name, pause.Round(time.Millisecond))
	component(t, "kill", name)
	defer component(t, "start", name)
	time.Sleep(pause)
}

// killContainer is kill -9 of all processes of a container of the local cluster: they are this machine's.
func killContainer(t *testing.T, p *corev1.Pod, name string) {
	t.Helper()
	for _, s := range p.Status.ContainerStatuses {
		_, id, _ := strings.Cut(s.ContainerID, "://")
		if s.Name != name || id == "" {
			continue
		}
		groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		killed := 0
		for _, file := range groups {
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), "/"+id) {
				continue // of another, or it has ended
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
		if killed > 0 {
			t.Logf("%s kill -9 of container %s of pod %s", time.Now().Format(time.TimeOnly), name, p.Name)
			return
		}
	}
	t.Fatalf("pod %s has no container %s that runs: %+v", p.Name, name, p.Status.ContainerStatuses)
}

// recovered waits until the nodes and Tekton are ready.
func recovered(t *testing.T) {
	t.Helper()
	var trouble string
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if trouble = clusterTrouble(context.Background()); trouble == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("the cluster has not recovered: %s", trouble)
			return
		}
	}
}

func clusterTrouble(ctx context.Context) string {
	nodes, err := kube.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return n.Name + " is not ready: " + c.Message
			}
		}
	}
	deployments, err := kube.Core.AppsV1().Deployments("tekton-pipelines").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, d := range deployments.Items {
		if d.Status.ReadyReplicas == 0 {
			return "Tekton's " + d.Name + " is not ready"
		}
	}
	return ""
}
