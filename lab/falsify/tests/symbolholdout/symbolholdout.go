// Package symbolholdout is the test symbol_holdout: each symbol left out in turn. One test,
// one folder.
package symbolholdout

import (
	"context"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID names the test.
const ID = "symbol_holdout"

var entry = judge.Entry{
	Number: 12, ID: ID, Version: 2, Class: judge.Warning,
	Claim:  "no single symbol carries the profit",
	Method: "each symbol left out in turn",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	n := len(b.Source.Set)
	switch {
	case n == 1:
		return battery.Check{Skip: judge.SingleSymbol}, nil
	case n-1 < b.Prepared.Strategy.MinSymbols:
		return battery.Check{Skip: judge.NotDeclared}, nil
	}
	list := make([]judge.Replay, n)
	var plays []*battery.Play
	for i := range list {
		name := "without_" + string(b.Source.Set[i].Series.Symbol)
		plays = append(plays, b.PlanChanged(name, 0, &list[i], b.Search, func() (replay.Set, error) {
			var out replay.Set
			for k := range b.Source.Set {
				if k != i {
					out = append(out, b.Source.Set[k])
				}
			}
			return out, nil
		}))
	}
	return battery.Check{Plays: plays, Judge: func(context.Context) (*battery.Finding, error) {
		symbols, err := BySymbol(b.Run)
		if err != nil {
			return nil, err
		}
		left := make([]LeftOut, n)
		worst := &list[0]
		for i := range left {
			left[i] = LeftOut{Symbol: symbols[i], Without: list[i]}
			if s := list[i].Sharpe; s != nil && (worst.Sharpe == nil || *s < *worst.Sharpe) {
				worst = &list[i]
			}
		}
		f := &battery.Finding{Test: Judge(&b.Judge, left), Stressed: worst}
		f.Replays(list)
		f.Add(fileOf(left))
		return f, nil
	}}, nil
}

// symbolsForShare is the number of symbols from which one of them can have too much.
const symbolsForShare = 3

// LeftOut is a symbol with its part in the profit of the base, and the run without it.
type LeftOut struct {
	Symbol
	Without judge.Replay
}

// Judge judges symbol_holdout.
func Judge(j *judge.Judge, list []LeftOut) *judge.Test {
	if len(list) == 1 {
		return entry.Skip(judge.SingleSymbol)
	}
	p := j.Policy
	t := j.Begin(entry, len(list), map[string]any{"symbol_share": p.SymbolShare})
	var without []judge.Replay
	for _, x := range list {
		without = append(without, x.Without)
	}
	t.Measure("min_sharpe_ratio", nil, stat.Insufficient, ">", judge.Ptr(0))
	if len(list) == 0 || judge.AnyBroken(without) {
		return t.End(judge.Error, judge.HostError, "a replay could not be made")
	}
	if j.TooLittle(t) {
		return t
	}
	least, at := 0.0, 0
	for i, sr := range judge.Ratios(without) {
		if i == 0 || sr < least {
			least, at = sr, i
		}
	}
	t.Undefined = nil
	t.Measure("min_sharpe_ratio", &least, "", ">", judge.Ptr(0))
	if least <= 0 {
		return t.Endf(judge.Fail, judge.SharpeNegative, "without %s the Sharpe ratio is %s",
			list[at].Symbol.Symbol, judge.TwoDigits(least))
	}
	for _, x := range list {
		switch {
		case len(list) < symbolsForShare:
		case x.Share == nil:
			t.Measure("symbol_share", nil, stat.NotApplicable, "<=", &p.SymbolShare)
			return t.End(judge.Fail, judge.NoProfit, "there is no profit to share")
		case *x.Share > p.SymbolShare:
			t.Measure("symbol_share", x.Share, "", "<=", &p.SymbolShare)
			return t.Endf(judge.Fail, judge.Concentrated, "%s of the profit comes from %s",
				judge.Percent(*x.Share), x.Symbol.Symbol)
		}
	}
	return j.Capped(t.End(judge.Pass, "", ""))
}

func fileOf(list []LeftOut) judge.File {
	s := judge.NewSheet(entry.ID, "symbols.csv", "symbol", "pnl", "share", "sharpe_ratio_without")
	for _, x := range list {
		s.Row(string(x.Symbol.Symbol), x.PnL.Trim(0).String(), judge.Optional(x.Share),
			judge.Optional(x.Without.Sharpe))
	}
	return s.File()
}

// Symbol is what one symbol has earned, open positions included.
type Symbol struct {
	Symbol market.Symbol
	PnL    decimal.Decimal
	// Share of the profit of all; nil when there is none.
	Share *float64
}

// BySymbol divides the profit of a run by symbol, in the order of its candles.
func BySymbol(r *account.Run) ([]Symbol, error) {
	out := make([]Symbol, len(r.Candles))
	total := decimal.Decimal{}
	for i, s := range r.Candles {
		var parts []decimal.Decimal
		for k := range r.Results.Trades {
			if t := &r.Results.Trades[k]; t.Symbol == s.Symbol {
				parts = append(parts, t.PnL)
			}
		}
		for k := range r.Results.Positions {
			if p := &r.Results.Positions[k]; p.Symbol == s.Symbol {
				parts = append(parts, p.UnrealizedPnL, p.RealizedPnL, p.Fees.Neg())
			}
		}
		pnl, err := account.Sum(parts...)
		if err != nil {
			return nil, err
		}
		out[i] = Symbol{Symbol: s.Symbol, PnL: pnl}
		if total, err = total.Add(pnl); err != nil {
			return nil, err
		}
	}
	for i := range out {
		if total.IsPos() {
			share := account.Float(out[i].PnL) / account.Float(total)
			out[i].Share = &share
		}
	}
	return out, nil
}
