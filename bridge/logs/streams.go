package logs

import (
	"context"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Streams opens container logs.
type Streams interface {
	// Open opens the log of a container. Each line of the stream begins with its timestamp (RFC 3339) and a space.
	// Ending ctx ends the stream.
	Open(ctx context.Context, which Stream) (io.ReadCloser, error)
}

// Stream tells which part of which log to open.
type Stream struct {
	Namespace, Pod, Container string
	// Since leaves out lines with earlier timestamps. The zero time leaves out none.
	Since time.Time
	// Follow keeps the stream open until the container has ended.
	Follow bool
}

// ClusterStreams opens logs through the API server. It needs the permission to get pods/log.
func ClusterStreams(client clientv1.PodsGetter) Streams { return clusterStreams{client} }

type clusterStreams struct{ client clientv1.PodsGetter }

func (s clusterStreams) Open(ctx context.Context, which Stream) (io.ReadCloser, error) {
	options := &corev1.PodLogOptions{Container: which.Container, Follow: which.Follow, Timestamps: true}
	if !which.Since.IsZero() {
		options.SinceTime = &metav1.Time{Time: which.Since}
	}
	return s.client.Pods(which.Namespace).GetLogs(which.Pod, options).Stream(ctx)
}
