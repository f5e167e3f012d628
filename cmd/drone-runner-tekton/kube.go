package main

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeFlags choose a cluster, as kubectl's flags do.
type kubeFlags struct {
	kubeconfig string
	context    string
	namespace  string
}

func (k *kubeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&k.kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config)")
	flags.StringVar(&k.context, "context", "", "context of the kubeconfig file")
}

// reached adds to an error of a first call what to look at.
func reached(err error, config *rest.Config) error {
	var trouble net.Error
	if errors.As(err, &trouble) {
		return fmt.Errorf("%w\nThe API server at %s does not answer; choose another cluster by --context or --kubeconfig", err, config.Host)
	}
	return err
}

// config is the connection, and the namespace: that of the flag, else of the context.
func (k *kubeFlags) config() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = k.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: k.context})
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err): // The library's own message names a variable that few know.
		return nil, "", fmt.Errorf("no cluster is known: there is nothing in %s; name a file by --kubeconfig or KUBECONFIG",
			strings.Join(rules.GetLoadingPrecedence(), " or "))
	case err != nil:
		return nil, "", fmt.Errorf("choosing a cluster: %w", err)
	}
	// A command makes few requests, and people wait for it.
	config.QPS, config.Burst = 50, 100
	namespace := k.namespace
	if namespace == "" {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, "", fmt.Errorf("choosing a namespace: %w", err)
		}
	}
	return config, namespace, nil
}
