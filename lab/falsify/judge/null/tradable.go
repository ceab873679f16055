package null

import (
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Cost is a run at a multiple of its costs. Net = Gross - Costs; Turnover is the notional
// of all fills.
type Cost struct {
	Multiplier        float64
	Gross, Costs, Net decimal.Decimal
	Turnover          float64
	// BreakEvenBps are the costs, in basis points of the turnover, at which nothing would
	// be left; nil without turnover.
	BreakEvenBps *float64
}

// CostOf takes one run of the cost stress apart.
func CostOf(multiplier float64, r *artifact.Results, in metric.Input) (Cost, error) {
	out := Cost{Multiplier: multiplier, Turnover: in.Totals.FillNotional.Float64()}
	var err error
	if out.Net, err = net(r); err != nil {
		return out, err
	}
	parts := make([]decimal.Decimal, 0, 2*len(r.Fills))
	for i := range r.Fills {
		parts = append(parts, r.Fills[i].Fee, r.Fills[i].Slippage)
	}
	if out.Costs, err = sum(parts...); err != nil {
		return out, err
	}
	if out.Gross, err = out.Net.Add(out.Costs); err != nil {
		return out, err
	}
	if bps, why := trade.BreakEvenBps(float(out.Gross), out.Turnover); why == "" {
		out.BreakEvenBps = &bps
	}
	return out, nil
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
	// MaxScale is the factor on all quantities that brings the largest share to the limit,
	// 0 where a fill had no volume at all.
	MaxScale float64
}

// CapacityOf compares every fill with the volume of its candle; limit is a fraction. The
// reasons are NoTrades without fills, and NotApplicable where the candles have no volume
// in a unit that quantities can be compared with.
func CapacityOf(r *Run, limit float64) (*Capacity, stat.Reason, error) {
	fills := r.Results.Fills
	if len(fills) == 0 {
		return nil, stat.NoTrades, nil
	}
	out := &Capacity{Fills: make([]Participation, len(fills))}
	quantities, volumes := make([]float64, len(fills)), make([]float64, len(fills))
	any := false
	for i := range fills {
		volume, known, err := r.volume(&fills[i])
		if err != nil {
			return nil, "", err
		}
		if !known {
			return nil, stat.NotApplicable, nil
		}
		any = any || volume > 0
		quantities[i], volumes[i] = float(fills[i].Quantity), volume
		out.Fills[i] = Participation{Time: fills[i].Time, Symbol: fills[i].Symbol, Quantity: quantities[i], Volume: volume}
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
func (r *Run) volume(f *market.Fill) (_ float64, known bool, _ error) {
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
