package evaluate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
)

// Host is what evaluations need of one state directory.
type Host struct {
	// StateDir is absolute.
	StateDir  string
	Candles   *candle.Store
	Artifacts *artifact.Store
	Registry  *registry.Registry
	Engine    artifact.Engine
	Sandbox   sandbox.Mode
	// StepLimit is how long a plugin may take for one answer; 30 s if zero.
	StepLimit time.Duration
	// Workers is how many splits are played side by side; the number of CPUs if 0.
	Workers int
	// Plain leaves out the encryption between host and plugins, as in a search.
	Plain bool
	// Procs is GOMAXPROCS of the plugins; 0 leaves it to them.
	Procs  int
	Logger hclog.Logger
	// Reattach is the value of ASSAY_REATTACH_STRATEGIES: strategies under a debugger,
	// which are connected to instead of being started. Runs of them are marked debug and
	// can never be packed.
	Reattach string
}

// Error is why a question cannot be answered. Code is one of the lab's table.
type Error struct {
	Code, Message string
	Details       map[string]any
	Cause         error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

func refuse(code, pointer, format string, args ...any) *Error {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if pointer != "" {
		e.Details = map[string]any{"pointer": pointer}
	}
	return e
}

// codes are the lab's names of what package run refuses.
var codes = map[string]string{
	"INVALID_STRATEGY_PARAMS": "PARAMS_INVALID",
	"VALIDATION_FAILED":       "LAB_JSON_INVALID",
	"INVALID_DATE_RANGE":      "LAB_JSON_INVALID",
	"STRATEGY_NOT_FOUND":      "NAME_MISMATCH",
	"STRATEGY_UNAVAILABLE":    "CHECK_FAILED",
	"RUN_START_FAILED":        "RUN_FAILED",
}

// fromBacktest translates a refusal. What is not in the table is about data.
func fromBacktest(err error) error {
	var r *run.RequestError
	if !errors.As(err, &r) {
		return err
	}
	code, known := codes[r.Code]
	if corrupt := new(candlefile.CorruptError); !known || errors.As(err, &corrupt) {
		code = "DATA_UNAVAILABLE"
	}
	details := map[string]any{"reason": r.Code}
	for k, v := range r.Details {
		details[k] = v
	}
	message := r.Message
	if len(r.Fields) > 0 {
		pointer := r.Fields[0].Pointer
		if rest, params := strings.CutPrefix(pointer, "/strategy_params"); params {
			pointer = "/params" + rest
		}
		details["pointer"] = pointer
		message += fmt.Sprintf(" %s %s", pointer, r.Fields[0].Message)
		if n := len(r.Fields) - 1; n > 0 {
			message += fmt.Sprintf(", and %d more", n)
		}
	}
	return &Error{Code: code, Message: message, Details: details, Cause: err}
}
