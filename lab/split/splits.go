package split

import (
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Over is the content of splits.json: the ranges of a scheme over the close times of
// all symbols together, which ascend and differ.
func (s *Scheme) Over(closes []market.Time, holding int) (artifact.Splits, error) {
	ranges, err := s.Ranges(len(closes), holding)
	if err != nil {
		return artifact.Splits{}, err
	}
	out := artifact.FullSplit(slices.Values(closes))
	out.Scheme, out.Params, out.Splits = s.Scheme, s.params(len(closes), holding), nil
	for _, r := range ranges {
		out.Splits = append(out.Splits, artifact.SplitRange{
			ID: r.ID, Role: r.Role, Train: r.Train, Test: r.Test, From: r.From, To: r.To, TSFrom: closes[r.From], TSTo: closes[r.To-1],
		})
	}
	return out, nil
}

// params are the numbers that the scheme was made with, defaults filled in.
func (s *Scheme) params(n, holding int) map[string]any {
	p := map[string]any{}
	if s.First > 0 {
		p["windows"] = s.First
	}
	switch s.Scheme {
	case Default:
		p["purge"] = s.purge(holding)
	case WalkForward:
		step := s.Step
		if step == 0 {
			step = s.Test
		}
		p["train"], p["test"], p["step"], p["purge"] = s.Train, s.Test, step, s.purge(holding)
		p["anchored"], p["keep_partial"] = s.Anchored, s.KeepPartial
	case CPCV:
		embargo := (n + 99) / 100
		if s.Embargo != nil {
			embargo = *s.Embargo
		}
		p["n_folds"], p["n_test_folds"], p["purge"], p["embargo"] = s.folds(), s.testFolds(), s.purge(holding), embargo
	}
	return p
}
