package serve

import "github.com/assay-run/assay/plugin-sdk/strategypb"

const (
	FlushEvery     = flushEvery
	ParentVariable = parentVariable
)

// SingleRun makes a server behave like that of a plugin process.
func SingleRun(s strategypb.StrategyServer) { s.(*server).anyRuns = false }
