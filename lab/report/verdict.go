package report

import (
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/compare"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/split"
)

func (d *run) falsified() *compare.Falsification {
	if d.standing == nil {
		return nil
	}
	return d.standing.Falsification
}

// enoughDSR is what the deflated Sharpe ratio needs to be.
const enoughDSR = 0.95

// verdict is what a reader should know before any number.
func (d *run) verdict() page.Verdict {
	v := page.Verdict{}
	v.Class, v.Sentence = d.sentence()
	if d.basis == "" {
		return v
	}
	if d.meta.Imported != nil {
		v.Points = append(v.Points, point("warn", "Not played here: without its program and candles it is "+
			"no trial, and nobody can try to refute it. lab adopt brings a strategy that can be."))
		return v
	}
	v.Points = append(v.Points, d.againstHolding(), d.test())
	if p := d.place(); p.Text != "" {
		v.Points = append(v.Points, p)
	}
	v.Points = append(v.Points, d.deflated(), d.attacked(), d.stage())
	return v
}

func (d *run) sentence() (class, text string) {
	if f := d.meta.Failure; f != nil || d.row.Status == artifact.StatusFailed {
		code := ""
		if f != nil {
			code = " (" + f.Code + ")"
		}
		return "fail", "This run failed" + code + ": what it shows ends at the fault and is no evidence."
	}
	if d.row.Status == artifact.StatusRunning {
		return "none", "This run has not ended: there is nothing to conclude yet."
	}
	if d.basis == "" {
		return "none", "There are no numbers of this run here."
	}
	total, held := d.number("total_return"), d.number("buy_hold_return")
	f := d.falsified()
	if i := d.meta.Imported; i != nil && total != nil {
		return "inconclusive", "By the results of " + i.Tool + " it made " + page.Signed(total) +
			": what another engine says is no evidence here."
	}
	switch {
	case f != nil && f.Overall == "fail":
		return "fail", "This idea does not survive: an attempt to refute it succeeded."
	case total == nil:
		return "inconclusive", "Nothing can be concluded: the return is undefined (" +
			d.reason("total_return") + ")."
	case *total <= 0:
		return "fail", "It loses money: " + page.Signed(total) + "."
	case held != nil && *total <= *held:
		return "fail", "It does not beat holding: " + page.Signed(total) + " against " +
			page.Signed(held) + "."
	}
	dsr := d.standing.Selection.DSRMax
	switch {
	case d.number("sharpe_ratio") == nil:
		return "inconclusive", "There is too little to judge it by (" + d.reason("sharpe_ratio") + ")."
	case dsr != nil && *dsr < enoughDSR:
		return "warn", "It earned money, but a search without skill would have found as much too often."
	case f == nil:
		return "inconclusive", "It earned money; nobody has tried to refute it yet."
	case f.Overall == "pass":
		return "pass", "It earned money and withstood every attempt to refute it."
	}
	return "warn", "It earned money; the attempts to refute it are not all answered (" + f.Overall + ")."
}

func (d *run) againstHolding() page.Point {
	total, held := d.number("total_return"), d.number("buy_hold_return")
	if total == nil || held == nil {
		return point("none", "Against holding: not known, "+d.reason("buy_hold_return")+".")
	}
	text := page.Signed(total) + " against " + page.Signed(held) + "."
	if *total > *held {
		return point("pass", "Beats holding: "+text)
	}
	return point("fail", "Does not beat holding: "+text)
}

func point(class, text string) page.Point {
	return page.Point{Class: class, Mark: page.Mark(class), Text: text}
}

// test writes whether a look at the locked test is recorded. Its numbers are never here.
func (d *run) test() page.Point {
	has := false
	for _, s := range d.report.Splits {
		has = has || s.Role == split.RoleTest
	}
	own := 0
	for _, p := range d.peeks {
		if p.RunID == d.row.RunID {
			own++
		}
	}
	switch {
	case !has:
		return point("warn", "No candles were kept back: there is no test split.")
	case own > 0:
		return point("warn", fmt.Sprintf(
			"The test was seen %s through this run; its numbers are not on this page.", times(own)))
	case len(d.peeks) > 0:
		return point("warn", fmt.Sprintf(
			"The test is locked here, but was seen %s through other runs of the family.",
			times(len(d.peeks))))
	}
	return point("pass", "The test is locked, and no look at it is recorded.")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (d *run) place() page.Point {
	if d.standing.Selection.Trials == nil {
		return page.Point{}
	}
	text := d.standing.Selection.Trials.String()
	return point("none", strings.ToUpper(text[:1])+text[1:]+".")
}

// deflated is the deflated Sharpe ratio as a sentence.
func (d *run) deflated() page.Point {
	s := &d.standing.Selection
	if s.DSRMax == nil {
		return point("none", "Deflated Sharpe ratio: not computed; lab falsify computes it.")
	}
	p := 1 - *s.DSRMax
	text := fmt.Sprintf(
		"Deflated Sharpe ratio %s: were there no skill at all, the best of as many trials (%d) would "+
			"reach this ratio in %s of all cases; at most 5 %% is needed.",
		page.Number(s.DSRMax),
		s.NTrials,
		page.Percent(&p),
	)
	if s.NTrialsNow > s.NTrials {
		text += fmt.Sprintf(" There are %d trials now: lab falsify counts them.", s.NTrialsNow)
	}
	if *s.DSRMax >= enoughDSR {
		return point("pass", text)
	}
	return point("fail", text)
}

// attacked is how the falsification ended, with a mark per test in the table further down.
func (d *run) attacked() page.Point {
	f := d.falsified()
	if f == nil {
		return point("none", "Not falsified: lab falsify tries to refute it.")
	}
	n := map[string]int{}
	for _, t := range f.Tests {
		n[t.Verdict]++
	}
	var parts []string
	for _, verdict := range []string{"fail", "error", "warn", "inconclusive", "pass", "skipped"} {
		if n[verdict] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", page.Mark(verdict), n[verdict], verdict))
		}
	}
	p := point(f.Overall, "Falsification: "+f.Overall+", "+strings.Join(parts, ", ")+".")
	p.Href = page.Link(f.RunID)
	return p
}

// marks is a mark per falsification test.
func (d *run) marks() *page.Table {
	f := d.falsified()
	if f == nil {
		return nil
	}
	t := page.Table{Label: "Falsification tests", Head: []string{"test", "verdict"}}
	for _, verdict := range []string{"fail", "error", "warn", "inconclusive", "pass", "skipped"} {
		for _, x := range f.Tests {
			if x.Verdict == verdict {
				name := strings.ReplaceAll(x.ID, "_", " ")
				t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: name},
					{Text: page.Mark(verdict) + " " + verdict, Class: verdict}}})
			}
		}
	}
	return &t
}

func (d *run) stage() page.Point {
	if n := d.meta.Service; n != nil && n.Stage != "" {
		return point("none", "Promotion stage when it began: "+n.Stage+".")
	}
	return point("none", "Promotion stage: not recorded with this run.")
}
