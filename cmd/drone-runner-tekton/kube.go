package main

import (
	"fmt"

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

// config is the connection, and the namespace: that of the flag, else of the context.
func (k *kubeFlags) config() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = k.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: k.context})
	config, err := loader.ClientConfig()
	if err != nil {
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
