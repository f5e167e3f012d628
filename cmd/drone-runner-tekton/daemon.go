package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/joho/godotenv"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/system"

	"github.com/tektoncd/pipeline/pkg/client/clientset/versioned"

	"github.com/drone-tekton/drone-runner-tekton/bridge"
	"github.com/drone-tekton/drone-runner-tekton/bridge/cluster"
	"github.com/drone-tekton/drone-runner-tekton/bridge/config"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/bridge/web"
)

func newDaemon(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "daemon [ENVFILE]",
		Short: "Run the pipelines of a Drone server",
		Long: `Run the pipelines of a Drone server, in place of Drone's own runner for Kubernetes.

It is configured by the same variables, from the environment and from a file of
VARIABLE=value lines; see docs/configuration.md. It can be stopped at any time:
pipelines go on in the cluster, and the next process goes on with them.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := loadConfig(args)
			if err != nil {
				return err
			}
			log, err := newLogger(c.Debug)
			if err != nil {
				return err
			}
			defer func() { _ = log.Sync() }() // Standard error may not be able to.
			return daemon(logging.WithLogger(cmd.Context(), log), s, c)
		},
	}
}

// loadConfig reads the variables of the environment, and below them those of a file.
func loadConfig(args []string) (*config.Config, error) {
	env := map[string]string{}
	if len(args) > 0 {
		vars, err := godotenv.Read(args[0])
		if err != nil {
			return nil, fmt.Errorf("reading the variables of %s: %w", args[0], err)
		}
		maps.Copy(env, vars)
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("finding a name for the runner; set DRONE_RUNNER_NAME: %w", err)
	}
	c, err := config.Load(env, os.ReadFile, host)
	if err != nil {
		return nil, fmt.Errorf("configuration:\n%w", err)
	}
	return c, nil
}

func newLogger(debug bool) (*zap.SugaredLogger, error) {
	c := zap.NewProductionConfig()
	if debug {
		c.Level = zap.NewAtomicLevelAt(zap.DebugLevel)
	}
	c.Sampling = nil // A line that is missing is one that is looked for.
	c.EncoderConfig.TimeKey = "time"
	c.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	c.DisableStacktrace = true
	log, err := c.Build()
	if err != nil {
		return nil, fmt.Errorf("making a logger: %w", err)
	}
	return log.Sugar(), nil
}

// daemon runs until its context ends.
func daemon(ctx context.Context, s streams, c *config.Config) error {
	log := logging.FromContext(ctx)
	for _, note := range c.Notes {
		log.Warn(note)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	clients, err := connect(c, bridge.CountCalls(registry))
	if err != nil {
		return err
	}
	server := c.Server
	server.UserAgent = "drone-runner-tekton"
	server.Metrics = rpc.NewMetrics(registry)
	var runner *bridge.Runner
	server.OnRetry = func(call rpc.Call, err error, wait time.Duration) {
		log.Warnw("Call to the Drone server failed; trying again", "call", call, "wait", wait.Round(time.Millisecond).String(), "error", err)
		if call == rpc.CallWatch {
			runner.Disconnected()
		}
	}
	if c.Dump {
		server.Dump = s.err
	}
	drone, err := rpc.New(server)
	if err != nil {
		return err
	}
	c.Runner.Compiler.Cluster = cluster.NewReader(clients.Kube)
	c.Runner.Filter.Kind = "pipeline"
	if os.Getenv(system.NamespaceEnvKey) == "" { // Where the Leases of leader election are.
		if err := os.Setenv(system.NamespaceEnvKey, c.Runner.Namespace); err != nil {
			return fmt.Errorf("setting %s: %w", system.NamespaceEnvKey, err)
		}
	}
	runner, err = bridge.New(c.Runner, clients, drone, nil, registry)
	if err != nil {
		return err
	}
	log.Infow("Runner starts", "server", server.Server, "name", c.Runner.Machine, "type", c.Runner.Filter.Type,
		"labels", c.Runner.Filter.Labels, "capacity", c.Runner.Capacity, "namespaces", c.Runner.Namespaces)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return web.Serve(ctx, c.Web, web.Handler(c.Web, runner, registry)) })
	group.Go(func() error {
		if err := waitForServer(ctx, drone); err != nil {
			return nil // The process is being stopped.
		}
		return runner.Run(ctx)
	})
	err = group.Wait()
	log.Infow("Runner ends; pipelines go on in the cluster")
	return err
}

// waitForServer waits until the Drone server answers, as Drone's runners do at their start.
func waitForServer(ctx context.Context, drone *rpc.Client) error {
	for {
		err := drone.Ping(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		logging.FromContext(ctx).Warnw("The Drone server does not answer; trying again", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// connect reaches the cluster: that of a kubeconfig file, else the one that the process runs in.
func connect(c *config.Config, wrap transport.WrapperFunc) (bridge.Clients, error) {
	var clients bridge.Clients
	rc, err := rest.InClusterConfig()
	if c.Kubeconfig != "" {
		rc, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	}
	if err != nil {
		return clients, fmt.Errorf("reaching the cluster; set DRONE_KUBERNETES_CONFIG outside of one: %w", err)
	}
	rc.QPS, rc.Burst = c.QPS, c.Burst
	rc.Wrap(wrap)
	if clients.Kube, err = kubernetes.NewForConfig(rc); err != nil {
		return clients, fmt.Errorf("reaching the cluster: %w", err)
	}
	if clients.Tekton, err = versioned.NewForConfig(rc); err != nil {
		return clients, fmt.Errorf("reaching the cluster: %w", err)
	}
	return clients, nil
}
