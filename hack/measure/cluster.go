package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/client/clientset/versioned"
)

// cluster is the one that KUBECONFIG names, with a namespace for the runs.
type cluster struct {
	core      kubernetes.Interface
	tekton    versioned.Interface
	program   string
	namespace string
}

func connect(program string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("reading KUBECONFIG: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	c := &cluster{program: program}
	if c.core, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.tekton, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	return c, nil
}

// begin makes the namespace and the claim for many nodes, and uses the claim once on each: from then on it is there.
func (c *cluster) begin(ctx context.Context, class string) error {
	ns, err := c.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "drone-measure-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating a namespace: %w", err)
	}
	c.namespace = ns.Name
	_, err = c.core.CoreV1().PersistentVolumeClaims(c.namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claim},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the claim: %w", err)
	}
	_, _, err = c.run(ctx, &measurement{pipeline: parallel(4, 0), flags: []string{"--spread", "--claim=" + claim}})
	return err
}

// end deletes the namespace.
func (c *cluster) end() {
	if err := c.core.CoreV1().Namespaces().Delete(context.Background(), c.namespace, metav1.DeleteOptions{}); err != nil {
		fmt.Fprintf(os.Stderr, "deleting the namespace %s: %v\n", c.namespace, err)
	}
}

// convert is the PipelineRun that a pipeline becomes. The pipelines measured need nothing beside it.
func (c *cluster) convert(ctx context.Context, m *measurement) (*v1.PipelineRun, error) {
	dir, err := os.MkdirTemp("", "drone-measure-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, ".drone.yml")
	if err := os.WriteFile(file, []byte(m.pipeline), 0o600); err != nil {
		return nil, err
	}
	args := append([]string{"convert", file, "--repo=octo/hello", "--branch=main", "--volume-size=64Mi",
		fmt.Sprint("--name=run-", time.Now().UnixMilli())}, m.flags...)
	var out, told bytes.Buffer
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Stdout, cmd.Stderr = &out, &told
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, told.String())
	}
	run := &v1.PipelineRun{}
	return run, yaml.UnmarshalStrict(out.Bytes(), run)
}

// run runs a pipeline once: the time from the creation of the run to the sight of its end, and what was seen of its tasks.
func (c *cluster) run(ctx context.Context, m *measurement) (time.Duration, []timeline, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	run, err := c.convert(ctx, m)
	if err != nil {
		return 0, nil, err
	}
	all := metav1.ListOptions{LabelSelector: "tekton.dev/pipelineRun=" + run.Name}
	pods, err := c.core.CoreV1().Pods(c.namespace).Watch(ctx, all)
	if err != nil {
		return 0, nil, err
	}
	defer pods.Stop()
	tasks, err := c.tekton.TektonV1().TaskRuns(c.namespace).Watch(ctx, all)
	if err != nil {
		return 0, nil, err
	}
	defer tasks.Stop()
	runs, err := c.tekton.TektonV1().PipelineRuns(c.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + run.Name})
	if err != nil {
		return 0, nil, err
	}
	defer runs.Stop()
	begin := time.Now()
	if _, err := c.tekton.TektonV1().PipelineRuns(c.namespace).Create(ctx, run, metav1.CreateOptions{}); err != nil {
		return 0, nil, fmt.Errorf("creating the run: %w", err)
	}
	steps, err := watchRun(ctx, runs, tasks, pods)
	wall := time.Since(begin)
	return wall, steps, errors.Join(err, c.clean(run.Name))
}

func watchRun(ctx context.Context, runs, tasks, pods watch.Interface) ([]timeline, error) {
	byTask := map[string]timeline{}
	of := func(labels map[string]string) timeline {
		name := labels["tekton.dev/taskRun"]
		if byTask[name] == nil {
			byTask[name] = timeline{}
		}
		return byTask[name]
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e := <-pods.ResultChan():
			if pod, ok := e.Object.(*corev1.Pod); ok && pod.Labels["tekton.dev/taskRun"] != "" {
				of(pod.Labels).seePod(pod, time.Now())
			}
		case e := <-tasks.ResultChan():
			if task, ok := e.Object.(*v1.TaskRun); ok {
				line := of(map[string]string{"tekton.dev/taskRun": task.Name})
				line.reach(created, time.Now())
				if task.IsDone() {
					line.reach(done, time.Now())
				}
			}
		case e := <-runs.ResultChan():
			run, ok := e.Object.(*v1.PipelineRun)
			if !ok {
				return nil, errors.New("the watch of the run has ended")
			}
			if !run.IsDone() {
				continue
			}
			if !run.Status.GetCondition("Succeeded").IsTrue() {
				return nil, fmt.Errorf("the run has failed: %s", run.Status.GetCondition("Succeeded").GetMessage())
			}
			var steps []timeline
			for _, line := range byTask {
				steps = append(steps, line)
			}
			return steps, nil
		}
	}
}

// clean deletes a run and waits until its pods are gone, so that they are in nobody's way.
func (c *cluster) clean(run string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.tekton.TektonV1().PipelineRuns(c.namespace).Delete(ctx, run, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the run: %w", err)
	}
	for {
		pods, err := c.core.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("waiting for the end of the run's pods: %w", err)
		}
		if len(pods.Items) == 0 {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
}
