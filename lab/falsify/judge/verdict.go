package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
)

// Verdict is how a test, or the battery, has ended.
type Verdict string

// The verdicts. Error is the host's own failure, Skipped has a reason.
const (
	Pass         Verdict = "pass"
	Warn         Verdict = "warn"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive"
	Error        Verdict = "error"
	Skipped      Verdict = "skipped"
)

// Class is what a failed test counts for: a Gate refutes, a Warning warns, a Description counts
// for nothing.
type Class string

// The classes.
const (
	Gate        Class = "G"
	Warning     Class = "W"
	Description Class = "D"
)

// The reason codes of tests. A pass has none.
const (
	// Why a test was not made.
	SkippedByUser   = "skipped_by_user"
	UpstreamFailure = "upstream_failure"
	SingleSymbol    = "single_symbol"
	NoParameters    = "no_parameters" // of summaries that older versions have written
	NoVolume        = "no_volume"
	NotDeclared     = "not_declared"
	OnlyWithFull    = "only_with_full"

	// Why it is inconclusive, or worse than its numbers.
	HostError       = "host_error"
	ShortSample     = "short_sample"
	BaseNotPositive = "base_not_positive"
	NoSources       = "no_sources"
	NoLiterals      = "no_literals"
	WithoutEffect   = "without_effect"

	// What was found.
	DecisionsDiffer = "decisions_differ"
	ReturnsDiffer   = "returns_differ"
	SeriesDiffer    = "series_differ"
	PluginFailed    = "plugin_failed"
	NetLoss         = "net_loss"
	SharpeFalls     = "sharpe_falls"
	SharpeNegative  = "sharpe_not_positive"
	Concentrated    = "concentrated"
	PNotSmall       = "p_not_small"
	ContainsZero    = "interval_contains_zero"
	BelowZero       = "interval_below_zero"
	AboveLimit      = "above_limit"
	NoProfit        = "no_profit"
	TooGood         = "too_good_to_be_true"
	AddsToLosses    = "adds_to_losses"
	RareLosses      = "rare_losses"
	CalendarBoth    = "calendar_both"
	NoiseBeyond     = "noise_beyond_gate" // of noise larger than that of the gate; a Reason
)

// Test is an entry of summary.json. What is undefined is null, with a reason in Undefined.
type Test struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	// Class is that of the catalogue; a crash of the plugin in missing_candles makes a gate of it.
	Class  Class  `json:"class"`
	Claim  string `json:"claim"`
	Method string `json:"method"`
	// Params are what the test was made with and, under policy, the thresholds.
	Params     map[string]any `json:"params"`
	NReplays   int            `json:"n_replays"`
	Statistic  Statistic      `json:"statistic"`
	PValue     *float64       `json:"p_value"`
	PHolm      *float64       `json:"p_holm"`
	Verdict    Verdict        `json:"verdict"`
	ReasonCode string         `json:"reason_code"`
	// Reason says what warns, where something does: promotion accepts some of them. It is the reason
	// code unless the test sets it; absent in what older versions have written.
	Reason    string                   `json:"reason,omitempty"`
	Undefined map[string]metric.Reason `json:"undefined,omitempty"`
	Evidence  []Evidence               `json:"evidence"`

	// Detail completes "because": what a reader should know of a verdict that is no pass.
	Detail string `json:"detail,omitempty"`
	// Note is what informs beside the verdict: a main clause that counts for nothing.
	Note string `json:"note,omitempty"`
	// chance is what Holm needs to judge a p-value again, nil where none decides.
	chance *chance
	holm   bool
}

// Statistic is the number that a test looks at. Direction is how the value must stand to
// the threshold for a pass: >=, >, <= or <.
type Statistic struct {
	Name      string   `json:"name"`
	Value     *float64 `json:"value"`
	Threshold *float64 `json:"threshold"`
	Direction string   `json:"direction"`
}

// Evidence is a file that a verdict rests on: its path in the run's folder, its hash and
// its rows or lines, a header not counted.
type Evidence struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"`
}

// Measure sets the statistic; a nil value needs a reason.
func (t *Test) Measure(name string, value *float64, why metric.Reason, direction string, threshold *float64) {
	t.Statistic = Statistic{name, Rounded(value), Rounded(threshold), direction}
	if value == nil {
		t.Undefine("value", why)
	}
}

// Undefine has the reason why a number of the test is null.
func (t *Test) Undefine(name string, why metric.Reason) {
	if t.Undefined == nil {
		t.Undefined = map[string]metric.Reason{}
	}
	if why == "" {
		why = stat.NotApplicable
	}
	t.Undefined[name] = why
}

// End is the verdict with its reason and detail.
func (t *Test) End(v Verdict, reason, detail string) *Test {
	t.Verdict, t.ReasonCode, t.Detail = v, reason, detail
	return t
}

