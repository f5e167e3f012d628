//go:build e2e

package logs

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// With the build tag e2e, logs are followed on the cluster that KUBECONFIG names, in a namespace of their own:
//
//	KUBECONFIG=… go test -tags e2e -run Cluster ./bridge/logs

const image = "busybox:1.36" // a shell and seq, sed, head, tr, yes, sleep

// place is a namespace for tests.
type place struct {
	client    kubernetes.Interface
	namespace string
}

func newPlace(t *testing.T) place {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ns, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "logs-e2e-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return place{client, ns.Name}
}

// start starts a pod that runs a shell script, and returns its container. It ends a second after the script: containerd
// 1.6 may lose what is still in the pipe when the last process ends, and that is in no log then.
func (p place) start(t *testing.T, script string) *Container {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "step-"},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{
				Name: "step", Image: image, Command: []string{"sh", "-c", "(" + script + "); code=$?; sleep 1; exit $code"},
			}},
		},
	}
	pods := p.client.CoreV1().Pods(p.namespace)
	pod, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	terminated := make(chan struct{})
	go func() {
		defer close(terminated)
		for t.Context().Err() == nil {
			pod, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
			if err == nil && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Terminated != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return &Container{
		Streams: ClusterStreams(p.client.CoreV1()), Namespace: p.namespace, Pod: pod.Name, Name: "step",
		Terminated: terminated,
	}
}

// seqLines are the lines that seq 1 n prints, with a prefix.
func seqLines(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d\n", prefix, i+1)
	}
	return b.String()
}

// unlimited is above what these tests print.
var unlimited = Limit{Bytes: 1 << 30, Lines: 1e8}

func checkUpload(t *testing.T, drone *fakeDrone, want string) {
	t.Helper()
	var got strings.Builder
	for i, line := range drone.log {
		if line.Number != i {
			t.Fatalf("line %d has position %d", i, line.Number)
		}
		got.WriteString(line.Message)
	}
	if got.String() == want {
		return
	}
	n := 0
	for n < min(got.Len(), len(want)) && got.String()[n] == want[n] {
		n++
	}
	t.Errorf("log of %d bytes, want %d; from byte %d on it is %.200q, want %.200q",
		got.Len(), len(want), n, got.String()[n:], want[n:])
}

func TestClusterLogIsComplete(t *testing.T) {
	place := newPlace(t)
	long := strings.Repeat("0123456789", 100_000)
	tests := []struct{ name, script, want string }{
		{"many lines at once", "seq 1 20000", seqLines("", 20_000)},
		{"a line of 1 MB", "yes 0123456789 | head -n 100000 | tr -d '\\n'; echo; echo end", long + "\nend\n"},
		{"a line of 1 MB that takes its time",
			"for i in 1 2 3 4 5; do yes 0123456789 | head -n 20000 | tr -d '\\n'; sleep 1; done; echo; echo end",
			long + "\nend\n"},
		{"no newline at the end", "echo a; printf b", "a\nb"},
		{"a long line without newline", "yes 0123456789 | head -n 100000 | tr -d '\\n'", long},
		{"nothing", "exit 3", ""},
		{"empty lines and escapes", "printf '\\n\\n10%%\\r20%%\\r\\033[2Kdone\\n\\n'", "\n\n10%\r20%\r\x1b[2Kdone\n\n"},
		{"no UTF-8", "printf 'a\\377\\376b\\n'", "a\uFFFDb\n"},
		{"slowly", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done", seqLines("", 6)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			drone := &fakeDrone{}
			relay := New(t.Context(), drone, Config{Limit: unlimited})
			container := place.start(t, test.script)
			if err := relay.Follow(t.Context(), container); err != nil {
				t.Error(err)
			}
			if _, err := relay.Close(t.Context()); err != nil {
				t.Error(err)
			}
			want := test.want
			if strings.HasSuffix(test.name, "newline") || strings.HasPrefix(test.name, "no newline") {
				// Runtimes differ in whether they add the newline that a container has not written.
				if n := len(drone.log); n > 0 {
					drone.log[n-1].Message = strings.TrimSuffix(drone.log[n-1].Message, "\n")
				}
			}
			checkUpload(t, drone, want)
		})
	}
}

// breaking breaks streams after some bytes.
type breaking struct{ Streams }

func (b breaking) Open(ctx context.Context, which Stream) (io.ReadCloser, error) {
	stream, err := b.Streams.Open(ctx, which)
	if err != nil || !which.Follow {
		return stream, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(stream, int64(rand.IntN(500_000))), stream}, nil
}

// TestClusterLogSurvives breaks streams and kills runners, while a container writes more than the node keeps in one
// file, in which case a runner that starts anew finds no more than the newest file.
func TestClusterLogSurvives(t *testing.T) {
	place := newPlace(t)
	t.Run("broken streams", func(t *testing.T) {
		t.Parallel()
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Limit: unlimited})
		container := place.start(t, "for i in 1 2 3 4 5 6 7 8; do seq 1 20000; sleep 1; done")
		container.Streams = breaking{container.Streams}
		if err := relay.Follow(t.Context(), container); err != nil {
			t.Error(err)
		}
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		checkUpload(t, drone, strings.Repeat(seqLines("", 20_000), 8))
	})
	t.Run("rotation", func(t *testing.T) {
		t.Parallel()
		// Some 30 MB at a rate that any kubelet keeps up with: it hands out lines one by one, and drops what is in
		// files that were rotated away before it came to them.
		const rounds, per = 40, 250
		drone := &fakeDrone{}
		relay := New(t.Context(), drone, Config{Limit: unlimited})
		filler := strings.Repeat("x", 3000)
		container := place.start(t, fmt.Sprintf(
			"i=0; while [ $i -lt %d ]; do seq 1 %d | sed s/$/%s/; sleep 1; i=$((i+1)); done", rounds, per, filler))
		if err := relay.Follow(t.Context(), container); err != nil {
			t.Error(err)
		}
		if _, err := relay.Close(t.Context()); err != nil {
			t.Error(err)
		}
		checkUpload(t, drone, strings.Repeat(strings.ReplaceAll(seqLines("", per), "\n", filler+"\n"), rounds))
	})
	t.Run("killed runners", func(t *testing.T) {
		t.Parallel()
		drone := &fakeDrone{}
		container := place.start(t, "for i in $(seq 1 200); do echo $i; sleep 0.1; done")
		var cursor Cursor
		for alive := true; alive; {
			ctx, kill := context.WithCancel(t.Context())
			relay := New(ctx, drone, Config{Cursor: cursor})
			life := time.AfterFunc(time.Duration(1+rand.IntN(3))*time.Second, kill)
			err := relay.Follow(ctx, container)
			if alive = !life.Stop(); alive {
				time.Sleep(100 * time.Millisecond) // A batch may be on its way.
				cursor = relay.Cursor()
				continue
			}
			if err != nil {
				t.Error(err)
			}
			if _, err := relay.Close(ctx); err != nil {
				t.Error(err)
			}
			kill()
		}
		checkUpload(t, drone, seqLines("", 200))
		for i, line := range drone.live {
			if line.Number != i {
				t.Errorf("live line %d has position %d", i, line.Number)
			}
		}
	})
}
