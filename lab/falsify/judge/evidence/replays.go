package evidence

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
)

// Replays is replays.csv of a test: a row per replay, in the order given.
func Replays(test string, list []judge.Replay) File {
	s := newSheet(test, "replays.csv", "variant", "replica", "status", "sharpe_ratio", "total_return", "max_drawdown",
		"total_trades", "net_pnl", "decision_hash")
	for i := range list {
		r := &list[i]
		trades := ""
		if r.Status == judge.Completed {
			trades = strconv.Itoa(r.Trades)
		}
		s.row(r.Variant, strconv.Itoa(r.Replica), string(r.Status), optional(r.Sharpe), optional(r.TotalReturn), optional(r.MaxDrawdown),
			trades, r.NetPnL, r.DecisionHash)
	}
	return s.file()
}

// The sides of a first difference.
const (
	sideBase   = "base"
	sideReplay = "replay"
)

// Difference is where a variant began to decide otherwise.
type Difference struct {
	Variant string
	lines.Diff
}

// FirstDiffs is first_diff.jsonl of a test: per variant the lines around the first
// difference, those of the base before those of the replay. The error is that of a line
// that is no JSON.
func FirstDiffs(test string, list []Difference) (File, error) {
	type entry struct {
		Variant string          `json:"variant"`
		Side    string          `json:"side"`
		Line    json.RawMessage `json:"line"`
	}
	f := File{Path: path(test, "first_diff.jsonl"), Content: []byte{}}
	for _, d := range list {
		for _, side := range []struct {
			name  string
			lines [][]byte
		}{{sideBase, d.Want}, {sideReplay, d.Got}} {
			for _, line := range side.lines {
				text, err := jsonLine(entry{d.Variant, side.name, line})
				if err != nil {
					return File{}, fmt.Errorf("a decision line of %s: %w", d.Variant, err)
				}
				f.Content = append(f.Content, text...)
				f.Rows++
			}
		}
	}
	return f, nil
}

// Drifts is drift.csv of warmup_recursive: per multiple of the warm-up (1x) a row for each
// published series, and one without series where nothing was published.
func Drifts(list []judge.Drift) File {
	s := newSheet(judge.WarmupRecursive, "drift.csv", "variant", "series", "max_relative", "decisions_differing")
	for _, d := range list {
		variant, differing := strconv.Itoa(d.Multiple)+"x", strconv.Itoa(d.Differing)
		for _, x := range d.Series {
			s.row(variant, x.Name, number(x.MaxRelative), differing)
		}
		if len(d.Series) == 0 {
			s.row(variant, "", "", differing)
		}
	}
	return s.file()
}

// Symbols is symbols.csv of symbol_holdout.
func Symbols(list []judge.LeftOut) File {
	s := newSheet(judge.SymbolHoldout, "symbols.csv", "symbol", "pnl", "share", "sharpe_ratio_without")
	for _, x := range list {
		s.row(string(x.Symbol.Symbol), x.PnL.Trim(0).String(), optional(x.Share), optional(x.Without.Sharpe))
	}
	return s.file()
}
