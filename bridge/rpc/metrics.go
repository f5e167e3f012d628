package rpc

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics counts calls to the server. A nil *Metrics counts nothing.
type Metrics struct {
	calls   *prometheus.CounterVec
	retries *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewMetrics registers the metrics of a client.
func NewMetrics(r prometheus.Registerer) *Metrics {
	const prefix = "drone_runner_tekton_rpc_"
	f := promauto.With(r)
	return &Metrics{
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "calls_total",
			Help: "Calls to the Drone server, by call and result: ok, nothing (a long poll that passed in vain), " +
				"conflict, unauthorized, refused, not_applied (no connection), unknown (no usable answer).",
		}, []string{"call", "result"}),
		retries: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "retries_total",
			Help: "Calls to the Drone server that were made again after a failure, by call.",
		}, []string{"call"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    prefix + "call_duration_seconds",
			Help:    "Time from a call to its answer, by call. Long polls are left out.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"call"}),
	}
}

func (m *Metrics) done(call Call, err *Error, took time.Duration) {
	if m == nil {
		return
	}
	m.calls.WithLabelValues(string(call), result(err)).Inc()
	if call != CallRequest && call != CallWatch {
		m.seconds.WithLabelValues(string(call)).Observe(took.Seconds())
	}
}

func (m *Metrics) retried(call Call) {
	if m != nil {
		m.retries.WithLabelValues(string(call)).Inc()
	}
}

func result(err *Error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errNothing):
		return "nothing"
	case errors.Is(err, ErrConflict):
		return "conflict"
	case errors.Is(err, ErrUnauthorized):
		return "unauthorized"
	case err.Outcome == Refused:
		return "refused"
	case err.Outcome == NotApplied:
		return "not_applied"
	}
	return "unknown"
}
