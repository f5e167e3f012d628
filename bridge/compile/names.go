package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/drone-tekton/drone-runner-tekton/bridge/rpc"
	"github.com/drone-tekton/drone-runner-tekton/translate"
)

const (
	// maxName is the longest name of a run. Names of Pods, claims and TaskRuns begin with it.
	maxName = 45
	// suffixLength makes a name unique among repositories of one name, and among servers.
	suffixLength = 6
)

// RunName is the name of a stage's PipelineRun: repository, build and pipeline for people, and an end that makes it the
// only one of its name. The same stage has the same name whoever asks, so that it cannot run twice.
func RunName(d *rpc.Details, stage *rpc.Stage) string {
	text := d.Repo.Name + " " + strconv.FormatInt(d.Build.Number, 10)
	if stage.Name != "" && stage.Name != "default" {
		text += " " + stage.Name
	}
	name := translate.FileName(text)
	if name[0] >= '0' && name[0] <= '9' { // Names of Services begin with a letter.
		name = "run-" + name
	}
	name = strings.TrimRight(name[:min(len(name), maxName-suffixLength-1)], "-")
	host := ""
	if d.System != nil {
		host = d.System.Host
	}
	sum := sha256.Sum256([]byte(host + "\x00" + strconv.FormatInt(stage.ID, 10)))
	return name + "-" + hex.EncodeToString(sum[:])[:suffixLength]
}
