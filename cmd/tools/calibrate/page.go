package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
)

// page is docs/calibration.md.
func (c *calibration) page() string {
	var b strings.Builder
	b.WriteString(introduction)
	n := 0
	for _, s := range c.Settings {
		n += s.Cases
	}
	fmt.Fprintf(&b,
		"This page is of **%d cases**, profile `%s` (%d replays where p-values come from them), seed "+
			"%d:\n\n```\n%s\n```\n\n",
		n, c.Profile, c.Replays, c.Seed, c.command())
	fmt.Fprintf(&b,
		"The full size is the default of `make calibrate`: 200 cases per setting, 20 on BTC/USDT 1h, 40 "+
			"with numbered\ncoins, 20 per cheat and per row of cheats.md.\n%s\n", c.short())
	b.WriteString(
		c.rules() + "\n## The bounds\n\n| rate | bound | measured | 95 % limits | met " +
			"|\n|---|---|--:|--:|---|\n")
	for _, x := range c.bounds() {
		met := "no"
		if x.met {
			met = "yes"
		}
		switch {
		case x.n == 0:
			met = "not measured"
		case !x.met && x.few:
			met = "no: the rate is, the limit takes more cases"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", x.what, x.bound, counted(x.rate), limits(x.rate),
			cmp.Or(x.note, met))
	}
	b.WriteString(
		"\n## The whole verdict\n\n| setting | cases | pass | warn | fail | inconclusive | pass or warn | " +
			"95 % limits |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for at, s := range c.Settings {
		if s.Row != "" {
			continue
		}
		var of [4]int
		for _, v := range c.Verdicts[at] {
			for i, x := range []judge.Verdict{judge.Pass, judge.Warn, judge.Fail, judge.Inconclusive} {
				if v.Overall == x {
					of[i]++
				}
			}
		}
		r := rateOf(of[0]+of[1], s.Cases)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %s | %s |\n", s.Name, s.Cases, of[0], of[1], of[2],
			of[3], percent(r.value()), limits(r))
	}
	c.rows(&b)
	for at, s := range c.Settings {
		if s.Row == "" {
			c.tests(&b, s, c.Verdicts[at])
		}
	}
	b.WriteString(afterword)
	return b.String()
}

// command repeats the run.
func (c *calibration) command() string {
	rows := ""
	if c.Sizes.Rows > 0 {
		rows = fmt.Sprintf(" -rows %d", c.Sizes.Rows)
	}
	return fmt.Sprintf(
		"go run ./cmd/tools/calibrate -noise %d -hundred %d -sample %d -numbered %d -planted %d -seeds %d"+
			"%s -replays %d -seed %d",
		c.Sizes.Noise, c.Sizes.Hundred, c.Sizes.Sample, c.Sizes.Numbered, c.Sizes.Planted, c.Sizes.Seeds,
		rows, c.Replays, c.Seed)
}

// short returns how much smaller than the full size the run is.
func (c *calibration) short() string {
	full := fullSize()
	if c.asked > 0 {
		return fmt.Sprintf("**It was ended early**: of %d cases it has the first ones of each setting, as "+
			"the tables say. The limits say\nwhat so few cases can show; a bound that is met here is met by "+
			"this sample and not yet proven by the full one.", c.asked)
	}
	if c.Sizes == full {
		return "This is that size."
	}
	return fmt.Sprintf(
		`**It is smaller here**: %d cases of noise per setting in families of 1 and 10, %d in families of `+
			`100, %d on BTC/USDT 1h,
%d with numbered coins, %d of each edge, %d of each cheat, %d of each row of cheats.md. The limits say `+
			`what so few cases can show; a `+
			`bound that is met here is met by this
sample and not yet proven by the full one.`, c.Sizes.Noise, c.Sizes.Hundred, c.Sizes.Sample, c.Sizes.Numbered,
		c.Sizes.Planted, c.Sizes.Seeds, c.Sizes.Rows)
}

// rules names the versions of the tests that have judged.
func (c *calibration) rules() string {
	version := map[int][]string{}
	for _, e := range tests.All() {
		for _, list := range c.Verdicts {
			if len(list) > 0 {
				v := list[0].of(e.ID).Version
				version[v] = append(version[v], e.ID)
				break
			}
		}
	}
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(version)) {
		if v > 1 {
			parts = append(parts, fmt.Sprintf("%s at version %d", strings.Join(version[v], ", "), v))
		}
	}
	return fmt.Sprintf(
		"Rules: %s.\n",
		strings.Join(append([]string{"every test at version 1"}, parts...), ", but "),
	)
}

