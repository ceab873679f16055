package falsify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/search/selection"
)

const (
	summarySchema = "falsification/v1"
	summaryName   = "falsify/summary.json"
)

// Summary is falsify/summary.json: falsification/v1.
type Summary struct {
	Schema          string     `json:"schema"`
	BaseRunID       string     `json:"base_run_id"`
	BaseRequestHash string     `json:"base_request_hash"`
	Profile         ProfileRef `json:"profile"`
	// Seed is the root of all random numbers, a decimal number as text.
	Seed    string        `json:"seed"`
	Tests   []*judge.Test `json:"tests"`
	Overall judge.Verdict `json:"overall"`
	// Refuted are the sentences about the gates that failed; never null.
	Refuted []string `json:"refuted"`
	// Limit is what no verdict shows; absent in what older versions have written.
	Limit string `json:"limit,omitempty"`
	// Reasons are why the verdict is not better, beside the tests, and how the profile deviates
	// from the plan; absent where there are none.
	Reasons []judge.Reason `json:"reasons,omitempty"`
	// Ledger is the search that found the base.
	Ledger selection.Digest `json:"ledger"`
}

// ProfileRef names a profile.
type ProfileRef struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
	// Planned is the profile that the plan of the base names where it is another one: a
	// deviation.
	Planned string `json:"planned,omitempty"`
}

func (s *Summary) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return b.Bytes(), err
}

// Brief is the falsification of report.json.
type Brief struct {
	BaseRunID       string        `json:"base_run_id"`
	BaseRequestHash string        `json:"base_request_hash"`
	Profile         ProfileRef    `json:"profile"`
	Overall         judge.Verdict `json:"overall"`
	Refuted         []string      `json:"refuted"`
	// Reasons are those of the summary.
	Reasons []judge.Reason `json:"reasons,omitempty"`
	Tests   []BriefTest    `json:"tests"`
}

// BriefTest is one test in a report.
type BriefTest struct {
	ID         string        `json:"id"`
	Class      judge.Class   `json:"class"`
	Claim      string        `json:"claim"`
	Verdict    judge.Verdict `json:"verdict"`
	ReasonCode string        `json:"reason_code"`
	PValue     *float64      `json:"p_value"`
	PHolm      *float64      `json:"p_holm"`
	// Undefined has the reason of each p-value that is null.
	Undefined map[string]metric.Reason `json:"undefined,omitempty"`
}

func (s *Summary) shorten() Brief {
	b := Brief{BaseRunID: s.BaseRunID, BaseRequestHash: s.BaseRequestHash, Profile: s.Profile,
		Overall: s.Overall, Refuted: s.Refuted, Reasons: s.Reasons, Tests: []BriefTest{}}
	for _, t := range s.Tests {
		why := map[string]metric.Reason{}
		for _, name := range []string{"p_value", "p_holm"} {
			if r := t.Undefined[name]; r != "" {
				why[name] = r
			}
		}
		b.Tests = append(b.Tests,
			BriefTest{t.ID, t.Class, t.Claim, t.Verdict, t.ReasonCode, t.PValue, t.PHolm, why})
	}
	return b
}

// Table is a row per test that was asked for and counts, under a header: number, id, class,
// verdict, statistic with its threshold, p-values, and the reason of what is no pass.
func (s *Summary) Table() [][]string {
	rows := [][]string{{"#", "TEST", "", "VERDICT", "STATISTIC", "VALUE", "PASS", "P", "P HOLM", "REASON"}}
	for i, t := range s.Tests {
		if t.Class == judge.Description || t.LeftOut() {
			continue
		}
		row := []string{
			strconv.Itoa(i + 1), t.ID, string(t.Class), string(t.Shown()), t.Statistic.Name,
			shortNumber(t.Statistic.Value), "",
			shortNumber(t.PValue), shortNumber(t.PHolm), t.ReasonCode,
		}
		if t.Statistic.Threshold != nil {
			row[6] = t.Statistic.Direction + " " + shortNumber(t.Statistic.Threshold)
		}
		rows = append(rows, row)
	}
	return rows
}

// NotRun counts the tests that the user has left out.
func (s *Summary) NotRun() (n int) {
	for _, t := range s.Tests {
		if t.LeftOut() {
			n++
		}
	}
	return n
}

