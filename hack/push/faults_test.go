//go:build e2e

package push

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drone/drone-go/drone"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// The tests here break a part while builds run. Every build has to end as if nothing had happened, with each line of its
// logs once and in order. Those that break a part that all share are not parallel: Go runs them while no other test does.

// random is the chance by which a test chooses moments. FAULT_SEED repeats a choice.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("FAULT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal("FAULT_SEED: ", err)
		}
	}
	t.Logf("FAULT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// between is a random time.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

// counting is a command that writes numbered lines, and the log that it makes.
func counting(lines int, over time.Duration) (command, log string) {
	command = fmt.Sprintf(`seq %d | while read n; do echo "line $n"; sleep %.2f; done`, lines, over.Seconds()/float64(lines))
	return command, logOf(command, lines)
}

// logOf is the log of a command that has counted so far.
func logOf(command string, lines int) string {
	var log strings.Builder
	fmt.Fprintf(&log, "+ %s\n", command)
	for n := range lines {
		fmt.Fprintf(&log, "line %d\n", n+1)
	}
	return log.String()
}

// faultCase is a pipeline of steps that count, and what becomes of it.
type faultCase struct {
	name   string // the end of the repository's
	source string
	want   expect.Stage
}

// pipeline begins a pipeline's file.
const pipeline = `kind: pipeline
type: docker
name: default
clone: {disable: true}
`

// serialCase has steps that count one after the other.
func serialCase(name string, steps, lines int, over time.Duration) faultCase {
	command, log := counting(lines, over)
	c := faultCase{name, pipeline + "steps:\n", expect.Stage{Result: expect.Success, Steps: map[string]expect.Step{}}}
	for n := range steps {
		step := fmt.Sprintf("step %d", n+1)
		c.source += stepEntry(step, command)
		c.want.Steps[step] = expect.Step{Outcome: expect.Success, Log: &log}
	}
	return c
}

// stepEntry is a step's entry in a pipeline's file.
func stepEntry(name string, commands ...string) string {
	text := fmt.Sprintf("- name: %s\n  image: busybox:1.36\n  commands:\n", name)
	for _, command := range commands {
		text += "  - " + command + "\n"
	}
	return text
}

// failingCase has a step that fails, one that is skipped therefore, and one that handles the failure.
func failingCase(name string, lines int, over time.Duration) faultCase {
	command, log := counting(lines, over)
	failed := log + "+ exit 3\n"
	return faultCase{name, pipeline + "steps:\n" +
		stepEntry("build", command, "exit 3") + stepEntry("publish", "echo not reached") +
		stepEntry("notify", command) + "  when: {status: [failure]}\n",
		expect.Stage{Result: expect.Failure, Steps: map[string]expect.Step{
			"build":   {Outcome: expect.Failure, Exit: 3, Log: &failed},
			"publish": {Outcome: expect.Skipped},
			"notify":  {Outcome: expect.Success, Log: &log},
		}}}
}

// serviceCase has a service that counts, and a step that waits for it and counts too.
func serviceCase(name string, lines int, over time.Duration) faultCase {
	command, log := counting(lines, over)
	const serve, wait = "echo served > index.html; httpd -f -p 8080",
		"until wget -q -O - http://server:8080/index.html 2> /dev/null; do sleep 0.5; done"
	served, waited := log+"+ "+serve+"\n", "+ "+wait+"\nserved\n"+log
	return faultCase{name, pipeline + "services:\n" + stepEntry("server", command, serve) +
		"steps:\n" + stepEntry("client", wait, command),
		expect.Stage{Result: expect.Success, Steps: map[string]expect.Step{
			"server": {Outcome: expect.Success, Log: &served},
			"client": {Outcome: expect.Success, Log: &waited},
		}}}
}

// start starts so many builds of the pipeline, in one repository.
func (c faultCase) start(t testing.TB, r *runner, count int) []*build {
	t.Helper()
	builds := []*build{newRepoNamed(t, c.name, expect.Repository{}).push(r.claim([]byte(c.source)))}
	for len(builds) < count {
		builds = append(builds, builds[0].restart())
	}
	return builds
}

// started are the builds of a test with what is expected of each.
type started struct {
	*build
	want expect.Stage
}

// startAll starts some builds of each pipeline.
func startAll(t testing.TB, r *runner, each int, cases ...faultCase) (all []started) {
	t.Helper()
	for _, c := range cases {
		for _, b := range c.start(t, r, each) {
			all = append(all, started{b, c.want})
		}
	}
	return all
}

// checkAll waits for the end of all, and checks them.
func checkAll(t testing.TB, r *runner, all []started) {
	t.Helper()
	for _, b := range all {
		b.check(b.want)
	}
	for _, b := range all {
		r.clean(t, b.build)
	}
}

// TestRunnerKilled kills the runner again and again while 20 builds run, of which five are cancelled.
func TestRunnerKilled(t *testing.T) {
	t.Parallel()
	r := random(t)
	p := startProcess(t, settings{kind: "docker"}, "")
	long, _ := counting(3000, 5*time.Minute)
	cancelled := faultCase{"cancelled", pipeline + "steps:\n" + stepEntry("long", long) + stepEntry("after", "echo not reached"),
		expect.Stage{Result: expect.Killed, Steps: map[string]expect.Step{
			"long": {Outcome: expect.Killed}, "after": {Outcome: expect.Skipped},
		}}}

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		times, err := p.killAgainAndAgain(r, stop)
		t.Logf("killed %d times, after %v", len(times), times)
		if err != nil {
			t.Error(err)
		}
		if len(times) < 5 {
			t.Errorf("killed %d times only", len(times))
		}
	}()
	end := func() { close(stop); <-stopped }
	defer func() { end() }()

	toCancel := cancelled.start(t, p.runner, 5)
	all := startAll(t, p.runner, 5, serialCase("serial-pod", 3, 40, 4*time.Second), failingCase("failing-chains", 40, 4*time.Second),
		serviceCase("service", 40, 4*time.Second))
	for _, b := range toCancel {
		b.running("long")
		time.Sleep(between(r, 0, 4*time.Second))
		b.cancel()
	}
	for _, b := range append(all, started{toCancel[0], cancelled.want}) {
		b.ended()
	}
	end()
	end = func() {}

	checkAll(t, p.runner, all)
	for _, b := range toCancel {
		b.check(cancelled.want)
		p.clean(t, b)
		lines, err := b.lines(t.Context(), 1, 1)
		if err != nil {
			t.Error(err)
		}
		var log strings.Builder
		for _, line := range lines {
			log.WriteString(line.Message)
		}
		// A cancelled build's pods are deleted. A runner that is killed in the seconds between that and the upload has
		// nowhere to read the log again.
		lost := strings.Contains(log.String(), "[runner] the rest of the log is missing")
		written := expect.WithoutNotes(log.String())
		if !strings.HasPrefix(logOf(long, 3000), written) || written == "" && !lost {
			t.Errorf("build %d was cancelled; its log is not the beginning of what it wrote:\n%s", b.number, log.String())
		}
		t.Logf("build %d was cancelled with %d lines, the log lost: %v", b.number, len(lines), lost)
	}
}

