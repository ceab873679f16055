package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/evalue"
)

// prospectiveTitle is that of the section about days after the seal.
const prospectiveTitle = "\n## Days after the seal\n"

// The size of the simulation, and what its days are like: normal, cut at twice the declared bound.
const (
	prospectiveYears = 3
	yearDays         = 365
	dayDeviation     = 0.01
	dayBound         = 0.03
	evidenceCanary   = 3
	daysCanary       = 60
)

// course is what a program promises and delivers, as annual Sharpe ratios.
type course struct {
	name     string
	promised float64
	days     int                       // of the locked test
	delivers func(day float64) float64 // from 0 on
}

func steady(sharpe float64) func(float64) float64 { return func(float64) float64 { return sharpe } }

// courses are those of the table.
func courses() []course {
	decay := func(day float64) float64 { return 3 * max(0, 1-day/(2*yearDays)) }
	return []course{
		{"noise that promised nothing", 0, 243, steady(0)},
		{"noise that promised 3", 3, 243, steady(0)},
		{"noise that promised 3", 3, 1218, steady(0)},
		{"noise that promised 5, as of prices inside", 5, 243, steady(0)},
		{"edge of 2 that stays", 2, 243, steady(2)},
		{"edge of 3 that stays", 3, 243, steady(3)},
		{"edge of 5 that stays", 5, 243, steady(5)},
		{"edge of 3 that decays to 0 in two years", 3, 243, decay},
		{"edge of 3 that turns to -3", 3, 243, steady(-3)},
	}
}

// path is one simulation: the day on which each bar was reached, 0 for never.
type path struct{ canary, live, stopped int }

// follow plays a course once.
func follow(c course, random *rand.Rand) path {
	draw := func(sharpe float64) float64 {
		x := dayDeviation * (sharpe/math.Sqrt(yearDays) + random.NormFloat64())
		return max(-2*dayBound, min(2*dayBound, x))
	}
	var promised []float64
	for range c.days {
		promised = append(promised, draw(c.promised))
	}
	e, err := evalue.NewProcess(dayBound, promised)
	if err != nil {
		panic(err) // the bound is a constant
	}
	ranks, drift := evalue.NewRanks(promised), evalue.NewDrift()
	var p path
	for day := 1; day <= prospectiveYears*yearDays; day++ {
		x := draw(c.delivers(float64(day - 1)))
		e.Add(x, false)
		drift.Add(ranks.Add(x, random.Float64()))
		v := e.Value()
		if p.canary == 0 && day >= daysCanary && v >= evidenceCanary {
			p.canary = day
		}
		if p.live == 0 && day >= daysCanary && v >= evalue.LiveBar {
			p.live = day
		}
		if p.stopped == 0 && drift.Value() >= evalue.DriftBar {
			p.stopped = day
		}
	}
	return p
}

// prospective returns the section: how often each bar is reached, and when.
func prospective(paths int, seed uint64) string {
	var b strings.Builder
	b.WriteString(prospectiveTitle)
	fmt.Fprintf(&b, `
What the evidence E and the drift D of [prospective evidence](governance.md#prospective-evidence) come to, by
simulation: **%s paths** of %d years for each row. Days are normal with a deviation of 1 %%, cut at twice a
declared daily loss of 3 %%; D is measured against so many days of the locked test. Seed %d:

`, thousands(paths), prospectiveYears, seed)
	fmt.Fprintf(&b, "```\ngo run ./cmd/tools/calibrate -only prospective -paths %d -seed %d "+
		"-o docs/calibration.md\n```\n\n", paths, seed)
	b.WriteString("| course (annual Sharpe ratios) | test days | E >= 3 | median days | E >= 20 " +
		"| median days | suspended in a year | in three | median days |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, c := range courses() {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		var list []path
		for range paths {
			list = append(list, follow(c, random))
		}
		canary, toCanary := reached(list, func(p path) int { return p.canary })
		live, toLive := reached(list, func(p path) int { return p.live })
		stopped, toStop := reached(list, func(p path) int { return p.stopped })
		soon := 0
		for _, p := range list {
			if p.stopped > 0 && p.stopped <= yearDays {
				soon++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, thousands(c.days),
			canary, toCanary, live, toLive, percent(float64(soon)/float64(paths)), stopped, toStop)
	}
	b.WriteString(`
- "Reached" is ever within three years, from day 60 on; gates use the E of the day. Ville's bound for E of 20
  without skill is 5 %.
- Medians are of the paths that reach the bar. A suspension of an edge that stays is a false alarm, at most
  5 % by Ville's bound.
- Losses beyond twice the declared bound, few trades and other distributions are not in it.
`)
	return b.String()
}

// reached is in which share of paths a bar was reached, and the median day.
func reached(list []path, of func(path) int) (share, median string) {
	var days []int
	for _, p := range list {
		if d := of(p); d > 0 {
			days = append(days, d)
		}
	}
	if len(days) == 0 {
		return percent(0), "-"
	}
	slices.Sort(days)
	return percent(float64(len(days)) / float64(len(list))), fmt.Sprint(days[len(days)/2])
}

// cutProspective returns a page without its section about days after the seal, and the section.
func cutProspective(page string) (rest, section string) {
	at := strings.Index(page, prospectiveTitle)
	if at < 0 {
		return page, ""
	}
	end := strings.Index(page[at+len(prospectiveTitle):], "\n## ")
	if end < 0 {
		return page[:at], page[at:]
	}
	end += at + len(prospectiveTitle)
	return page[:at] + page[end:], page[at:end]
}

// withProspective returns a page with a section about days after the seal before "How it is made".
func withProspective(page, section string) (string, error) {
	page, _ = cutProspective(page)
	at := strings.Index(page, madeTitle)
	if at < 0 {
		return "", errors.New(
			"the file of -o is no page of the calibration: it has no section \"How it is made\"",
		)
	}
	return page[:at] + section + page[at:], nil
}

// keepProspective returns a page with the section that the file of -o has.
func keepProspective(o options, page string) (string, error) {
	text, err := os.ReadFile(o.out)
	if errors.Is(err, os.ErrNotExist) {
		return page, nil
	}
	if err != nil {
		return "", err
	}
	if _, section := cutProspective(string(text)); section != "" {
		return withProspective(page, section)
	}
	return page, nil
}

// playProspective renews the section in the file of -o.
func playProspective(o options) error {
	text, err := os.ReadFile(o.out)
	if err != nil {
		return err
	}
	page, err := withProspective(string(text), prospective(o.paths, o.seed))
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, []byte(page), 0o644)
}
