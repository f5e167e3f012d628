package policy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/docker/go-units"
	droneyaml "github.com/drone/drone-yaml/yaml"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/drone-tekton/drone-runner-tekton/translate/drone"
)

// checkValue looks at a scalar of the right shape, with the key that it has in a map of texts. It tells what is wrong with
// it, and a way out; no problem is "".
type checkValue func(name, text string) (problem, hint string)

// oneOf takes one of a few words.
func oneOf[T ~string](words ...T) checkValue {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	return func(_, text string) (string, string) {
		if slices.Contains(all, text) {
			return "", ""
		}
		return fmt.Sprintf("%q is not possible", text), choose(text, all)
	}
}

// choose is a hint with the allowed words, and the one that was probably meant.
func choose(text string, words []string) string {
	hint := "possible is " + words[0]
	if last := len(words) - 1; last > 0 {
		hint = "possible are " + strings.Join(words[:last], ", ") + " and " + words[last]
	}
	if meant := drone.DidYouMean(text, words); meant != "" {
		hint = meant + " " + hint
	}
	return hint
}

const (
	labelRule = "use lower-case letters, digits and hyphens, at most 63, with a letter or digit at both ends"
	nameRule  = "use lower-case letters, digits, hyphens and dots, with a letter or digit at both ends"
	keyRule   = "use letters, digits, hyphens, underscores and dots, at most 63, after a domain and a slash if need be"
	valueRule = "use letters, digits, hyphens, underscores and dots, at most 63, with a letter or digit at both ends"
)

func dnsLabel(what string) checkValue {
	return func(_, text string) (string, string) {
		if len(validation.IsDNS1123Label(text)) > 0 {
			return fmt.Sprintf("%q cannot be the name of %s", text, what), labelRule
		}
		return "", ""
	}
}

func dnsName(what string) checkValue {
	return func(_, text string) (string, string) {
		if len(validation.IsDNS1123Subdomain(text)) > 0 {
			return fmt.Sprintf("%q cannot be the name of %s", text, what), nameRule
		}
		return "", ""
	}
}

func qualified(what string) checkValue {
	return func(_, text string) (string, string) {
		if text != "" && len(validation.IsQualifiedName(text)) > 0 {
			return fmt.Sprintf("%q cannot be %s", text, what), keyRule
		}
		return "", ""
	}
}

func labelValue(_, text string) (string, string) {
	if len(validation.IsValidLabelValue(text)) > 0 {
		return fmt.Sprintf("%q cannot be the value of a label", text), valueRule
	}
	return "", ""
}

func labels(name, text string) (string, string) {
	if problem, hint := annotations(name, text); problem != "" {
		return problem, hint
	}
	if len(validation.IsQualifiedName(name)) > 0 {
		return fmt.Sprintf("%q cannot be the name of a label", name), keyRule
	}
	return labelValue(name, text)
}

// Reserved begins the names of the runner's own labels and annotations.
const Reserved = "drone.io/"

func annotations(name, _ string) (string, string) {
	switch {
	case strings.HasPrefix(name, Reserved):
		return fmt.Sprintf("%q is one of the runner's own", name), "use another domain than drone.io"
	case len(validation.IsQualifiedName(strings.ToLower(name))) > 0:
		return fmt.Sprintf("%q cannot be the name of a label or annotation", name), keyRule
	default:
		return "", ""
	}
}

// leastClaim is fewer bytes than any file system takes for itself.
const leastClaim = 1 << 20

func quantity(_, text string) (string, string) {
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil || q.Sign() <= 0:
		return fmt.Sprintf("%q is no size", text), "use an amount such as 10Gi or 500Mi"
	case q.Value() < leastClaim:
		return fmt.Sprintf("%q is a size of %d bytes, in which no source has room", text, q.Value()), "write a unit, such as " + text + "Gi"
	default:
		return "", ""
	}
}

func duration(_, text string) (string, string) {
	d, err := time.ParseDuration(text)
	switch {
	case err == nil && d >= 0:
		return "", ""
	case strings.HasSuffix(text, "d"):
		if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil && days > 0 {
			return fmt.Sprintf("%q is no time: there is no unit for days", text), fmt.Sprintf("write %dh", 24*days)
		}
	}
	return fmt.Sprintf("%q is no time", text), "use hours, minutes and seconds, such as 24h or 90m"
}

