//go:build tools

// Package tools pins the tools that checks of the project run. They have a module of their own, so that the product's
// module does not require them.
package tools

import _ "honnef.co/go/tools/cmd/staticcheck"
