//go:build e2e

package push

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// allMetrics are the metrics of each replica of a runner, by name.
func (r *runner) allMetrics(ctx context.Context) (all []map[string]*dto.MetricFamily, err error) {
	pods, err := r.pods(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pods {
		text, err := kube.Core.CoreV1().Pods(r.namespace).ProxyGet("http", p.Name, "3000", "/metrics", nil).DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the metrics of %s: %w", p.Name, err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("reading the metrics of %s: %w", p.Name, err)
		}
		all = append(all, families)
	}
	return all, nil
}

// total is the sum of a metric over all its labels.
func total(f *dto.MetricFamily) (sum float64) {
	for _, m := range f.GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}

// goroutines is how many all replicas have, and stages how many they have taken.
func (r *runner) goroutines(ctx context.Context) (goroutines, stages float64, err error) {
	all, err := r.allMetrics(ctx)
	for _, m := range all {
		goroutines += total(m["go_goroutines"])
		stages += total(m["drone_runner_tekton_stages_taken_total"])
	}
	return goroutines, stages, err
}
