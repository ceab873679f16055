package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/selectionbias"
	"github.com/assay-run/assay/lab/stat"
)

// The titles of the section about searches and of the one that follows it.
const (
	selectionTitle = "\n## Selection among correlated trials\n"
	madeTitle      = "\n## How it is made\n"
)

// mostSize is how often dsr_max may let a search without skill pass.
const mostSize = 0.07

// cutSelection returns a page around its section about searches, which is empty where there is none.
func cutSelection(page string) (before, section, after string) {
	at := strings.Index(page, madeTitle)
	if at < 0 {
		return page, "", ""
	}
	before, after = page[:at], page[at:]
	if at := strings.Index(before, selectionTitle); at >= 0 {
		before, section = before[:at], before[at:]
	}
	return before, section, after
}

// withSelection returns a page with a section about searches in the place of its own.
func withSelection(page, section string) (string, error) {
	before, _, after := cutSelection(page)
	if after == "" {
		return "", errors.New(
			"the file of -o is no page of the calibration: it has no section \"How it is made\"",
		)
	}
	return before + section + after, nil
}

// section returns what the searches have shown.
func (s *searched) section() string {
	var b strings.Builder
	b.WriteString(selectionTitle + searchForeword)
	fmt.Fprintf(&b,
		"Rules `%s`, selection_bias at version %d, %d replicas, **%d cases per cell**, for the formulas\n"+
			"every fourth of them, seed %d:\n\n```\n%s\n```\n\n",
		stat.Rules, tests.Skip(selectionbias.ID, "").Version, resamples, s.Cases, s.Seed, s.command())
	if s.Cases < fullSearches {
		fmt.Fprintf(&b,
			"The full size is the default, %s cases per cell. **It is smaller here**: the limits say what "+
				"so few\n"+
				"cases can show.\n\n", thousands(fullSearches))
	}
	b.WriteString(s.bound())
	for _, x := range s.numbers() {
		s.grid(&b, x)
	}
	header := "| trials | `dsr_max` | 95 % limits | `dsr_2025` | `p_sidak` |\n|---|--:|--:|--:|--:|--:|\n"
	b.WriteString("\n### Other searches without skill\n\n| returns " + header)
	s.rows(&b, otherSearches())
	b.WriteString(
		"\n### One trial with skill\n\nIt is judged, among 31 trials without any. The share is that of " +
			"the cases in " +
			"which it passes.\n\n| true annual ratio " + header)
	s.rows(&b, edgeSearches())
	b.WriteString(searchAfterword)
	return b.String()
}

// command repeats the searches.
func (s *searched) command() string {
	return fmt.Sprintf(
		"go run ./cmd/tools/calibrate -only selection -searches %d -seed %d -o docs/calibration.md", s.Cases,
		s.Seed)
}

// number is one of those that are counted.
type number struct {
	title string
	of    func(passed) rate
}

func (s *searched) numbers() []number {
	return []number{
		{"`dsr_max` of at least 0.95, which decides", passed.dsrMax},
		{"`dsr_2025` of at least 0.95, shown only", passed.dsr2025},
		{"`p_sidak` of at most 0.05, shown only", passed.sidak},
	}
}

func (p passed) dsrMax() rate  { return rateOf(p.DSRMax, p.N) }
func (p passed) dsr2025() rate { return rateOf(p.DSR2025, p.Formulas) }
func (p passed) sidak() rate   { return rateOf(p.Sidak, p.Formulas) }

// grid is a table of one number: a row for each number of trials, a column for each rho.
func (s *searched) grid(b *strings.Builder, x number) {
	fmt.Fprintf(b, "\n### %s\n\n| trials | days |", x.title)
	for _, rho := range gridRho() {
		fmt.Fprintf(b, " rho %g |", rho)
	}
	b.WriteString("\n|--:|--:|" + strings.Repeat("--:|", len(gridRho())) + "\n")
	for i, c := range gridSearches() {
		if i%len(gridRho()) == 0 {
			fmt.Fprintf(b, "| %d | %s |", c.Trials, thousands(c.Days))
		}
		fmt.Fprintf(b, " %s |", percent(x.of(s.Counts[c]).value()))
		if (i+1)%len(gridRho()) == 0 {
			b.WriteString("\n")
		}
	}
}

// bound reports whether dsr_max keeps its bound.
func (s *searched) bound() string {
	var all passed
	searches, met, broken := 0, 0, 0
	var highest search
	for _, c := range append(gridSearches(), otherSearches()...) {
		p := s.Counts[c]
		searches++
		all = all.plus(p)
		if p.dsrMax().value() <= mostSize {
			met++
		}
		if p.dsrMax().low > mostSize {
			broken++
		}
		if highest.Name == "" || p.DSRMax > s.Counts[highest].DSRMax {
			highest = c
		}
	}
	r := s.Counts[highest].dsrMax()
	return fmt.Sprintf(
		"`dsr_max` lets **%s** of all %s cases without skill pass (95 %% limits %s). Its rate is at most "+
			"7 %% in\n"+
			"%d of %d searches, and certainly above (by its lower limit) in %d; the highest is %s "+
			"(%s),\nof \"%s\".\n",
		percent(all.dsrMax().value()), thousands(all.N), limits(all.dsrMax()), met, searches, broken,
		percent(r.value()), limits(r), highest.Name)
}

func (s *searched) rows(b *strings.Builder, list []search) {
	for _, c := range list {
		p := s.Counts[c]
		fmt.Fprintf(
			b,
			"| %s | %d | %s | %s | %s | %s |\n",
			c.Name,
			c.Trials,
			percent(p.dsrMax().value()),
			limits(p.dsrMax()),
			percent(p.dsr2025().value()),
			percent(p.sidak().value()),
		)
	}
}

// thousands returns a count of up to six digits.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// searchForeword and searchAfterword are the section before and after its numbers.
const searchForeword = `
Whether ` + "`selection_bias`" + ` keeps its bound when the trials of a search are alike: searches on
simulated days in which no trial has any skill, of which the best is judged. Counted is how often
a number is good enough for a ` + "`pass`" + `: ` + "`dsr_max`" + ` at least 0.95, which decides; ` +
	"`dsr_2025`" + ` at least
0.95 and ` + "`p_sidak`" + ` at most 0.05, which are shown only. 0.95 promises 5 %; the bound for ` +
	"`dsr_max`" + `
is 7 %. rho is the correlation of any two trials.

`

const searchAfterword = `
A return is sqrt(rho) times that of the market of its cluster plus sqrt(1 - rho) times one of its
own, both normal with a variance of 1. Copies are equal to the last digit. Student-t(3) divides
each of the two by a mixing variable, or all returns of a day by one. GARCH(1,1) multiplies all
returns of a day by a volatility whose square is 0.02 + v (0.10 z^2 + 0.88) for the v and the
normal z of the day before. A year has 365 days; searches of 500 trials have one year, to bound
their cost. Every case has random numbers of its own. Its resampling ends when what it has would
be as likely as one in a million if the p were just 0.05. All trials have returns on all days, so
no row shows the cost of missing returns.
`
