// Command plugin is the entrypoint of a test image without a shell. It prints its arguments and its PLUGIN_* variables,
// sorted, values quoted as Go does, and exits with PLUGIN_FAIL when that is a number.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	fmt.Printf("args %q\n", os.Args)
	environ := os.Environ()
	slices.Sort(environ)
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "PLUGIN_") {
			fmt.Printf("%s=%q\n", name, value)
		}
	}
	if code, err := strconv.Atoi(os.Getenv("PLUGIN_FAIL")); err == nil {
		os.Exit(code)
	}
}
