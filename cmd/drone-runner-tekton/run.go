package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	api "github.com/drone/drone-go/drone"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/client/clientset/versioned"

	"github.com/drone-tekton/drone-runner-tekton/bridge/cluster"
	"github.com/drone-tekton/drone-runner-tekton/bridge/follow"
	"github.com/drone-tekton/drone-runner-tekton/bridge/logs"
	"github.com/drone-tekton/drone-runner-tekton/bridge/status"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

func newRun(s streams) *cobra.Command {
	c := &conversion{}
	k := &kubeFlags{}
	var keep, noFollow bool
	cmd := &cobra.Command{
		Use:   "run [FILE|-]",
		Short: "Run a Drone pipeline on the cluster, and show how it goes",
		Long: `Run a Drone pipeline on the cluster, and show how it goes.

Pipelines of the file that the build triggers run one after the other, in the order of the
file. Logs go to standard output, all else to standard error. The exit status is that of
the build: 0 where all pipelines succeeded, 1 where one failed. An interrupt cancels.
Values that a pipeline reads from Secrets are masked in the logs, if you may read these.`,
		Example: `  # Run the pipeline of the checkout you are in
  drone-runner-tekton run -n builds

  # Run one pipeline and keep its PipelineRun to look at
  drone-runner-tekton run .drone.yml --pipeline test --keep`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := sourceOf(args, s.in)
			if err != nil {
				return err
			}
			k.namespace = c.options.Namespace
			config, namespace, err := k.config()
			if err != nil {
				return err
			}
			r, err := newRunning(cmd.Context(), config, namespace, c)
			if err != nil {
				return reached(err, config)
			}
			r.streams, r.keep, r.noFollow = s, keep, noFollow
			results, err := c.convert(cmd.Context(), s, file)
			if err != nil {
				return err
			}
			c.tellReasons(s, results)
			return r.all(cmd.Context(), results)
		},
	}
	c.add(cmd.Flags())
	group(cmd.Flags(), "Output", c.addExplain)
	group(cmd.Flags(), "Cluster", func(flags *pflag.FlagSet) {
		k.add(flags)
		flags.BoolVar(&keep, "keep", false, "keep the PipelineRun and what it owns")
		flags.BoolVar(&noFollow, "no-follow", false, "create the PipelineRuns and return; implies --keep")
	})
	return cmd
}

// running runs pipelines on a cluster.
type running struct {
	streams
	clients        follow.Clients
	logs           logs.Streams
	namespace      string
	netrc          string // Secret with the credentials for cloning; empty is none
	keep, noFollow bool
}

// newRunning connects to the cluster, and lets the conversion know what it offers.
func newRunning(ctx context.Context, config *rest.Config, namespace string, c *conversion) (*running, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	tekton, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	facts, err := cluster.Read(ctx, kube, namespace)
	if err != nil {
		return nil, err
	}
	if !facts.Served {
		return nil, errors.New("the cluster has no Tekton Pipelines; drone-runner-tekton doctor tells more")
	}
	c.options.Cluster = facts.Known()
	c.options.InjectedSidecars = c.options.InjectedSidecars || facts.Injects != ""
	c.options.Namespace = namespace
	if c.options.Name == "" {
		c.options.Suffix = rand.String(5)
	}
	return &running{
		clients: follow.Clients{Kube: kube, Tekton: tekton}, logs: logs.ClusterStreams(kube.CoreV1()), namespace: namespace, netrc: c.options.Netrc,
	}, nil
}

// all runs pipelines one after the other; the first failure is the end.
func (r *running) all(ctx context.Context, results []result) error {
	for _, res := range results {
		run, err := follow.Create(ctx, r.clients, r.namespace, res.bundle)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.err, "pipelinerun.tekton.dev/%s created in namespace %s\n", run.Name, run.Namespace)
		if r.noFollow {
			continue
		}
		view := &view{streams: r.streams, width: longestName(res.bundle), mask: r.masker(ctx, res.bundle)}
		answer, err := follow.Follow(ctx, r.clients, r.logs, run, res.bundle, view)
		if err = r.end(ctx, run, err); err != nil {
			return err
		}
		fmt.Fprintf(r.err, "pipeline %s: %s\n", res.pipeline.DisplayName(), strings.TrimSpace(answer.Status+" "+answer.Error))
		if answer.Status != api.StatusPassing {
			return errReported
		}
	}
	return nil
}

// end leaves nothing behind of a run that was followed, unless it is to be kept, and says how an interrupted one ended.
func (r *running) end(ctx context.Context, run *v1.PipelineRun, err error) error {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var left error
	ended := "deleted"
	switch {
	case !r.keep:
		left = follow.Delete(after, r.clients, run)
	case err != nil:
		ended, left = "cancelled", follow.Cancel(after, r.clients, run)
	}
	if left != nil {
		left = fmt.Errorf("%w\nIt is still there: kubectl delete pipelinerun -n %s %s", left, run.Namespace, run.Name)
	}
	switch {
	case err != nil && ctx.Err() != nil && left == nil:
		return fmt.Errorf("interrupted; the PipelineRun %s is %s", run.Name, ended)
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted; %w", left)
	default:
		return errors.Join(err, left)
	}
}

// masker hides the values that the pipeline reads from Secrets. Where they cannot be read, a word says so.
func (r *running) masker(ctx context.Context, b *translate.Bundle) *logs.Masker {
	var values []string
	read := func(name string, keys ...string) {
		secret, err := r.clients.Kube.CoreV1().Secrets(r.namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		} else if err != nil {
			fmt.Fprintf(r.err, "the values of the Secret %s are not masked in the logs: %v\n", name, err)
			return
		}
		for _, key := range keys {
			values = append(values, string(secret.Data[key]))
		}
	}
	if len(b.Secrets) > 0 {
		var keys []string
		for _, s := range b.Secrets {
			keys = append(keys, s.Key)
		}
		read(b.SecretName, keys...)
	}
	if r.netrc != "" {
		read(r.netrc, translate.NetrcPassword)
	}
	return logs.NewMasker(values...)
}

// view prints what happens. Each line of a log begins with its step's name.
type view struct {
	streams
	width int
	mask  *logs.Masker
	mu    sync.Mutex
}

func longestName(b *translate.Bundle) int {
	width := 0
	for _, s := range b.Plan.Steps {
		width = max(width, len([]rune(s.Name)))
	}
	return min(width, 30)
}

func (v *view) Step(step status.Step, state status.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := state.Status
	switch {
	case state.Waiting != "":
		text += ": " + state.Waiting
	case state.Error != "":
		text += ": " + state.Error
	case state.ExitCode != 0:
		text += fmt.Sprintf(": exit code %d", state.ExitCode)
	}
	fmt.Fprintf(v.err, "%-*s | %s\n", v.width, step.Name, text)
}

func (v *view) Line(step string, text []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.out, "%-*s > %s\n", v.width, step, v.mask.Mask(strings.TrimSuffix(string(text), "\n")))
}
