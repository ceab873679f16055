package evidence

import (
	"errors"
	"io/fs"
	"math"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/assay-run/assay/governance/bundle"
)

// capacityTest is the test of a falsification that measures the market's reaction.
const capacityTest = "capacity"

// basisPoints are those of the whole; most bounds what is believed, because the log holds no number
// beyond 2^53.
const (
	basisPoints = 10_000
	most        = 1e12
)

// edgeOf is what the closed trades out of sample have earned, nil where the table of one split is
// not there.
func edgeOf(rep *report, files Files) (*bundle.Edge, error) {
	var profits, notionals []float64
	for _, s := range rep.Splits {
		if s.Role != roleWalkForward && s.Role != roleTest || !safeName(s.ID) {
			continue
		}
		name := "splits/" + s.ID + "/" + tradesName
		text, err := files(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if err := rows(name, text, "trade_id", func(_ string, x []float64) error {
			profits, notionals = append(profits, x[0]), append(notionals, float64(x[1]*(x[2]+x[3])))
			return nil
		}, "pnl", "quantity", "entry_price", "exit_price"); err != nil {
			return nil, err
		}
	}
	own := func(x float64) float64 { return x }
	bps := sum(profits, own) / sum(notionals, own) * basisPoints
	if math.IsNaN(bps) || math.Abs(bps) > most {
		return nil, nil // nothing was traded, or no market has such prices
	}
	return &bundle.Edge{Trades: int64(len(profits)), Bps: bps}, nil
}

// impactOf is what the capacity test of a falsification has measured, nil where it has not.
func impactOf(a *attack) (*bundle.Impact, error) {
	for _, t := range a.Statistics {
		if t.ID != capacityTest || len(t.Params) == 0 {
			continue
		}
		var p struct {
			Impact *bundle.Impact `json:"impact"`
		}
		if err := jsonv2.Unmarshal(t.Params, &p); err != nil {
			return nil, invalid(AttackName, "the params of %s cannot be read", capacityTest)
		}
		if i := p.Impact; i != nil && !(0 < i.Capital && i.Capital <= most && 0 < i.Bps && i.Bps <= most) {
			return nil, invalid(AttackName, "the impact of %s is not above 0 and at most %v", capacityTest,
				most)
		}
		return p.Impact, nil
	}
	return nil, nil
}
