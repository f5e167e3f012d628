// Measure runs pipelines on a real cluster and tells how long they take as a whole, and where the time of a step goes that
// is not its work. Script run calls it with what it needs.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// measurement is one pipeline that runs several times.
type measurement struct {
	name     string
	pipeline string
	flags    []string
	walls    []time.Duration
	steps    []timeline // of all runs
}

func (m *measurement) median() time.Duration {
	sorted := slices.Sorted(slices.Values(m.walls))
	return sorted[len(sorted)/2]
}

// serial is a row of steps that sleep.
func serial(steps, seconds int) string {
	var b strings.Builder
	b.WriteString("kind: pipeline\ntype: docker\nname: serial\nclone: {disable: true}\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&b, "- {name: step-%d, image: 'busybox:1.36', commands: [sleep %d]}\n", i+1, seconds)
	}
	return b.String()
}

// parallel are steps that sleep side by side. The last one, which does not run, makes the pipeline a graph.
func parallel(steps, seconds int) string {
	var b strings.Builder
	b.WriteString("kind: pipeline\ntype: docker\nname: parallel\nclone: {disable: true}\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&b, "- {name: step-%d, image: 'busybox:1.36', commands: [sleep %d]}\n", i+1, seconds)
	}
	b.WriteString("- {name: failed, image: 'busybox:1.36', commands: [echo], depends_on: [step-1], when: {status: [failure]}}\n")
	return b.String()
}

// claim is an existing claim that many nodes can use. Without its provisioning, which depends on the cluster's storage,
// the runs show what is ours.
const claim = "measure"

func measurements() []*measurement {
	many := []string{"--spread", "--claim=" + claim}
	return []*measurement{
		{name: "5 x 1 s in a row, steps", pipeline: serial(5, 1)},
		{name: "5 x 1 s in a row, steps, waiting for Tekton's mark", pipeline: serial(5, 1), flags: []string{"--injected-sidecars"}},
		{name: "5 x 1 s in a row, chains", pipeline: serial(5, 1), flags: []string{"--layout=chains"}},
		{name: "5 x 1 s in a row, pod", pipeline: serial(5, 1), flags: []string{"--layout=pod"}},
		{name: "1 x 5 s alone", pipeline: parallel(1, 5), flags: many},
		{name: "8 x 5 s at once, spread", pipeline: parallel(8, 5), flags: many},
	}
}

func main() {
	runs := flag.Int("runs", 3, "how often each pipeline runs")
	program := flag.String("program", "", "the program under measure")
	class := flag.String("shared-class", "shared", "storage class of claims for many nodes")
	only := flag.String("only", "", "measure those alone whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *program, *class, *only, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, program, class, only string, runs int) error {
	c, err := connect(program)
	if err != nil {
		return err
	}
	if err := c.begin(ctx, class); err != nil {
		return err
	}
	defer c.end()
	var list []*measurement
	for _, m := range measurements() {
		if strings.Contains(m.name, only) {
			list = append(list, m)
		}
	}
	// In turns, so that what else the machine does meets all of them.
	for range runs {
		for _, m := range list {
			wall, steps, err := c.run(ctx, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			m.walls = append(m.walls, wall)
			m.steps = append(m.steps, steps...)
			fmt.Fprintf(os.Stderr, "%-50s %5.1f s\n", m.name, wall.Seconds())
		}
	}
	_, err = os.Stdout.Write(report(list))
	return err
}

// report shows the whole runs, and the mean of each part of their tasks.
func report(list []*measurement) []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "PIPELINE\tMEDIAN\tALL")
	for _, p := range parts {
		fmt.Fprintf(w, "\t%s", strings.ToUpper(p.name))
	}
	fmt.Fprintln(w, "\tTASKS")
	for _, m := range list {
		var all []string
		for _, wall := range m.walls {
			all = append(all, fmt.Sprintf("%.1f", wall.Seconds()))
		}
		fmt.Fprintf(w, "%s\t%.1f\t%s", m.name, m.median().Seconds(), strings.Join(all, " "))
		for _, p := range parts {
			fmt.Fprintf(w, "\t%s", mean(m.steps, p))
		}
		fmt.Fprintf(w, "\t%d\n", len(m.steps))
	}
	w.Flush() // A buffer takes everything.
	return out.Bytes()
}

// mean is the mean of one part over tasks, in seconds.
func mean(steps []timeline, p part) string {
	var sum time.Duration
	n := 0
	for _, s := range steps {
		from, to := s[p.from], s[p.to]
		if from.IsZero() || to.IsZero() {
			continue
		}
		sum += to.Sub(from)
		n++
	}
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", sum.Seconds()/float64(n))
}