// Sentences are those of the tests that did not pass: what failed, what warns, what is open.
func (s *Summary) Sentences() []string {
	var failed, warned, open []string
	for _, t := range s.Tests {
		switch sentence := tests.Current(t).Sentence(); {
		case sentence == "":
		case t.Shown() == judge.Fail:
			failed = append(failed, sentence)
		case t.Shown() == judge.Warn:
			warned = append(warned, sentence)
		default:
			open = append(open, sentence)
		}
	}
	return slices.Concat(failed, warned, open)
}

// Informs are the sentences of the tests that never count.
func (s *Summary) Informs() []string {
	var out []string
	for _, t := range s.Tests {
		if sentence := t.Informs(); sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

// Conclusion is the verdict in one line.
func (s *Summary) Conclusion() string {
	switch s.Overall {
	case judge.Fail:
		return "fail: " + s.listFailed()
	case judge.Inconclusive:
		return "inconclusive: " + s.Doubt()
	case judge.Warn:
		return "warn: no gate failed, but not everything was shown"
	}
	return "pass: no gate failed"
}

func (s *Summary) listFailed() string {
	var ids []string
	for _, t := range s.Tests {
		if t.Class == judge.Gate && t.Verdict == judge.Fail {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 1 {
		return "1 gate failed, " + ids[0]
	}
	return fmt.Sprintf("%d gates failed, %s", len(ids), strings.Join(ids, ", "))
}

// listReasons are the reasons beside the tests that were left out, whose number is printed.
func (s *Summary) listReasons() []judge.Reason {
	return slices.DeleteFunc(slices.Clone(s.Reasons),
		func(r judge.Reason) bool { return r.Code == judge.SkippedByUser })
}

// Print writes the verdict but for the line of an error, which Refusal is.
func (s *Summary) Print(w io.Writer) {
	if n := s.NotRun(); n > 0 {
		fmt.Fprintf(w, "%d not run\n", n)
	}
	for _, sentence := range s.Sentences() {
		fmt.Fprintln(w, sentence)
	}
	for _, sentence := range s.Informs() {
		fmt.Fprintln(w, "Informs: "+sentence)
	}
	for _, r := range s.listReasons() {
		fmt.Fprintf(w, "%s: %s\n", r.Code, r.Message)
	}
	fmt.Fprintln(w, "Limit: "+judge.Limit)
	if _, refused := s.Refusal(); refused == "" {
		fmt.Fprintln(w, s.Conclusion())
	}
}

// Refusal is the error of a verdict that is not enough, by its code; both are empty for others.
func (s *Summary) Refusal() (code, message string) {
	switch s.Overall {
	case judge.Fail:
		return "FALSIFIED", s.listFailed()
	case judge.Inconclusive:
		return "INCONCLUSIVE", "no gate failed, but " + s.Doubt()
	}
	return "", ""
}

// Doubt is why nothing can be concluded.
func (s *Summary) Doubt() string {
	var parts []string
	var open []string
	left := 0
	for _, t := range s.Tests {
		switch {
		case t.Class != judge.Gate:
		case t.LeftOut():
			left++
		case t.Verdict == judge.Inconclusive || t.Verdict == judge.Error:
			open = append(open, t.ID)
		}
	}
	if len(open) > 0 {
		parts = append(parts, "these gates say nothing: "+strings.Join(open, ", "))
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("gates that were left out: %d", left))
	}
	for _, r := range s.Reasons {
		if r.Code == judge.TrainedUntil {
			parts = append(parts, "the program was made with these candles")
		}
	}
	if loose := s.listLoosened(); len(loose) > 0 {
		parts = append(parts, "these thresholds are looser than the default's: "+strings.Join(loose, ", "))
	}
	return strings.Join(parts, "; ")
}

// listLoosened are the thresholds by which nothing passes, as the profile names them.
func (s *Summary) listLoosened() []string {
	var out []string
	for _, r := range s.Reasons {
		if r.Code == judge.LooserThreshold {
			name, _, _ := strings.Cut(r.Message, " ")
			out = append(out, name)
		}
	}
	return out
}
