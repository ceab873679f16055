package main

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	b.WriteString(
		"\n## The strategies of cheats.md\n\nThrough is a verdict of `pass` or `warn`, which is exit code " +
			"0 and " +
			"enough for `paper`.\n\n| row | through | 95 % limits | inconclusive | most often failed by |\n" +
			"|---|--:|--:|--:|---|\n")
	for at, s := range c.Settings {
		if s.Row == "" {
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
		r := rateOf(through, s.Cases)
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s |\n", strings.TrimPrefix(s.Name, "row "), counted(r),
			limits(r), open, mostOften(failed))
	}
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
