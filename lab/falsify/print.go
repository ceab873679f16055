package falsify

import (
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/page"
)

// Open are the ids of the gates because of which nothing can be concluded.
func (s *Summary) Open() []string {
	var ids []string
	for _, t := range s.Tests {
		open := t.Verdict == judge.Inconclusive || t.Verdict == judge.Error || t.Verdict == judge.Skipped && t.ReasonCode == judge.SkippedByUser
		if t.Class == judge.Gate && open {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Table is a row per test under a header: number, id, class, verdict, statistic with its
// threshold, p-values, and the reason of what is no pass.
func (s *Summary) Table() [][]string {
	rows := [][]string{{"#", "TEST", "", "VERDICT", "STATISTIC", "VALUE", "PASS", "P", "P HOLM", "REASON"}}
	for i, t := range s.Tests {
		row := []string{
			strconv.Itoa(i + 1), t.ID, string(t.Class), string(t.Verdict), t.Statistic.Name, page.Number(t.Statistic.Value), "",
			page.Number(t.PValue), page.Number(t.PHolm), t.ReasonCode,
		}
		if t.Statistic.Threshold != nil {
			row[6] = t.Statistic.Direction + " " + page.Number(t.Statistic.Threshold)
		}
		rows = append(rows, row)
	}
	return rows
}

// Conclusion is the verdict in one line: what is refuted, if anything.
func (s *Summary) Conclusion() string {
	switch s.Overall {
	case judge.Fail:
		return "fail: Refuted: " + strings.Join(s.Refuted, "; ")
	case judge.Inconclusive:
		return "inconclusive: " + strings.Join(append(s.Open(), s.loosened()...), ", ")
	case judge.Warn:
		return "warn: no gate failed, " + strings.Join(s.warned(), ", ") + " warn"
	}
	return "pass: no claim is refuted"
}

// Doubt says why nothing can be concluded.
func (s *Summary) Doubt() string {
	var parts []string
	if open := s.Open(); len(open) > 0 {
		parts = append(parts, "these gates say nothing: "+strings.Join(open, ", "))
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

func (s *Summary) warned() []string {
	var ids []string
	for _, t := range s.Tests {
		if t.Class == judge.Warning && t.Verdict == judge.Skipped && t.ReasonCode == judge.SkippedByUser {
			ids = append(ids, t.ID+" (left out)")
		}
		if t.Class != judge.Description && (t.Verdict == judge.Warn || t.Class == judge.Warning && t.Verdict == judge.Fail) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}
