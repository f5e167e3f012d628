package bridge

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/transport"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
)

// metrics of the way of stages.
type metrics struct {
	offered, taken prometheus.Counter
	created        prometheus.Histogram
	started        prometheus.Histogram
	delay          prometheus.Histogram
	told           *prometheus.CounterVec
	ended          *prometheus.CounterVec
	finished       *prometheus.CounterVec
	retries        prometheus.Counter
	adopted        prometheus.Counter
	removed        prometheus.Counter
}

const prefix = "drone_runner_tekton_"

// newMetrics makes the metrics and registers them. Without a registerer they count for nobody.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label})
	}
	buckets := []float64{.05, .1, .2, .3, .5, 1, 2, 5, 10, 30, 60, 300}
	return &metrics{
		offered: counter("stages_offered_total", "Stages that the Drone server has offered to this runner."),
		taken:   counter("stages_taken_total", "Stages that this runner has taken."),
		created: f.NewHistogram(prometheus.HistogramOpts{Name: prefix + "stage_creation_seconds",
			Help: "Time from the offer of a stage until its PipelineRun and all that it owns exist.", Buckets: buckets}),
		started: f.NewHistogram(prometheus.HistogramOpts{Name: prefix + "step_start_delay_seconds",
			Help: "Time from the start of a step's container until the Drone server knows of it.", Buckets: buckets}),
		delay: f.NewHistogram(prometheus.HistogramOpts{Name: prefix + "step_report_delay_seconds",
			Help: "Time from the arrival of a step's new state from the cluster until the Drone server knows of it, its log included.", Buckets: buckets}),
		told:     counters("steps_told_total", "Reports of steps to the Drone server, by status.", "status"),
		ended:    counters("stages_ended_early_total", "Stages that the runner ended before their end, by cause.", "cause"),
		finished: counters("stages_finished_total", "Stages that have come to their end, by status.", "status"),
		retries:  counter("stage_retries_total", "Looks at a stage that failed, and are repeated."),
		adopted:  counter("stages_adopted_total", "Stages that another process of the runner had begun, and this one goes on with."),
		removed:  counter("runs_removed_total", "PipelineRuns that were cleaned up."),
	}
}

// CountCalls registers a counter of calls to the API server, and gives what makes a connection count. A watch is one call.
func CountCalls(r prometheus.Registerer) transport.WrapperFunc {
	calls := promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: prefix + "api_calls_total",
		Help: "Calls to the Kubernetes API server, by method and status code; a watch is one call."}, []string{"method", "code"})
	return func(next http.RoundTripper) http.RoundTripper {
		return promhttp.InstrumentRoundTripperCounter(calls, next)
	}
}

// gauges registers what can be counted at any time: the stages that are held, by phase, the steps that wait, by what for, and
// the length of the queue.
func gauges(r prometheus.Registerer, w *watched, ss *sessions, queue interface{ Len() int }) {
	if r == nil {
		return
	}
	r.MustRegister(&stageGauge{
		stages: prometheus.NewDesc(prefix+"stages", "Stages in the journal, by phase.", []string{"phase"}, nil),
		waiting: prometheus.NewDesc(prefix+"steps_waiting",
			"Steps that do not run for a reason that is told in their logs, by what they wait for.", []string{"for"}, nil),
		queue: prometheus.NewDesc(prefix+"queue_length", "Stages that wait for a worker.", nil, nil),
		w:     w, sessions: ss, length: queue.Len,
	})
}

type stageGauge struct {
	stages, waiting, queue *prometheus.Desc
	w                      *watched
	sessions               *sessions
	length                 func() int
}

func (g *stageGauge) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.stages
	ch <- g.waiting
	ch <- g.queue
}

func (g *stageGauge) Collect(ch chan<- prometheus.Metric) {
	phases := map[string]int{}
	g.w.briefs(func(_ string, phase journal.Phase) { phases[string(phase)]++ })
	for phase, n := range phases {
		ch <- prometheus.MustNewConstMetric(g.stages, prometheus.GaugeValue, float64(n), phase)
	}
	for what, n := range g.sessions.waiting() {
		ch <- prometheus.MustNewConstMetric(g.waiting, prometheus.GaugeValue, float64(n), what)
	}
	ch <- prometheus.MustNewConstMetric(g.queue, prometheus.GaugeValue, float64(g.length()))
}
