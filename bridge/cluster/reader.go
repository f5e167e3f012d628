package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"

	"github.com/drone-tekton/drone-runner-tekton/workspace"
)

// fresh is how long what was read is taken for true. Who adds a storage class does not want to start a runner anew.
const fresh = time.Minute

// Reader reads what runs need to know of a cluster, and keeps it for a minute.
type Reader struct {
	client kubernetes.Interface
	kept   *cache.Expiring // Facts by namespace
}

// NewReader makes a reader.
func NewReader(client kubernetes.Interface) *Reader {
	return &Reader{client: client, kept: cache.NewExpiring()}
}

// Offers is what the planner of files may rely on for runs in the namespace, and whether others inject sidecars there.
// What cannot be read is not known, which is no error.
func (r *Reader) Offers(ctx context.Context, namespace string) (known *workspace.Cluster, injects bool) {
	if f, ok := r.kept.Get(namespace); ok {
		return f.(Facts).Known(), f.(Facts).Injects != ""
	}
	f := Facts{Namespace: namespace, Unread: map[string]string{}}
	f.readTekton(ctx, r.client)
	f.readClasses(ctx, r.client)
	f.readNamespace(ctx, r.client)
	r.kept.Set(namespace, f, fresh)
	return f.Known(), f.Injects != ""
}
