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
		return "inconclusive: " + strings.Join(s.Open(), ", ")
	case judge.Warn:
		return "warn: no gate failed, " + strings.Join(s.warned(), ", ") + " warn"
	}
	return "pass: no claim is refuted"
}

func (s *Summary) warned() []string {
	var ids []string
	for _, t := range s.Tests {
		if t.Class != judge.Description && (t.Verdict == judge.Warn || t.Class == judge.Warning && t.Verdict == judge.Fail) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}