// TestTektonControllerKilled kills Tekton's controller twice. The kubelet starts it again at once, then after 10 s.
func TestTektonControllerKilled(t *testing.T) {
	needsLocalCluster(t)
	r := random(t)
	t.Cleanup(func() { recovered(t) })
	all := startAll(t, docker, 2, serialCase("serial-pod", 3, 40, 4*time.Second), failingCase("failing-chains", 40, 4*time.Second),
		serviceCase("service", 40, 4*time.Second))
	for range 2 {
		time.Sleep(between(r, time.Second, 8*time.Second))
		pods, err := kube.Core.CoreV1().Pods("tekton-pipelines").List(t.Context(), metav1.ListOptions{
			LabelSelector: "app.kubernetes.io/component=controller,app.kubernetes.io/part-of=tekton-pipelines",
		})
		if err != nil || len(pods.Items) != 1 {
			t.Fatalf("Tekton's controller: %v, %d pods", err, len(pods.Items))
		}
		killContainer(t, &pods.Items[0], pods.Items[0].Spec.Containers[0].Name)
	}
	checkAll(t, docker, all)
}

// TestKubeletKilled kills the kubelet of the node that steps run on. Their containers go on without it.
func TestKubeletKilled(t *testing.T) {
	needsLocalCluster(t)
	const node = "node2"
	r := random(t)
	t.Cleanup(func() { recovered(t) })
	c := serialCase("serial-pod", 3, 60, 6*time.Second)
	d := serialCase("serial", 3, 60, 6*time.Second)
	for _, c := range []*faultCase{&c, &d} {
		c.source = strings.Replace(c.source, "type: docker\n", "type: kubernetes\nnode_selector: {kubernetes.io/hostname: "+node+"}\n", 1)
	}
	all := startAll(t, kubernetes, 2, c, d)
	all[0].running("step 1")
	time.Sleep(between(r, 0, 6*time.Second))
	outage(t, node+"-kubelet", 15*time.Second)
	checkAll(t, kubernetes, all)
}

