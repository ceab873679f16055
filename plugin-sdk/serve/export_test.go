package serve

import "github.com/assay-run/assay/plugin-sdk/strategypb"

const (
	FlushEvery     = flushEvery
	ParentVariable = parentVariable
)

// InProcess makes a server behave like that of a plugin process.
func InProcess(s strategypb.StrategyServer) { s.(*server).free = false }
