// Package early lets a process that was started as the sandbox's shim become its plugin
// before the rest of the host's program is initialised. The shim is the host's own
// executable, and what its packages prepare (schemas, tables, generated code) takes
// longer than all that the shim has to do; a search starts thousands of them.
//
// Go initialises packages that are ready in the order of their paths, and this one needs
// only what package sandbox does. Nothing depends on that order: sandbox.MaybeShim, first
// in main, becomes the plugin where this package did not.
package early

import "github.com/assay-run/assay/host/proc/sandbox"

func init() { sandbox.MaybeShim() }
