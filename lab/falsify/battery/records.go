package battery

import (
	"context"
	"strconv"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/search/selection"
)

// own is a check that needs no replay.
func own(find func(context.Context) (*finding, error)) (check, error) { return check{judge: find}, nil }

// symbolHoldout plays without each of the symbols in turn.
func (b *bench) symbolHoldout() (check, error) {
	n := len(b.source.Set)
	switch {
	case n == 1:
		return check{skip: judge.SingleSymbol}, nil
	case n-1 < b.Question.Strategy.MinSymbols:
		return check{skip: judge.NotDeclared}, nil
	}
	list := rows(n)
	var plays []*play
	for i := range list {
		name := "without_" + string(b.source.Set[i].Series.Symbol)
		plays = append(plays, b.on(name, 0, &list[i], b.Search, func() (replay.Set, error) {
			var out replay.Set
			for k := range b.source.Set {
				if k != i {
					out = append(out, b.source.Set[k])
				}
			}
			return out, nil
		}))
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		symbols, err := null.BySymbol(b.run)
		if err != nil {
			return nil, err
		}
		left := make([]judge.LeftOut, n)
		worst := &list[0]
		for i := range left {
			left[i] = judge.LeftOut{Symbol: symbols[i], Without: list[i]}
			if s := list[i].Sharpe; s != nil && (worst.Sharpe == nil || *s < *worst.Sharpe) {
				worst = &list[i]
			}
		}
		f := &finding{Test: b.judge.Symbols(left), stressed: worst}
		f.replays(list)
		f.add(evidence.Symbols(left))
		return f, nil
	}}, nil
}

func (b *bench) regime() (check, error) {
	return own(func(context.Context) (*finding, error) {
		r, err := null.ByRegime(b.run)
		if err != nil {
			return nil, err
		}
		f := &finding{Test: b.judge.Regimes(r)}
		f.add(evidence.Regimes(r))
		return f, nil
	})
}

func (b *bench) outlierTrades() (check, error) {
	return own(func(context.Context) (*finding, error) {
		o, _, err := null.WithoutBest(b.run)
		if err != nil {
			return nil, err
		}
		f := &finding{Test: b.judge.Outliers(o)}
		if b.judge.Base.Trades > 0 {
			f.stressed = &judge.Replay{NetPnL: money(o.Net * b.judge.Base.Cash)}
		}
		return f, nil
	})
}

// randomEntry puts the holdings of the base at random times.
func (b *bench) randomEntry() (check, error) {
	return own(func(context.Context) (*finding, error) {
		m, why, err := null.NewRandomEntry(b.run)
		if err != nil {
			return nil, err
		}
		var ratios []*float64
		var list []judge.Replay
		if why == "" {
			for i, d := range m.Draw(b.Seed, b.Profile.Permutations()) {
				ratios = append(ratios, d.Sharpe)
				list = append(list, judge.Replay{
					Variant: "random", Replica: i, Status: judge.Completed, Sharpe: d.Sharpe, TotalReturn: &d.Return, MaxDrawdown: &d.MaxDrawdown,
					Trades: b.judge.Base.Trades, NetPnL: money(d.NetMoney),
				})
			}
		}
		return b.spread(b.judge.Random(ratios, why), list), nil
	})
}

// money is an amount of the quote currency as a plain decimal of 12 digits.
func money(x float64) string { return strconv.FormatFloat(metric.Round(x), 'f', -1, 64) }

func (b *bench) buyAndHold() (check, error) {
	return own(func(context.Context) (*finding, error) {
		bench, why, err := null.AgainstHolding(b.run, b.Seed, b.Profile.Bootstrap)
		if err != nil {
			return nil, err
		}
		f := &finding{Test: b.judge.Holding(bench, why)}
		if bench != nil {
			f.add(evidence.Benchmark(bench))
		}
		return f, nil
	})
}

func (b *bench) tradeShuffle() (check, error) {
	return own(func(context.Context) (*finding, error) {
		d, why, err := null.ShuffleTrades(b.run, b.Seed, b.Profile.Orders)
		if err != nil {
			return nil, err
		}
		f := &finding{Test: b.judge.Shuffled(d, why)}
		if d != nil {
			f.add(evidence.Drawdowns(d))
		}
		return f, nil
	})
}

func (b *bench) capacityOf() (check, error) {
	return own(func(context.Context) (*finding, error) {
		c, why, err := null.CapacityOf(b.run, b.Profile.Policy.Participation)
		if err != nil {
			return nil, err
		}
		f := &finding{Test: b.judge.Capacity(c, why)}
		if c != nil && why == "" {
			f.add(evidence.Capacity(c))
		}
		return f, nil
	})
}

func (b *bench) plausibility() (check, error) {
	return own(func(context.Context) (*finding, error) { return &finding{Test: b.judge.Plausible()}, nil })
}

// selectionBias asks what the search for the base has done to its numbers.
func (b *bench) selectionBias() (check, error) {
	return own(func(context.Context) (*finding, error) {
		s := b.Selection
		chosen := judge.Selected{
			Verdict: judge.Verdict(s.Verdict.Verdict), Reason: s.Verdict.ReasonCode, Strong: s.Verdict.Strong,
			DSR: s.Selection.DSRMax, P: s.Selection.DSRMaxTest.P, Undefined: s.Selection.Undefined["dsr_max"],
			Trials: s.Selection.NTrials, Threshold: selection.DSRPass,
		}
		if chosen.Reason == selection.ReasonPBO || chosen.Reason == selection.ReasonPBOHigh {
			chosen.PBO = s.Selection.PBO.Value
		}
		f := &finding{Test: b.judge.Selection(chosen)}
		if s.Selection.PBO.Value != nil {
			f.Params["pbo"] = *s.Selection.PBO.Value
		}
		return f, nil
	})
}