// TestDroneServerKilled kills the Drone server at random moments. What was shown live is lost then, no final log.
func TestDroneServerKilled(t *testing.T) {
	needsLocalCluster(t)
	r := random(t)
	all := startAll(t, docker, 2, serialCase("serial-pod", 3, 40, 4*time.Second), failingCase("failing-chains", 40, 4*time.Second),
		serviceCase("service", 40, 4*time.Second))
	for range 3 {
		time.Sleep(between(r, 0, 6*time.Second))
		outage(t, "drone-server", between(r, time.Second, 10*time.Second))
		droneAnswers(t)
	}
	checkAll(t, docker, all)
}

// droneAnswers waits for the Drone server.
func droneAnswers(t *testing.T) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = droneAPI.call(context.Background(), "GET", "/api/user", nil, &drone.User{}); err == nil {
			return
		}
	}
	t.Fatal("the Drone server does not answer: ", err)
}

// TestAPIConnectionBroken cuts the runner off from the API server, twice so that it knows, and once so that nothing tells.
func TestAPIConnectionBroken(t *testing.T) {
	t.Parallel()
	r := random(t)
	via := startProxy(t)
	p := startProcess(t, settings{kind: "docker"}, via.address)
	all := startAll(t, p.runner, 2, serialCase("serial-pod", 5, 150, 15*time.Second), failingCase("failing-chains", 300, 30*time.Second),
		serviceCase("service", 200, 20*time.Second))
	for range 2 {
		time.Sleep(between(r, 2*time.Second, 8*time.Second))
		t.Logf("%s refusing", time.Now().Format(time.TimeOnly))
		via.refuse()
		time.Sleep(10 * time.Second)
		via.listen()
	}
	time.Sleep(between(r, 2*time.Second, 8*time.Second))
	begun := via.hang(20 * time.Second)
	for via.lastAccepted().Before(begun.Add(20*time.Second)) && time.Since(begun) < time.Minute {
		time.Sleep(100 * time.Millisecond)
	}
	if noticed := via.lastAccepted(); noticed.Before(begun) {
		t.Errorf("the runner has not noticed within %v that its connection is dead", time.Since(begun).Round(time.Second))
	} else {
		t.Logf("the connection hung at %s; the last new one before the check came %v later", begun.Format(time.TimeOnly),
			noticed.Sub(begun).Round(time.Millisecond))
	}
	checkAll(t, p.runner, all)
}

// TestAPIServerKilled kills the API server, and then its store.
func TestAPIServerKilled(t *testing.T) {
	needsLocalCluster(t)
	r := random(t)
	t.Cleanup(func() { recovered(t) })
	all := startAll(t, docker, 2, serialCase("serial-pod", 3, 40, 4*time.Second), failingCase("failing-chains", 40, 4*time.Second),
		serviceCase("service", 40, 4*time.Second))
	for _, name := range []string{"apiserver", "etcd"} {
		time.Sleep(between(r, 0, 6*time.Second))
		outage(t, name, between(r, time.Second, 10*time.Second))
	}
	checkAll(t, docker, all)
}
