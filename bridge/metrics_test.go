package bridge

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

// TestStepsWaiting counts a step by what it waits for, as long as it does.
func TestStepsWaiting(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := newWorld(t, map[string]behaviour{"build": {waiting: "ErrImagePull", message: "not found"}})
	w.metrics, w.options.Grace = registry, time.Hour
	w.start(nil)
	id := w.build(dronetest.Spec{Config: twoSteps}).ID
	until := func(want float64) {
		t.Helper()
		for value(t, registry, prefix+"steps_waiting", "image") != want {
			if w.ctx.Err() != nil {
				t.Fatalf("never %v steps that wait for an image", want)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	until(1)
	w.drone.Cancel(id)
	w.clean()
	until(0)
}

// TestReportDelay measures each report of a step that follows from a change in the cluster.
func TestReportDelay(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := newWorld(t, nil)
	w.metrics = registry
	w.start(nil)
	w.ended(w.build(dronetest.Spec{Config: twoSteps}).ID)
	w.clean()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	told, measured := 0., uint64(0)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch family.GetName() {
			case prefix + "steps_told_total":
				told += m.GetCounter().GetValue()
			case prefix + "step_report_delay_seconds":
				measured = m.GetHistogram().GetSampleCount()
				if sum := m.GetHistogram().GetSampleSum(); sum <= 0 || sum > 60 {
					t.Errorf("all reports together took %v s", sum)
				}
			}
		}
	}
	if told < 3 || float64(measured) != told {
		t.Errorf("%d of %v reports were measured", measured, told)
	}
}

// value is that of a metric with a label; 0 where there is none.
func value(t *testing.T, g prometheus.Gatherer, name, label string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == label {
				return m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// TestDocumentation holds docs/metrics.md against the metrics that a runner registers.
func TestDocumentation(t *testing.T) {
	const file = "../docs/metrics.md"
	var seen described
	w := newWorld(t, nil)
	rpc.NewMetrics(&seen)
	CountCalls(&seen)
	if _, err := New(w.options, w.cluster.clients(func(string, bool) error { return nil }), nil, w.cluster.streams, &seen); err != nil {
		t.Fatal(err)
	}
	slices.Sort(seen)
	want := "# Metrics of the runner\n\n" +
		"`drone-runner-tekton daemon` serves them at `/metrics`, beside those of Go and of the process. This page is made from the code.\n" +
		"What to watch is in [operating.md](operating.md).\n\n" +
		"| metric | labels | meaning |\n|---|---|---|\n" + strings.Join(seen, "")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("%s is not up to date; run go test ./bridge -run Documentation -update (-want +got)\n%s", file, diff)
	}
}

// described are the registered metrics, each as a row of a table.
type described []string

var description = regexp.MustCompile(`fqName: "(.*?)", help: "(.*)", .*variableLabels: \{(.*?)\}`)

// Register implements prometheus.Registerer.
func (d *described) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 10)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		m := description.FindStringSubmatch(desc.String())
		if m == nil {
			return fmt.Errorf("cannot read %s", desc)
		}
		*d = append(*d, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], m[3], m[2]))
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (d *described) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := d.Register(c); err != nil {
			panic(err)
		}
	}
}

// Unregister implements prometheus.Registerer.
func (d *described) Unregister(prometheus.Collector) bool { return false }
