package cluster

import (
	"net"
	"net/http"
	"sync"
	"testing"
)

// Gate is a place that steps can ask over HTTP whether they may go on.
type Gate struct {
	URL   string
	Open  func()
	Asked <-chan struct{} // closed when somebody has asked
}

// NewGate makes a gate where pods reach this machine: at HOST_ADDRESS.
func NewGate(t *testing.T) Gate {
	t.Helper()
	listener := Listen(t)
	opened, asked := make(chan struct{}), make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		ask()
		select {
		case <-opened:
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go server.Serve(listener) // until the test closes it
	t.Cleanup(func() { server.Close() })
	return Gate{"http://" + listener.Addr().String() + "/", sync.OnceFunc(func() { close(opened) }), asked}
}

// Listen opens a port that pods can reach.
func Listen(t *testing.T) net.Listener {
	t.Helper()
	address := Setting("HOST_ADDRESS", "")
	if address == "" {
		t.Fatal("HOST_ADDRESS is not set: the address of this machine as pods see it")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatalf("listening at HOST_ADDRESS: %v", err)
	}
	return listener
}
