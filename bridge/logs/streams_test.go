package logs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func TestClusterStreamsAskTheAPIServer(t *testing.T) {
	tests := []struct {
		name   string
		since  time.Time
		follow bool
		want   string
	}{
		{"to the end", time.Time{}, false, "container=step-a&timestamps=true"},
		{"on and on, from a time", at(time.Second), true,
			"container=step-a&follow=true&sinceTime=2000-01-01T00%3A00%3A01Z&timestamps=true"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.String()
				_, _ = io.WriteString(w, "2000-01-01T00:00:00.000000000Z a\n")
			}))
			defer server.Close()
			stream, err := clusterStreamsOf(t, server).Open(t.Context(), Stream{
				Namespace: "builds", Pod: "pod", Container: "step-a", Since: test.since, Follow: test.follow,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			text, err := io.ReadAll(stream)
			if err != nil || string(text) != "2000-01-01T00:00:00.000000000Z a\n" {
				t.Errorf("read %q, %v", text, err)
			}
			if want := "/api/v1/namespaces/builds/pods/pod/log?" + test.want; asked != want {
				t.Errorf("asked for %s, want %s", asked, want)
			}
		})
	}
}

// TestClusterStreamsTellWhyNot keeps the API server's errors apart, since Follow gives up on some of them only.
func TestClusterStreamsTellWhyNot(t *testing.T) {
	tests := []struct {
		code int
		is   func(error) bool
	}{
		{http.StatusNotFound, apierrors.IsNotFound},
		{http.StatusBadRequest, apierrors.IsBadRequest},
		{http.StatusInternalServerError, apierrors.IsInternalError},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(test.code)
		}))
		stream, err := clusterStreamsOf(t, server).Open(t.Context(), Stream{Namespace: "builds", Pod: "pod"})
		if err == nil {
			stream.Close()
		}
		if !test.is(err) {
			t.Errorf("status %d: error %v", test.code, err)
		}
		server.Close()
	}
}

func clusterStreamsOf(t *testing.T, server *httptest.Server) Streams {
	t.Helper()
	client, err := clientv1.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return ClusterStreams(client)
}
