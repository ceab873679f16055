// Package capacity is the test capacity: the fills beside the volume of their candles. One
// test, one folder.
package capacity

import (
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID names the test.
const ID = "capacity"

var entry = judge.Entry{
	Number: 20, ID: ID, Version: 2, Class: judge.Warning,
	Claim: "the market has the volume for its orders",
	Method: "quantity of each fill over the volume of its candle; by how much the account could grow; " +
		"what the market's reaction costs by the square-root law",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		c, why, err := CapacityOf(b.Run, b.Profile.Policy.Participation)
		if err != nil {
			return nil, err
		}
		if c != nil && why == "" {
			if err := c.addImpact(b.Run); err != nil {
				return nil, err
			}
		}
		f := &battery.Finding{Test: Judge(&b.Judge, c, why)}
		if c != nil && why == "" {
			f.Add(fileOf(c))
		}
		return f, nil
	})
}

// Judge judges whether the fills could have been had; why is the reason that CapacityOf gave.
func Judge(j *judge.Judge, c *Capacity, why stat.Reason) *judge.Test {
	p := j.Policy
	switch why {
	case stat.NotApplicable:
		return entry.Skip(judge.NoVolume)
	case "":
	default:
		t := j.Begin(entry, 0, nil)
		t.Measure("fills_within_limit", nil, why, ">=", &p.ParticipationFills)
		return t.End(judge.Inconclusive, string(why), "nothing was bought or sold")
	}
	t := j.Begin(entry, 0,
		map[string]any{"participation": p.Participation, "participation_fills": p.ParticipationFills})
	t.Params["max_scale"] = judge.Rounded(&c.MaxScale)
	if c.Impact != nil {
		t.Params["impact"] = map[string]any{"capital": c.Impact.Capital, "bps": c.Impact.Bps}
	}
	t.Measure("fills_within_limit", &c.Within, "", ">=", &p.ParticipationFills)
	if c.Within >= p.ParticipationFills {
		return t.End(judge.Pass, "", "")
	}
	return t.Endf(judge.Fail, judge.AboveLimit, "%s of its fills take more than %s of the volume of their "+
		"candle", judge.Percent(1-c.Within), judge.Percent(p.Participation))
}

func fileOf(c *Capacity) judge.File {
	s := judge.NewSheet(entry.ID, "capacity.csv", "time", "symbol", "quantity", "volume", "participation")
	for _, x := range c.Fills {
		s.Row(x.Time.String(), string(x.Symbol), judge.Plain(x.Quantity), judge.Plain(x.Volume),
			judge.Optional(x.Share))
	}
	return s.File()
}

// Participation is a fill as a share of what was traded in its candle. Volume is in units
// of the base; Share is nil where nothing was traded.
type Participation struct {
	Time             market.Time
	Symbol           market.Symbol
	Quantity, Volume float64
	Share            *float64
}

// Capacity is the size at which a run could have been traded.
type Capacity struct {
	Fills []Participation
	// Within is the share of the fills that are no more than the limit.
	Within float64
	// MaxScale is the factor on all quantities that brings the largest share to the limit, 0
	// where a fill had no volume at all.
	MaxScale float64
	// Impact is nil where a fill had no volume, or a price never moved.
	Impact *Impact
}

// Impact is what the market's reaction costs on average, in basis points of what is bought and
// sold, if the account stands at its initial cash: with its root it grows and shrinks.
type Impact struct{ Capital, Bps float64 }

// addImpact works the impact out. Each fill counts as it would have been had the account stood
// at its initial cash: a run that has grown trades more than one that begins. The volatility is the
// standard deviation of the symbol's returns from close to close.
func (c *Capacity) addImpact(r *account.Run) error {
	g, err := account.NewGrid(r)
	if err != nil {
		return err
	}
	initial, err := decimal.Parse(r.Results.InitialCash)
	if err != nil {
		return fmt.Errorf("initial cash: %w", err)
	}
	cash, moves := account.Float(initial), map[market.Symbol]float64{}
	for _, s := range r.Candles {
		returns := make([]float64, 0, s.Len())
		for i := 1; i < s.Len(); i++ {
			returns = append(returns, s.Close[i]/s.Close[i-1]-1)
		}
		if m, why := stat.Of(returns); why == "" {
			moves[s.Symbol] = m.SD
		}
	}
	n := len(c.Fills)
	quantities, volumes := make([]float64, n), make([]float64, n)
	volatilities, notionals := make([]float64, n), make([]float64, n)
	for i := range c.Fills {
		f := &c.Fills[i]
		equity := g.Before(f.Time)
		if equity <= 0 {
			return nil
		}
		quantities[i], volumes[i] = f.Quantity*cash/equity, f.Volume
		volatilities[i] = moves[f.Symbol]
		notionals[i] = quantities[i] * account.Float(r.Results.Fills[i].Price)
	}
	if mean, why := trade.MeanImpact(quantities, volumes, volatilities, notionals); why == "" && mean > 0 {
		bps := mean * 10_000
		c.Impact = &Impact{cash, *judge.Rounded(&bps)}
	}
	return nil
}

// CapacityOf compares every fill with the volume of its candle; limit is a fraction. The
// reasons are NoTrades without fills, and NotApplicable where the candles have no volume
// in a unit that quantities can be compared with.
func CapacityOf(r *account.Run, limit float64) (*Capacity, stat.Reason, error) {
	fills := r.Results.Fills
	if len(fills) == 0 {
		return nil, stat.NoTrades, nil
	}
	out := &Capacity{Fills: make([]Participation, len(fills))}
	quantities, volumes := make([]float64, len(fills)), make([]float64, len(fills))
	any := false
	for i := range fills {
		volume, known, err := volume(r, &fills[i])
		if err != nil {
			return nil, "", err
		}
		if !known {
			return nil, stat.NotApplicable, nil
		}
		any = any || volume > 0
		quantities[i], volumes[i] = account.Float(fills[i].Quantity), volume
		out.Fills[i] = Participation{Time: fills[i].Time, Symbol: fills[i].Symbol, Quantity: quantities[i],
			Volume: volume}
	}
	if !any {
		return nil, stat.NotApplicable, nil
	}
	c := trade.Participate(quantities, volumes, limit)
	for i := range out.Fills {
		out.Fills[i].Share = &c.Participation[i]
	}
	for _, i := range c.Untradable {
		out.Fills[i].Share = nil
	}
	out.Within = 1 - float64(len(c.Violations))/float64(len(fills))
	out.MaxScale = c.MaxScale
	return out, "", nil
}

// volume is what was traded in the candle of a fill, in units of the base. Not known: the
// data counts something else.
func volume(r *account.Run, f *market.Fill) (_ float64, known bool, _ error) {
	for i, s := range r.Candles {
		if s.Symbol != f.Symbol {
			continue
		}
		at := s.Search(f.Time)
		if f.Role == market.RoleEndOfData || f.Role == market.RoleLiquidation {
			at-- // stamped with the close of its candle
		}
		if at < 0 || at == s.Len() || s.Time[at] > f.Time {
			return 0, false, fmt.Errorf("%s has no candle for the fill at %s", f.Symbol, f.Time)
		}
		unit := "base"
		if i < len(r.VolumeUnits) && r.VolumeUnits[i] != "" {
			unit = r.VolumeUnits[i]
		}
		switch unit {
		case "base":
			return s.Volume[at], true, nil
		case "quote":
			return s.Volume[at] / s.Close[at], true, nil
		}
		return 0, false, nil
	}
	return 0, false, fmt.Errorf("a fill of %s, which is not in the run", f.Symbol)
}
