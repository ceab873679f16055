package backtest

import (
	"github.com/assay-run/assay/host/play"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// The words of package play that callers of this package need.
type (
	RequestError = play.RequestError
	FieldError   = play.FieldError
	StartError   = play.StartError
	Published    = play.Published
	Points       = play.Points
)

// take reads one message of annotations or log lines.
func (x *Execution) take(m *strategypb.PluginMessage) error { return x.said.Take(m, x.gate, x.log) }

// Published is what the strategy published inside the window. It stays after Close.
func (x *Execution) Published() Published {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.said.Published(x.window.Start)
}
