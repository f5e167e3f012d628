//go:build e2e

package push

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// BenchmarkRelay has ten builds run at once, of three steps that write two lines a second each, and reports what a new
// runner's own histograms say: what 95 of 100 took at most, in ms, by the edges of their buckets. The kubelet tells the
// start of a container in whole seconds, so that a start seems to be told up to a second later than it was.
func BenchmarkRelay(b *testing.B) {
	const builds = 10
	r, err := deploy(b.Context(), settings{kind: "docker"})
	if r != nil {
		b.Cleanup(func() {
			for _, fault := range r.end(context.Background()) {
				b.Error(fault)
			}
		})
	}
	if err != nil {
		b.Fatal(err)
	}
	c := serialCase("serial-pod", 3, 20, 10*time.Second)
	d := serialCase("serial-chains", 3, 20, 10*time.Second)
	var all []started
	for b.Loop() {
		all = startAll(b, r, builds/2, c, d)
		for _, build := range all {
			build.ended()
		}
	}
	m := r.metrics(b)
	for unit, name := range map[string]string{
		"ms-p95-to-run":  "drone_runner_tekton_stage_creation_seconds",
		"ms-p95-started": "drone_runner_tekton_step_start_delay_seconds",
		"ms-p95-of-line": "drone_runner_tekton_log_lag_seconds",
	} {
		edge, err := quantile(m[name], 0.95)
		if err != nil {
			b.Errorf("%s: %v", name, err)
		}
		b.ReportMetric(1000*edge, unit)
		b.Logf("%s:\n%s", name, spread(m[name]))
	}
	b.ReportMetric(m["process_resident_memory_bytes"].GetMetric()[0].GetGauge().GetValue()/(1<<20), "MiB")
	b.ReportMetric(m["go_goroutines"].GetMetric()[0].GetGauge().GetValue(), "goroutines")
	checkAll(b, r, all)
}

// metrics are those of the first replica of a runner, by name.
func (r *runner) metrics(t testing.TB) map[string]*dto.MetricFamily {
	t.Helper()
	pods, err := r.pods(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("the runner's pods: %v, %d of them", err, len(pods))
	}
	text, err := kube.Core.CoreV1().Pods(r.namespace).ProxyGet("http", pods[0].Name, "3000", "/metrics", nil).DoRaw(t.Context())
	if err != nil {
		t.Fatal("reading the runner's metrics: ", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal("reading the runner's metrics: ", err)
	}
	return families
}

// quantile is the upper edge of the bucket that a quantile falls into.
func quantile(f *dto.MetricFamily, q float64) (float64, error) {
	if len(f.GetMetric()) != 1 || f.GetMetric()[0].GetHistogram().GetSampleCount() == 0 {
		return 0, fmt.Errorf("nothing was observed")
	}
	h := f.GetMetric()[0].GetHistogram()
	for _, bucket := range h.GetBucket() {
		if float64(bucket.GetCumulativeCount()) >= q*float64(h.GetSampleCount()) {
			return bucket.GetUpperBound(), nil
		}
	}
	return 0, fmt.Errorf("it is beyond the last bucket")
}

// spread is a histogram for people.
func spread(f *dto.MetricFamily) string {
	var text bytes.Buffer
	for _, m := range f.GetMetric() {
		for _, bucket := range m.GetHistogram().GetBucket() {
			fmt.Fprintf(&text, "  at most %5g s: %d\n", bucket.GetUpperBound(), bucket.GetCumulativeCount())
		}
	}
	return text.String()
}
