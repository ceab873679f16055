package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/hosttest/cheats"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// rowEdge is the true annual Sharpe ratio of the markets of tide and tide_bomb.
const rowEdge = 2

// seenShare is the part of a market that a search outside of the lab has seen: the splits before the test.
const seenShare = 0.8

// The searches outside: so many rules, so many pairs of averages.
const (
	rulesSearched = 40_000
	pairsSearched = 100
)

// marketsOf returns the markets without an edge of a seed, by the number of their case.
func marketsOf(seed uint64) cheats.Known {
	return func(key string) (*market.Series, error) {
		if key == "" {
			key = "0" // the defaults, which are described and not played
		}
		index, err := strconv.ParseUint(key, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("market %q: write the number of a case", key)
		}
		return series(symbol, seed, index, 0), nil
	}
}

// rowNumber is the place of a row in the table.
func rowNumber(id string) uint64 {
	return uint64(slices.IndexFunc(cheats.Battery(), func(r cheats.Row) bool { return r.ID == id }))
}

// rowParams are the parameters of a row's strategy in the case of a number.
func rowParams(strategy string, seed, index uint64) json.RawMessage {
	seen := func() *market.Series {
		s := series(symbol, seed, index, 0)
		n := int(seenShare * float64(s.Len()))
		return cheats.Between(s, s.Time[0].Time(), s.Time[n].Time())
	}
	switch strategy {
	case "time_table", "memory_two", "memory_day", "memory_cash", "memory_rare", "good_weeks", "price_table":
		return fmt.Appendf(nil, `{"market":"%d"}`, index)
	case "signs":
		return fmt.Appendf(nil, `{"rule":%q}`, cheats.BestRule(seen(), rulesSearched))
	case "baked":
		return fmt.Appendf(nil, `{"pair":%q}`, cheats.BestPair(seen(), pairsSearched))
	case "martingale", "never_loses":
		return json.RawMessage(`{"step":0.03}`)
	case "honest_sma", "dice":
		return json.RawMessage(`{"period":20}`)
	case "tide", "tide_bomb":
		return json.RawMessage(`{"period":10}`)
	}
	return json.RawMessage("{}")
}

// rows writes how often each row of docs/cheats.md gets through, and what stops it.
func (c *calibration) rows(b *strings.Builder) {
	if c.Sizes.Rows == 0 {
		return
	}
	b.WriteString(rowsTitle + "\nThrough is a verdict of `pass` or `warn`, which is exit code 0 and " +
		"enough for `paper`.\n\n")
	c.rowTable(b)
}

// rowTable writes the rows of which there are cases.
func (c *calibration) rowTable(b *strings.Builder) {
	b.WriteString("| row | through | 95 % limits | inconclusive | most often failed by |\n" +
		"|---|--:|--:|--:|---|\n")
	for at, s := range c.Settings {
		if s.Row == "" || len(c.Verdicts[at]) == 0 {
			continue
		}
		through, open, failed := 0, 0, map[string]int{}
		for _, v := range c.Verdicts[at] {
			switch v.Overall {
			case judge.Pass, judge.Warn:
				through++
			case judge.Inconclusive:
				open++
			}
			for _, t := range v.Tests {
				if t.Class == judge.Gate && t.Verdict == judge.Fail {
					failed[t.ID]++
				}
			}
		}
		r := rateOf(through, len(c.Verdicts[at]))
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s |\n", strings.TrimPrefix(s.Name, "row "), counted(r),
			limits(r), open, mostOften(failed))
	}
}

// rowsTitle is that of the section about the strategies of cheats.md, verdictTitle that of the one before.
const (
	rowsTitle    = "\n## The strategies of cheats.md\n"
	verdictTitle = "\n## The whole verdict\n"
)

// rowsAlone renews the section about the rows in the file of -o by what a file of -save has of them, whole
// or not: the rest of the page stays, and the section states by what it was measured.
func rowsAlone(o options) error {
	if o.from == "" {
		return errors.New("-only rows takes the verdicts of -from")
	}
	file, err := os.Open(o.from)
	if err != nil {
		return err
	}
	h, known, _, err := readSaved(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", o.from, err)
	}
	c := &calibration{head: h, Settings: settings(h.Sizes)}
	var missing []string
	for _, s := range c.Settings {
		var list []*verdict
		for i := 0; i < s.Cases && known[place{s.Name, i}] != nil; i++ {
			list = append(list, known[place{s.Name, i}])
		}
		if s.Row != "" && len(list) == 0 {
			missing = append(missing, s.Row)
		}
		c.Verdicts = append(c.Verdicts, list)
	}
	page, err := os.ReadFile(o.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nThrough is a verdict of `pass` or `warn`, which is exit code 0 and enough for "+
		"`paper`. This section was measured\nby profile `%s` with the rules of this version, seed %d.\n\n",
		rowsTitle, h.Profile, h.Seed)
	if len(missing) > 0 {
		fmt.Fprintf(&b, "**Not measured yet**: %s.\n\n", strings.Join(missing, ", "))
	}
	c.rowTable(&b)
	text, err := withRows(string(page), b.String())
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, []byte(text), 0o644)
}

// withRows returns a page with a section about the rows behind that of the whole verdict.
func withRows(page, section string) (string, error) {
	end := func(from int) int {
		next := strings.Index(page[from:], "\n## ")
		if next < 0 {
			return len(page)
		}
		return from + next
	}
	if at := strings.Index(page, rowsTitle); at >= 0 {
		page = page[:at] + page[end(at+len(rowsTitle)):]
	}
	at := strings.Index(page, verdictTitle)
	if at < 0 {
		return "", errors.New("the file of -o is no page of the calibration: it has no section about " +
			"the verdict")
	}
	at = end(at + len(verdictTitle))
	return page[:at] + section + page[at:], nil
}

// mostOften lists the three tests that failed most often, with their counts.
func mostOften(failed map[string]int) string {
	var ids []string
	for id := range failed {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(failed[b], failed[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, id := range ids[:min(3, len(ids))] {
		out = append(out, fmt.Sprintf("%s %d", id, failed[id]))
	}
	return strings.Join(out, ", ")
}
