package translate

import (
	"regexp"
	"strings"
)

// netrcPrelude does what Drone's scripts do before the first command: it leaves the credentials for git in the home
// directory and takes them out of the environment.
const netrcPrelude = `if [ -n "${DRONE_NETRC_FILE:-}" ]; then
  (umask 077; printf '%s\n' "$DRONE_NETRC_FILE" > "${HOME:-/root}/.netrc") || true
fi
unset DRONE_NETRC_FILE DRONE_NETRC_MACHINE DRONE_NETRC_USERNAME DRONE_NETRC_PASSWORD
`

// script is the text of a step's commands for /bin/sh: all commands in one shell, which ends at the first that fails,
// each announced by a line that starts with a plus sign. The commands arrive byte for byte.
//
// Drone pipes its script into the shell and traces with echo inside double quotes, so that a command that reads stdin
// swallows the rest, and backquotes run twice. Here the script is an argument, and the trace is a quoted literal.
func script(commands []string, netrc bool) string {
	var b strings.Builder
	if netrc {
		b.WriteString(netrcPrelude)
	}
	b.WriteString("set -e\n")
	for _, c := range commands {
		b.WriteString("\nprintf '%s\\n' " + shellQuote("+ "+strings.TrimRight(c, "\n")) + "\n")
		b.WriteString(c)
		if !strings.HasSuffix(c, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shell is the command and the arguments that run a script with /bin/sh. Linux takes at most 128 KiB in one argument,
// and Tekton's entrypoint replaces references to results of steps inside every argument: a script that is too long, or
// that holds such a reference by chance, travels in pieces that the shell puts together.
func shell(script string) (command, args []string) {
	pieces := cut(script)
	if len(pieces) == 1 {
		return []string{"/bin/sh", "-c"}, pieces
	}
	return []string{"/bin/sh", "-c", joinPieces, "/bin/sh"}, pieces
}

// joinPieces runs its arguments, put together, as one script, and leaves that script no trace of how it came.
const joinPieces = `IFS=; script="$*"; unset IFS; set --; eval "unset script
$script"`

// maxArgument is below Linux's limit of one argument (131,072 bytes), with room for the doubling of dollar signs, which
// is undone before the process starts but counts in nothing else.
const maxArgument = 120 << 10

var stepResult = regexp.MustCompile(`\$\(steps\.`)

func cut(script string) []string {
	var pieces []string
	for start := 0; start < len(script) || start == 0; {
		end := min(len(script), start+maxArgument)
		if loc := stepResult.FindStringIndex(script[start:end]); loc != nil {
			end = start + loc[0] + len("$")
		}
		if end < len(script) { // never inside a character
			for end > start && script[end]&0xC0 == 0x80 {
				end--
			}
		}
		pieces = append(pieces, script[start:end])
		if end == len(script) {
			break
		}
		start = end
	}
	return pieces
}