func fromZero(_, text string) (string, string) {
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
		return text + " is not a whole number from 0", "write a number from 0"
	}
	return "", ""
}

func cpu(_, text string) (string, string) {
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n <= 0 {
		return text + " is no amount of CPU", "write thousandths of a core: 500 is half a core; leave the key out for none"
	}
	return "", ""
}

// bytesOfText is a size as Drone reads it: every unit is binary.
func bytesOfText(text string) int64 {
	n, err := units.RAMInBytes(text)
	if err != nil {
		return 0
	}
	return n
}

func disk(_, text string) (string, string) {
	if bytesOfText(text) <= 0 {
		return fmt.Sprintf("%s is no size", text), "write a size such as 512MiB; leave the key out for none"
	}
	return "", ""
}

// leastMemory is what no container can start with less of, in bytes.
const leastMemory = 1 << 20

func memory(_, text string) (string, string) {
	if n := bytesOfText(text); 0 < n && n < leastMemory {
		return fmt.Sprintf("%s is %d bytes, with which no container can start", text, n), "write a unit, such as " + text + "MiB"
	}
	return disk("", text)
}

func notEmpty(_, text string) (string, string) {
	if strings.TrimSpace(text) == "" {
		return "a name must not be empty", "give it a name"
	}
	return "", ""
}

// taken are places of containers that Linux, Tekton or the runner need.
var taken = []string{"/proc", "/sys", "/tekton", "/run/drone", "/starts"}

func mountPath(_, text string) (string, string) {
	clean := path.Clean(text)
	switch {
	case !strings.HasPrefix(text, "/"), slices.Contains(strings.Split(text, "/"), ".."):
		return fmt.Sprintf("%q is no place in a container", text), "write an absolute path without .., such as /etc/ssl/certs"
	case strings.Contains(text, ":"):
		return fmt.Sprintf("%q has a colon, which Kubernetes does not allow", text), "choose another path"
	case clean == "/", clean == "/dev":
		return fmt.Sprintf("%q would hide what containers need to start", text), "choose a folder, such as /cache"
	}
	for _, t := range taken {
		if clean == t || strings.HasPrefix(clean, t+"/") {
			return fmt.Sprintf("%q is taken", text), "choose a path outside of " + t
		}
	}
	return "", ""
}

func subPath(_, text string) (string, string) {
	if text == "" || strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..") {
		return fmt.Sprintf("%q is no path inside a volume", text), "write a path without / at its beginning and without .."
	}
	return "", ""
}

// fileMode checks a number as Drone's decoder reads it, where 0 begins an octal one.
func fileMode(_, text string) (string, string) {
	n, err := strconv.ParseInt(text, 0, 64)
	switch {
	case err != nil || n < 0 || n > 0o777:
		return text + " is no mode of files", "write an octal number from 0 to 0777, with the 0 at its beginning"
	case len(text) == 3 && !strings.HasPrefix(text, "0") && strings.Trim(text, "01234567") == "":
		return fmt.Sprintf("%s is the mode %#o, since it does not begin with 0", text, n), "write 0" + text
	default:
		return "", ""
	}
}

func pattern(_, text string) (string, string) {
	switch {
	case strings.TrimSpace(text) == "":
		return "an empty pattern matches nothing", "remove it, or write * for any text without a slash"
	case !doublestar.ValidatePattern(text):
		return fmt.Sprintf("%q is no glob, so it would match nothing", text), "close its brackets and braces"
	case strings.HasPrefix(text, "!"):
		return fmt.Sprintf("%q does not negate: a glob has no !", text), "use exclude"
	case drone.IsCostly(text):
		return fmt.Sprintf("%q has too many * or {, and could take for ever to match", text), "use fewer of them"
	default:
		return "", ""
	}
}

func events(_, text string) (string, string) {
	if problem, hint := pattern("", text); problem != "" {
		return problem, hint
	}
	match := droneyaml.Condition{Include: []string{text}}
	if !slices.ContainsFunc(drone.Events(), match.Match) {
		return fmt.Sprintf("there is no event %q", text), choose(text, drone.Events())
	}
	return "", ""
}
