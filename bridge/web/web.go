// Package web serves the runner's own pages: whether it lives and works, its metrics, and for people the pipelines that it
// runs.
package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/drone-tekton/drone-runner-tekton/bridge/journal"
)

// Options say where and for whom.
type Options struct {
	Address string // host:port or :port
	// User and Password guard the dashboard; without a password there is none.
	User, Password, Realm string
}

// Runner is what the pages tell about.
type Runner interface {
	// Live is an error where the process has to be started anew, Ready one where it cannot take on work.
	Live() error
	Ready() error
	Entries() []*journal.Entry
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ago": func(t time.Time) string { return time.Since(t).Round(time.Second).String() },
}).Parse(pageText))

// Handler serves the pages.
func Handler(o Options, r Runner, metrics prometheus.Gatherer) http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /healthz", check(r.Live))
	m.Handle("GET /readyz", check(r.Ready))
	m.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	if o.Password != "" {
		m.Handle("GET /{$}", guard(o, dashboard(r)))
	}
	return m
}

func check(ask func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := ask(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// guard lets in who knows user and password. Hashes make the comparison take the same time whatever is wrong.
func guard(o Options, next http.Handler) http.Handler {
	same := func(a, b string) bool {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return subtle.ConstantTimeCompare(x[:], y[:]) == 1
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if userOK, passwordOK := same(user, o.User), same(password, o.Password); !userOK || !passwordOK {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", o.Realm))
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func dashboard(r Runner) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entries := r.Entries()
		slices.SortFunc(entries, func(a, b *journal.Entry) int { return b.Reserved.Compare(a.Reserved) })
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_ = page.Execute(w, entries) // The reader has gone.
	})
}

// Serve serves until ctx ends.
func Serve(ctx context.Context, o Options, h http.Handler) error {
	server := &http.Server{Addr: o.Address, Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the runner's pages: %w", err)
	}
	return nil
}
