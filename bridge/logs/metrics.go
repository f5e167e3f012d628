package logs

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics of the logs' way, for all steps together.
type Metrics struct {
	lines, bytes  prometheus.Counter
	resumed       prometheus.Counter
	lag           prometheus.Histogram
	lostBatches   prometheus.Counter
	leftOutLive   prometheus.Counter
	leftOutUpload prometheus.Counter
}

// NewMetrics makes the metrics and registers them. Without a registerer they count for nobody.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "drone_runner_tekton_log_" + name, Help: help})
	}
	return &Metrics{
		lines:   counter("lines_total", "Lines that containers have written to their logs."),
		bytes:   counter("bytes_total", "Bytes that containers have written to their logs."),
		resumed: counter("streams_resumed_total", "Log streams that were opened again, for a container that had not ended."),
		lag: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "drone_runner_tekton_log_lag_seconds",
			Help:    "Time from a line's timestamp on the node until Drone had it live; the oldest line of each batch.",
			Buckets: []float64{.1, .25, .5, .75, 1, 1.5, 2, 3, 5, 10, 30, 60},
		}),
		lostBatches:   counter("live_batches_dropped_total", "Batches of live lines that Drone did not take."),
		leftOutLive:   counter("live_lines_left_out_total", "Lines left out of the live view because there were too many."),
		leftOutUpload: counter("left_out_bytes_total", "Bytes left out of uploaded logs because of the limit."),
	}
}
