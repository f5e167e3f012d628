//go:build e2e

package push

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drone/drone-go/drone"

	"github.com/drone-tekton/drone-runner-tekton/hack/e2e/expect"
)

// TestCancel: what runs is killed, what waits is skipped, handlers of failures too, and the log up to then is there. The
// runner keeps on with other builds of the same repository.
func TestCancel(t *testing.T) {
	t.Parallel()
	long, _ := counting(3000, 5*time.Minute)
	source := docker.claim([]byte(pipeline + "services:\n" + stepEntry("server", "sleep 600") +
		"steps:\n" + stepEntry("long", long) + stepEntry("after", "echo not reached") +
		stepEntry("notify", "echo not reached") + "  when: {status: [failure]}\n"))
	r := newRepo(t, expect.Repository{})
	b := r.push(source)
	b.running("long")
	waitForLine(b, 2, "line 20\n")
	b.cancel()
	docker.clean(t, b) // The server ends the build at once, and takes the logs from the runner later.
	b.check(expect.Stage{Result: expect.Killed, Steps: map[string]expect.Step{
		"server": {Outcome: expect.Killed}, "long": {Outcome: expect.Killed},
		"after": {Outcome: expect.Skipped}, "notify": {Outcome: expect.Skipped},
	}})
	lines, err := b.lines(t.Context(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for _, line := range lines {
		log.WriteString(line.Message)
	}
	if !strings.HasPrefix(logOf(long, 3000), log.String()) || !strings.Contains(log.String(), "line 20\n") {
		t.Errorf("the log is not all that was written until the cancel:\n%s", log.String())
	}
}

// waitForLine waits until a line is in the live log of a step of the first stage, as the server's page shows it.
func waitForLine(b *build, step int, line string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("%s/api/stream/%s/%d/1/%d", droneAPI.url, b.slug, b.number, step), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	droneAPI.authorize(request)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	events := bufio.NewScanner(answer.Body)
	for events.Scan() {
		data, ok := strings.CutPrefix(events.Text(), "data: ")
		var l drone.Line
		if ok && json.Unmarshal([]byte(data), &l) == nil && l.Message == line {
			return
		}
	}
	b.t.Fatalf("the live log ends without %q: %s, %v", line, answer.Status, events.Err())
}

// TestRestart: a build that is started again runs anew, with a number of its own.
func TestRestart(t *testing.T) {
	t.Parallel()
	const show = "echo $DRONE_BUILD_NUMBER; test $DRONE_BUILD_NUMBER = 2"
	source := docker.claim([]byte(pipeline + "steps:\n" + stepEntry("flaky", show)))
	first := newRepo(t, expect.Repository{}).push(source)
	logs := []string{"+ " + show + "\n1\n", "+ " + show + "\n2\n"}
	first.check(expect.Stage{Result: expect.Failure, Steps: map[string]expect.Step{
		"flaky": {Outcome: expect.Failure, Exit: 1, Log: &logs[0]},
	}})
	second := first.restart()
	second.check(expect.Stage{Result: expect.Success, Steps: map[string]expect.Step{
		"flaky": {Outcome: expect.Success, Log: &logs[1]},
	}})
	docker.clean(t, first)
	docker.clean(t, second)
}