// tests is what each test has said in one setting.
func (c *calibration) tests(b *strings.Builder, s *setting, list []*verdict) {
	fmt.Fprintf(b, "\n## %s%s\n\n", strings.ToUpper(s.Name[:1]), s.Name[1:])
	if s.Drift != 0 {
		fmt.Fprintf(b, "e = %.6g a day.\n\n", s.Drift)
	}
	b.WriteString(
		"| test | | pass | warn | fail | inconclusive | skipped | fail of judged | 95 % limits " +
			"|\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, e := range tests.All() {
		count := map[judge.Verdict]int{}
		for _, v := range list {
			count[v.of(e.ID).Verdict]++
		}
		judged := rateOf(count[judge.Fail], count[judge.Pass]+count[judge.Warn]+count[judge.Fail])
		rate := "–"
		if judged.n > 0 {
			rate = percent(judged.value())
		}
		fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d | %s | %s |\n", e.ID, e.Class, count[judge.Pass],
			count[judge.Warn], count[judge.Fail],
			count[judge.Inconclusive]+count[judge.Error], count[judge.Skipped], rate, limits(judged))
	}
}

func counted(r rate) string {
	if r.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d, %s", r.k, r.n, percent(r.value()))
}

func limits(r rate) string {
	if r.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%s to %s", percent(r.low), percent(r.high))
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// introduction is the page before its numbers.
const introduction = `# Calibration of the battery

How often ` + "`lab falsify`" + ` passes a strategy without an edge, how often it passes one that has an
edge, and whether it refutes cheats: measured with the whole battery, on candles whose truth is
known. The thresholds of the battery are policy; these are their rates. ` + "`make calibrate`" + ` writes
this page.

`

// afterword is how the numbers were made, and what they do not say.
const afterword = madeTitle + `
**Candles.** 1,826 days; open = last close, close = open * (1 + 0.03 z + drift), high and low 0.5
% beyond, prices rounded to 1e-8. z is the sum of twelve uniforms less 6. Volume is 1,500 or 500
and turns with probability 0.05 a day; the drift is e on days with 1,500 and -e on the others, 0
for noise and cheats. Each case has a market of its own; with and without costs the markets are
the same, so the two rows of a family are not independent.

**Noise** tosses a coin per block of three candles, by a hash of the time: in the market half of
the time, six candles on average. The best of a family by stitched walk-forward Sharpe ratio is
judged. Two choices make it harder to refute on purpose: the coins repeat after 364 days, by which
metamorphic moves the candles; and the coin is a text, because neighbours of a number would be
other coins. So param_neighbourhood has no number to change and shows nothing; symbol_holdout and
permuted_selection are skipped everywhere.

**Numbered coins**: the same noise with the coin as a number: the best of ten distant coins, whose
neighbours are other coins. It measures how often param_neighbourhood sees a knife edge: its
` + "`pass`" + ` must be rare, for it refutes only what stands alone above its neighbours.

**Planted edges** hold after days with volume 1,500, except on one day of the week, so that there
are at least 30 closed trades. The days between two days of rest, 7, are the one parameter. e is
set by halving on one simulated market of 1,000,000 days, so that the true annual Sharpe ratio,
net of the default costs, is 1, 2 or 3. The edge itself is judged; the 9 other trials are noise,
which loses money at default costs.

**Cheats**: B-02 (wall clock), B-03 (order of a map), B-04 (knows the number of candles), B-05
(remembers more than its warm-up). Refuted means overall ` + "`fail`" + `.

**Rows of [cheats.md](cheats.md)** are its strategies on markets of their own, days instead of
hours: those that know prices know the market of their case, searches are made on its first 80 %,
tide and tide_bomb have an edge of a true Sharpe ratio of 2.

**Differences from ` + "`lab falsify`" + `.** The strategies are served by the calibrating process as under
a debugger, and no replay starts a process: GOMAXPROCS and the sandbox are left to the acceptance
tests. Everything else is the same code.

**Time.** On a quiet machine a case of the battery takes 3 seconds of one core, measured over 700: the
2,300 of the full size take an hour of two cores. ` +
	"`-save`" + ` lets them end and go on, ` + "`-partial`" + ` makes a page of
what there is. A case of each of the 49 searches among correlated trials takes 0.9 seconds together: half an
hour for 2,000.

## What it does not show

- Embedded or memorised prices, or a model trained on the candles, cannot be told from skill on past
  candles: the rates of the rows are of these programs, not of cleverer ones.
- A rate of 0 of n is not 0: its upper limit is in the table.
- Noise that trades every few days on candles that move 3 % a day rarely passes intrabar_worst,
  regime and outlier_trades. These are warnings: they keep noise from ` + "`pass`" + `, not from ` +
	"`warn`" + `. So
  read ` + "`pass or warn`" + ` as well, which is exit code 0 and has no bound.
- An edge that compounds earns most of its money in its last year. At a Sharpe ratio of 3 regime
  counts that against it (best year at most 60 % of the profit), and the account outgrows the
  volume, which capacity sees.
- p-values count by ` + "`p <= 0.05`" + `. With 99 replays as with 199 this is reached in exactly 5 % of the
  cases if the null model is right, but with 99 a real edge is found a little less often.
- Returns are normal, without autocorrelation in noise and without heavy tails; one symbol, long
  only.
`
