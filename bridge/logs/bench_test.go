package logs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// buildLog is what a build might print: size bytes of lines of some 90 bytes.
func buildLog(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "[%6d/500000] Compiling module_%d v1.%d.0 (registry+https://example.com/index) in 1.%ds\n",
			i, i*7919%10007, i%100, i%60)
	}
	return b.Bytes()[:size]
}

// someSecrets are n secrets of 8 to 40 characters, and one key of 3 KiB for every 20.
func someSecrets(n int) []string {
	var all []string
	for i := range n {
		raw := make([]byte, 6+i%25)
		if i%20 == 0 {
			raw = make([]byte, 2300)
		}
		_, _ = rand.Read(raw) // It never fails.
		secret := base64.StdEncoding.EncodeToString(raw)
		if len(raw) > 2000 {
			secret = "-----BEGIN KEY-----\n" + wrap(secret, 64) + "\n-----END KEY-----\n"
		}
		all = append(all, secret)
	}
	return all
}

func BenchmarkMask(b *testing.B) {
	log := buildLog(1 << 20)
	for _, n := range []int{0, 1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			masker := NewMasker(someSecrets(n)...)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				w := masker.Writer(io.Discard)
				for line := range pieces(log) {
					_, _ = w.Write(line)
				}
				_ = w.Flush()
			}
			if a := masker.automaton; a != nil {
				b.ReportMetric(float64(len(a.nodes)*16+len(a.rows)*4)/1024, "KiB-masker")
			}
		})
	}
}

func BenchmarkNewMasker(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			secrets := someSecrets(n)
			b.ReportAllocs()
			for b.Loop() {
				NewMasker(secrets...)
			}
		})
	}
}

// generated is a log of so many bytes that takes no memory.
type generated struct {
	size int
	line []byte
}

func (g generated) Open(_ context.Context, which Stream) (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		stamp := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		out := bufio.NewWriterSize(w, 32<<10)
		var b []byte
		for n := 0; n < g.size; n += len(g.line) {
			if stamp = stamp.Add(time.Microsecond); stamp.Before(which.Since) {
				continue
			}
			b = stamp.AppendFormat(b[:0], "2006-01-02T15:04:05.000000000Z07:00 ")
			if _, err := out.Write(b); err != nil {
				return
			}
			if _, err := out.Write(g.line); err != nil {
				return
			}
		}
		_ = out.Flush()
		_ = w.Close()
	}()
	return r, nil
}

// encodingDrone encodes what it gets, as bridge/rpc does.
type encodingDrone struct{}

func (d *encodingDrone) Batch(_ context.Context, _ int64, lines []*Line) error {
	return json.NewEncoder(io.Discard).Encode(lines)
}

func (d *encodingDrone) Upload(_ context.Context, _ int64, lines []*Line) error {
	e := json.NewEncoder(io.Discard)
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (d *encodingDrone) UploadCard(context.Context, int64, *Card) error { return nil }

// someLines are an empty line, a usual one and a line of 1 MiB.
func someLines() [][]byte {
	usual, _, _ := bytes.Cut(buildLog(1000), []byte{'\n'})
	return [][]byte{{'\n'}, append(usual, '\n'), append(bytes.Repeat([]byte("x"), 1<<20), '\n')}
}

// relayGenerated relays one generated log to its end.
func relayGenerated(ctx context.Context, size int, line []byte, masker *Masker, full func()) error {
	terminated := make(chan struct{})
	close(terminated)
	relay := New(ctx, &encodingDrone{}, Config{Masker: masker})
	container := &Container{Streams: generated{size, line}, Terminated: terminated}
	if err := relay.Follow(ctx, container); err != nil {
		return err
	}
	full()
	_, err := relay.Close(ctx)
	return err
}

// BenchmarkRelay50MB relays 50 MB of log, with 100 secrets, from the stream to the JSON of the upload. peak-RSS is the
// most memory that the process ever had.
func BenchmarkRelay50MB(b *testing.B) {
	masker := NewMasker(someSecrets(100)...)
	for _, line := range someLines() {
		b.Run(fmt.Sprintf("line=%d", len(line)), func(b *testing.B) {
			const size = 50e6
			b.SetBytes(size)
			for b.Loop() {
				if err := relayGenerated(b.Context(), size, line, masker, func() {}); err != nil {
					b.Fatal(err)
				}
			}
			if status, err := os.ReadFile("/proc/self/status"); err == nil {
				if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); m != nil {
					kib, _ := strconv.Atoi(string(m[1])) // Digits only.
					b.ReportMetric(float64(kib)/1024, "MiB-peak-RSS")
				}
			}
		})
	}
}

// TestMemoryIsBoundedByTheLimit and not by what a step prints.
func TestMemoryIsBoundedByTheLimit(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, line := range someLines() {
		t.Run(fmt.Sprintf("line=%d", len(line)), func(t *testing.T) {
			before, after := heap(), int64(0)
			size := min(20e6, 1e6*len(line))
			err := relayGenerated(t.Context(), size, line, NewMasker("hunter2"), func() { after = heap() })
			if err != nil {
				t.Fatal(err)
			}
			if held := after - before; held > 24<<20 {
				t.Errorf("%d MiB are held of a log of %d bytes", held>>20, size)
			}
		})
	}
}
