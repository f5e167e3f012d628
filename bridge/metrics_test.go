package bridge

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/drone-tekton/drone-runner-tekton/bridge/dronetest"
)

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
