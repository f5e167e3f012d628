package rpc

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Call names one of the server's procedures, as errors, metrics and dumps do.
type Call string

// The procedures.
const (
	CallPing        Call = "ping"
	CallRequest     Call = "request"
	CallAccept      Call = "accept"
	CallDetails     Call = "details"
	CallUpdateStage Call = "update stage"
	CallUpdateStep  Call = "update step"
	CallWatch       Call = "watch"
	CallBatch       Call = "log batch"
	CallUpload      Call = "log upload"
	CallUploadCard  Call = "card"
	CallPage        Call = "page" // The build's page, which is not for runners alone.
)

// Options say where the server is and how to treat it. Server and Secret are required.
type Options struct {
	Server string // Address of the server, for example https://drone.example.com.
	Secret string // The secret that the server and its runners share.

	SkipVerify bool   // Do not check the server's certificate.
	UserAgent  string // Default "drone-runner-tekton".

	// RetryFor limits how long a call that can be repeated is tried, default 2 minutes. Long polls and Accept are
	// tried until their context ends.
	RetryFor time.Duration

	// BackOff makes the waits between tries, default exponential from 250 ms to 30 s with jitter.
	BackOff func() backoff.BackOff

	// OnRetry, if set, is told of each failed try that is going to be repeated, and of the wait before that.
	OnRetry func(call Call, err error, wait time.Duration)

	// WatchEvery is the time after which Watch begins its next poll, default 20 s. It has to be shorter than the time
	// after which the server ends a poll, 30 s, for no cancellation to be missed.
	WatchEvery time.Duration

	// Metrics, if set, counts the calls.
	Metrics *Metrics

	// Dump, if set, is where each call and its answer are written to, without secrets; DumpBody adds the bodies.
	Dump     io.Writer
	DumpBody bool

	// Transport replaces the HTTP transport, and SkipVerify with it.
	Transport http.RoundTripper
}

// Client calls a Drone server on behalf of a runner. It can be used by several goroutines at once.
type Client struct {
	o      Options
	root   *url.URL // of the server
	base   *url.URL // of its calls for runners
	http   *http.Client
	dumpMu sync.Mutex
}

// New returns a client. It does not connect.
func New(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(o.Server, "/"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("address of the Drone server: %w", err)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("address of the Drone server: %q: want http://HOST or https://HOST", o.Server)
	case o.Secret == "":
		return nil, errors.New("no secret for the Drone server: the server refuses runners without one")
	}
	if o.UserAgent == "" {
		o.UserAgent = "drone-runner-tekton"
	}
	if o.RetryFor == 0 {
		o.RetryFor = 2 * time.Minute
	}
	if o.WatchEvery == 0 {
		o.WatchEvery = 20 * time.Second
	}
	if o.BackOff == nil {
		o.BackOff = defaultBackOff
	}
	if o.Transport == nil {
		o.Transport = newTransport(o.SkipVerify)
	}
	return &Client{
		o:    o,
		root: base,
		base: base.JoinPath("rpc/v2"),
		http: &http.Client{
			Transport:     o.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func defaultBackOff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = 250 * time.Millisecond
	b.MaxInterval = 30 * time.Second
	b.Multiplier = 2
	return b
}

func newTransport(skipVerify bool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	// Each build that runs holds a poll or two; the default would close all but two connections after each of them.
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 1024
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: skipVerify}
	return t
}
