package falsify

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
)

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
		switch said := tests.Current(t).Sentence(); {
		case said == "":
		case t.Shown() == judge.Fail:
			failed = append(failed, said)
		case t.Shown() == judge.Warn:
			warned = append(warned, said)
		default:
			open = append(open, said)
		}
	}
	return slices.Concat(failed, warned, open)
}

// Informs are the sentences of the tests that never count.
func (s *Summary) Informs() []string {
	var out []string
	for _, t := range s.Tests {
		if said := t.Informs(); said != "" {
			out = append(out, said)
		}
	}
	return out
}

// Conclusion is the verdict in one line.
func (s *Summary) Conclusion() string {
	switch s.Overall {
	case judge.Fail:
		return "fail: " + s.failed()
	case judge.Inconclusive:
		return "inconclusive: " + s.Doubt()
	case judge.Warn:
		return "warn: no gate failed, but not everything was shown"
	}
	return "pass: no gate failed"
}

func (s *Summary) failed() string {
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

// counted are the reasons beside the tests that were left out, which are told by number.
func (s *Summary) counted() []judge.Reason {
	return slices.DeleteFunc(slices.Clone(s.Reasons),
		func(r judge.Reason) bool { return r.Code == judge.SkippedByUser })
}

// Print writes the verdict but for the line of an error, which Refusal is.
func (s *Summary) Print(w io.Writer) {
	if n := s.NotRun(); n > 0 {
		fmt.Fprintf(w, "%d not run\n", n)
	}
	for _, said := range s.Sentences() {
		fmt.Fprintln(w, said)
	}
	for _, said := range s.Informs() {
		fmt.Fprintln(w, "Informs: "+said)
	}
	for _, r := range s.counted() {
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
		return "FALSIFIED", s.failed()
	case judge.Inconclusive:
		return "INCONCLUSIVE", "no gate failed, but " + s.Doubt()
	}
	return "", ""
}

// Doubt says why nothing can be concluded.
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
	if loose := s.loosened(); len(loose) > 0 {
		parts = append(parts, "these thresholds are looser than the default's: "+strings.Join(loose, ", "))
	}
	return strings.Join(parts, "; ")
}

// loosened are the thresholds by which nothing passes, as the profile names them.
func (s *Summary) loosened() []string {
	var out []string
	for _, r := range s.Reasons {
		if r.Code == judge.LooserThreshold {
			name, _, _ := strings.Cut(r.Message, " ")
			out = append(out, name)
		}
	}
	return out
}