// Endf is [Test.End] with a detail by a format.
func (t *Test) Endf(v Verdict, reason, format string, args ...any) *Test {
	return t.End(v, reason, fmt.Sprintf(format, args...))
}

// ByInterval marks a test as judged by an interval, which detail describes, for [Holm].
func (t *Test) ByInterval(detail string) { t.chance = &chance{detail: detail} }

// Explain gives every null of the tests a reason, what has none yet is not applicable, and every
// warning.
func Explain(tests []*Test) {
	for _, t := range tests {
		switch {
		case t.Shown() != Warn:
			t.Reason = ""
		case t.Reason == "":
			t.Reason = t.ReasonCode
		}
		for _, x := range []struct {
			name string
			of   *float64
		}{{"value", t.Statistic.Value}, {"threshold", t.Statistic.Threshold}, {"p_value", t.PValue},
			{"p_holm", t.PHolm}} {
			switch {
			case x.of != nil:
				delete(t.Undefined, x.name)
			case t.Undefined[x.name] == "":
				t.Undefine(x.name, "")
			}
		}
	}
}

// Replay is how one replay has gone, a row of replays.csv. What is undefined is nil.
type Replay struct {
	Variant string
	Replica int
	Status  Status
	// Sharpe is the annual ratio of the main sample.
	Sharpe, TotalReturn, MaxDrawdown *float64
	Trades                           int
	// NetPnL is a plain decimal in the quote currency, empty unless completed.
	NetPnL       string
	DecisionHash string
}

// Status is how a replay has ended.
type Status string

// The states. Failed is the plugin's failure, Broken the host's.
const (
	Completed Status = "completed"
	Failed    Status = "failed"
	Broken    Status = "error"
)

// AnyBroken reports whether the host could not make one of the replays.
func AnyBroken(list []Replay) bool {
	return slices.ContainsFunc(list, func(r Replay) bool { return r.Status == Broken })
}

// CountFailed counts the replays whose plugin failed.
func CountFailed(list []Replay) int {
	n := 0
	for i := range list {
		if list[i].Status == Failed {
			n++
		}
	}
	return n
}

// Sentence is what a reader should know of a test that did not pass: "Not shown: that it
// earns money at higher costs, because at doubled costs it loses 1.8 %."; "" of one that
// passed, was skipped, or only describes.
func (t *Test) Sentence() string {
	if t.Class == Description {
		return ""
	}
	switch t.Verdict {
	case Fail, Warn:
		return "Not shown: that " + t.Claim + t.because() + t.see() + "."
	case Inconclusive, Error:
		return "Open: whether " + t.Claim + t.because() + "."
	}
	return ""
}

// see names the file in the folder of the run that shows what was found: where decisions differ
// first, else what the test has measured, else its replays; "" without evidence.
func (t *Test) see() string {
	at := -1
	for i, e := range t.Evidence {
		if strings.HasSuffix(e.Path, "/first_diff.jsonl") {
			at = i
			break
		}
		if at < 0 || strings.HasSuffix(t.Evidence[at].Path, "/replays.csv") &&
			!strings.HasSuffix(e.Path, "/points.jsonl") {
			at = i
		}
	}
	if at < 0 {
		return ""
	}
	return "; see it with " + t.Evidence[at].Path
}

// Informs is the sentence of a test that never counts, or the note of another one; "" without.
func (t *Test) Informs() string {
	sentence := t.Note
	if t.Class == Description {
		sentence = t.Detail
	}
	if sentence == "" {
		return ""
	}
	return strings.ToUpper(sentence[:1]) + sentence[1:] + "."
}

// Say is what a test has to say whatever its verdict: its Sentence, of one that passed no more than that
// it did not refute, of one that only describes what it Informs of.
func (t *Test) Say() string {
	switch {
	case t.Verdict == Skipped:
		return "Not tested: whether " + t.Claim + t.because() + "."
	case t.Verdict == Pass && t.Class != Description:
		return strings.TrimSpace("Not refuted: that " + t.Claim + ". " + t.Informs())
	}
	return cmp.Or(t.Sentence(), t.Informs(), "About whether "+t.Claim+": nothing to add.")
}

// Shown is the verdict as a reader should take it: a failed test of class W warns.
func (t *Test) Shown() Verdict {
	if t.Class == Warning && t.Verdict == Fail {
		return Warn
	}
	return t.Verdict
}

// because is the detail, which a summary of an older version does not have.
func (t *Test) because() string {
	s := t.Statistic
	switch {
	case t.Detail != "":
		return ", because " + t.Detail
	case s.Value != nil && s.Threshold != nil && t.Verdict != Inconclusive:
		return fmt.Sprintf(", because %s is %.4g and must be %s %.4g", s.Name, *s.Value, s.Direction,
			*s.Threshold)
	case t.ReasonCode != "":
		return fmt.Sprintf(" (%s)", strings.ReplaceAll(t.ReasonCode, "_", " "))
	}
	return ""
}
