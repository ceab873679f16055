package capsule

import (
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Kind is what sort of failure a capsule is about.
type Kind string

// The kinds.
const (
	// PluginPanic: the author's code panicked or returned an error.
	PluginPanic Kind = "plugin_panic"
	// PluginExit: the process ended.
	PluginExit    Kind = "plugin_exit"
	PluginTimeout Kind = "plugin_timeout"
	// PluginProtocol: what it said is not what the protocol allows.
	PluginProtocol Kind = "plugin_protocol"
	PluginDiverged Kind = "plugin_diverged"
	// InvalidOutput: an intent is none, as with a quantity that is not a number.
	InvalidOutput Kind = "invalid_output"
	HostInvariant Kind = "host_invariant"
	DataError     Kind = "data_error"
	// Nondeterminism: the same play decided differently.
	Nondeterminism Kind = "nondeterminism"
	// Lookahead: decisions depend on candles that had not closed.
	Lookahead Kind = "lookahead"
	// ResourceLimit: the process ran out of memory or processor time.
	ResourceLimit    Kind = "resource_limit"
	ArtifactMismatch Kind = "artifact_mismatch"
	Cancelled        Kind = "cancelled"
)

// Severity says how bad a kind is.
type Severity string

// The severities: it did not work; it worked against the rules; it does not always do
// the same.
const (
	SeverityError          Severity = "error"
	SeverityViolation      Severity = "violation"
	SeverityNondeterminism Severity = "nondeterminism"
)

var severities = map[Kind]Severity{
	PluginPanic: SeverityError, PluginExit: SeverityError, PluginTimeout: SeverityError, DataError: SeverityError,
	ResourceLimit: SeverityError, Cancelled: SeverityError,
	PluginProtocol: SeverityViolation, PluginDiverged: SeverityViolation, InvalidOutput: SeverityViolation,
	HostInvariant: SeverityViolation, Lookahead: SeverityViolation, ArtifactMismatch: SeverityViolation,
	Nondeterminism: SeverityNondeterminism,
}

// Severity is that of the kind; "" for an unknown one.
func (k Kind) Severity() Severity { return severities[k] }

// OfPlugin says that playing the plugin once shows the failure or does not.
func (k Kind) OfPlugin() bool {
	switch k {
	case Nondeterminism, Lookahead, ArtifactMismatch, Cancelled:
		return false
	}
	return true
}

// Classify sorts the failure of a play. trace is what ParseStack found in its stack or,
// where the process has ended, in what it printed.
func Classify(f *artifact.Failure, trace Trace) Kind {
	switch f.Code {
	case "STRATEGY_ERROR":
		if kind := text(f, "type"); kind == wire.FailureLimit || kind == wire.FailureIntent {
			return InvalidOutput
		}
		return PluginPanic
	case "PLUGIN_CRASHED":
		switch {
		case outOfResources(f, trace):
			return ResourceLimit
		case trace.Cause != "":
			return PluginPanic
		}
		return PluginExit
	case "PLUGIN_TIMEOUT":
		return PluginTimeout
	case "PLUGIN_DIVERGED":
		return PluginDiverged
	case "PLUGIN_PROTOCOL_ERROR":
		if strings.HasPrefix(text(f, "field_path"), "intents[") {
			return InvalidOutput
		}
		return PluginProtocol
	case "DATA_ERROR":
		return DataError
	}
	return HostInvariant
}

// outOfResources recognises the ends that the limits of the sandbox bring about.
func outOfResources(f *artifact.Failure, trace Trace) bool {
	if s := SignalOf(f.PluginExitCode); s == "SIGXCPU" || s == "SIGXFSZ" {
		return true
	}
	for _, words := range []string{"out of memory", "cannot allocate memory", "failed to create new OS thread"} {
		if strings.Contains(trace.Cause, words) {
			return true
		}
	}
	return false
}

// TypeOf is the type of a failure: what is behind its code and does not depend on the
// candle.
func TypeOf(f *artifact.Failure, trace Trace) string {
	switch {
	case text(f, "type") != "":
		return text(f, "type")
	case trace.Cause != "":
		return trace.Type()
	case SignalOf(f.PluginExitCode) != "":
		return "signal " + SignalOf(f.PluginExitCode)
	case f.PluginExitCode != nil:
		return exitStatus(*f.PluginExitCode)
	case text(f, "reason") != "":
		return text(f, "reason")
	}
	return types[f.Code]
}

// types are those of failures that only the host has a word for.
var types = map[string]string{
	"PLUGIN_TIMEOUT": "deadline", "PLUGIN_PROTOCOL_ERROR": "protocol", "PLUGIN_DIVERGED": "ledger_digest", "INTERNAL_ERROR": "host", "INTERRUPTED": "interrupted",
}

// text is a detail of a failure.
func text(f *artifact.Failure, key string) string {
	s, _ := f.Data[key].(string)
	return s
}

var phases = []Phase{PhaseInit, PhaseWarmup, PhaseCandle, PhaseFill, PhaseFinalize}

func (p Phase) known() bool { return slices.Contains(phases, p) }
