//go:build e2e

package push

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// BenchmarkRelay has ten builds run at once, of three steps that write two lines a second each, and reports what a new
// runner's own histograms say: what 95 of 100 took at most, in ms, by the edges of their buckets. The kubelet tells the
// start of a container in whole seconds, so that a start seems to be told up to a second later than it was.
func BenchmarkRelay(b *testing.B) {
	const builds = 10
	r := deployFor(b, settings{kind: "docker"})
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
		"ms-p95-told":    "drone_runner_tekton_step_report_delay_seconds",
		"ms-p95-of-line": "drone_runner_tekton_log_lag_seconds",
	} {
		edge, err := quantile(m[name], 0.95)
		if err != nil {
			b.Errorf("%s: %v", name, err)
		}
		b.ReportMetric(1000*edge, unit)
		b.Logf("%s:\n%s", name, spread(m[name]))
	}
	for _, call := range m["drone_runner_tekton_rpc_call_duration_seconds"].GetMetric() {
		h := call.GetHistogram()
		b.Logf("%s to the Drone server: %d, on average %.0f ms", call.GetLabel()[0].GetValue(), h.GetSampleCount(),
			1000*h.GetSampleSum()/float64(h.GetSampleCount()))
	}
	reportSize(b, m, "")
	checkAll(b, r, all)
}

// BenchmarkHeld has one replica hold 500 runs at once, whose steps fit no node and tell so in their logs, and reports its size
// then, what it calls in a minute in which nothing happens, and what a run costs in calls from its offer to its clean-up.
func BenchmarkHeld(b *testing.B) {
	const runs = 500
	r := deployFor(b, settings{kind: "docker", env: map[string]string{"DRONE_RUNNER_CAPACITY": fmt.Sprint(runs)}})
	reportSize(b, r.metrics(b), "before-")
	var source strings.Builder
	for n := range runs {
		fmt.Fprintf(&source, "---\nkind: pipeline\ntype: docker\nname: p%d\nclone: {disable: true}\n"+
			"steps:\n- name: huge\n  image: busybox:1.36\n  commands: [echo]\n  resources: {requests: {cpu: 1000000}}\n", n)
	}
	before := calls(r.metrics(b))
	for b.Loop() {
		build := newRepoNamed(b, "held-pod", expect.Repository{}).push(r.claim([]byte(strings.TrimPrefix(source.String(), "---\n"))))
		build.poll("all steps wait", 20*time.Minute, func() bool {
			return total(r.metrics(b)["drone_runner_tekton_steps_waiting"]) == runs
		})
		b.Logf("all wait after %v", b.Elapsed().Round(time.Second))
		held := r.metrics(b)
		b.ReportMetric((calls(held)-before)/runs, "calls/run-held")
		reportSize(b, held, "held-")
		time.Sleep(time.Minute)
		b.ReportMetric(calls(r.metrics(b))-calls(held), "calls/idle-min")
		build.cancel()
		r.clean(b, build)
	}
	m := r.metrics(b)
	b.ReportMetric((calls(m)-before)/runs/float64(b.N), "calls/run")
	reportSize(b, m, "after-")
}

// deployFor starts a runner for a benchmark.
func deployFor(b *testing.B, s settings) *runner {
	b.Helper()
	r, err := deploy(b.Context(), s)
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
	return r
}

func reportSize(b *testing.B, m map[string]*dto.MetricFamily, when string) {
	b.ReportMetric(total(m["process_resident_memory_bytes"])/(1<<20), when+"MiB")
	b.ReportMetric(total(m["go_goroutines"]), when+"goroutines")
}

// calls are those to the API server.
func calls(m map[string]*dto.MetricFamily) float64 {
	return total(m["drone_runner_tekton_api_calls_total"])
}

// metrics are those of a runner of one replica, by name.
func (r *runner) metrics(t testing.TB) map[string]*dto.MetricFamily {
	t.Helper()
	all, err := r.allMetrics(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("the metrics of %d replicas: %v", len(all), err)
	}
	return all[0]
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
