// Package failpoint marks the places at which tests interrupt a program.
//
// [Point] marks where a live run is killed: between a decision, its record and its effect,
// where a real crash would do the most harm. In ordinary programs it is empty and costs
// nothing. Built with the tag "crashpoints", the environment variable
// ASSAY_CRASH_AT=<label>:<n> makes the process send itself SIGKILL when it passes the label
// for the n-th time: no deferred call, no flush. A value that is no label and count ends the
// process with status 2, so that no test passes because nothing happened.
//
// A [Hook] marks places of one value of a type, where the test runs in the same process.
//
// It is a package of its own because stores and engines everywhere have places to mark.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Hook is called at each place that its owner names; the nil Hook does nothing.
type Hook func(place string)

// Reach calls the hook.
func (h Hook) Reach(place string) {
	if h != nil {
		h(place)
	}
}

// Env is the variable that names the place.
const Env = "ASSAY_CRASH_AT"

// Label is a place.
type Label string

// The places, in the order in which a run passes them.
const (
	// CandleRead: a closed candle came from the connector. CandleCommitted: its step is in
	// the journal.
	CandleRead      Label = "candle-read"
	CandleCommitted Label = "candle-committed"
	// StepSent: the strategy was asked. StepAnswered: its intents are here.
	StepSent     Label = "step-sent"
	StepAnswered Label = "step-answered"
	// IntentBefore and IntentCommitted: around the commit of an intent.
	IntentBefore    Label = "intent-before"
	IntentCommitted Label = "intent-committed"
	// SubmitBeforeWrite: nothing of the request has left. SubmitAfterWrite: it has, whole.
	// SubmitReplyRead: the reply is here and nothing of it is recorded.
	SubmitBeforeWrite Label = "submit-before-write"
	SubmitAfterWrite  Label = "submit-after-write"
	SubmitReplyRead   Label = "submit-reply-read"
	// AckCommitted: the venue's acceptance is in the journal.
	AckCommitted Label = "ack-committed"
	// FillRead: an execution is known. FillCommitted: it is in the journal.
	FillRead      Label = "fill-read"
	FillCommitted Label = "fill-committed"
	// CancelBeforeWrite, CancelAfterWrite: around sending a cancel. CancelCommitted: its
	// outcome is in the journal.
	CancelBeforeWrite Label = "cancel-before-write"
	CancelAfterWrite  Label = "cancel-after-write"
	CancelCommitted   Label = "cancel-committed"
	// QueryBefore, QueryAfter: around asking for an order.
	QueryBefore Label = "query-before"
	QueryAfter  Label = "query-after"
	// MidReconcile: orders of earlier runs are cancelled, the snapshot is not read yet.
	MidReconcile Label = "mid-reconcile"
	// StopBarrier: no submit leaves any more. StopCancelling: some of the cancels have left.
	StopBarrier    Label = "stop-barrier"
	StopCancelling Label = "stop-cancelling"
)

// Labels are all places, in the order above.
func Labels() []Label {
	return []Label{
		CandleRead, CandleCommitted, StepSent, StepAnswered, IntentBefore, IntentCommitted,
		SubmitBeforeWrite, SubmitAfterWrite, SubmitReplyRead, AckCommitted, FillRead, FillCommitted,
		CancelBeforeWrite, CancelAfterWrite, CancelCommitted, QueryBefore, QueryAfter,
		MidReconcile, StopBarrier, StopCancelling,
	}
}

// parse reads <label>:<n>.
func parse(text string) (Label, int64, error) {
	name, count, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 32)
	if err != nil || n < 1 {
		return "", 0, fmt.Errorf("%s=%q: write <label>:<n> with n from 1", Env, text)
	}
	for _, l := range Labels() {
		if string(l) == name {
			return l, n, nil
		}
	}
	return "", 0, fmt.Errorf("%s=%q: there is no such label; the labels are %v", Env, text, Labels())
}

// plan is read once; left counts down to the kill.
var (
	plan = sync.OnceValue(func() Label {
		text := os.Getenv(Env)
		if text == "" {
			return ""
		}
		label, n, err := parse(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		left.Store(n)
		return label
	})
	left atomic.Int64
)

// Point marks a place. It kills the process when it is its turn, and does not return then.
func Point(at Label) {
	if !Enabled || plan() != at || left.Add(-1) != 0 {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash point", at, err)
		os.Exit(2)
	}
	select {} // the signal is on its way
}
