package evaluate

import (
	"context"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/result"
)

// Describe is what the plugin of a question says about itself.
func (h *Host) Describe(ctx context.Context, q Question) (*catalog.Strategy, error) {
	c, err := h.openPlugin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return lookUp(c, q)
}

// Decisions plays the first candles several times, each in a fresh process, and
// returns the decision hashes. The failure is that of the first run whose plugin
// failed.
func (h *Host) Decisions(ctx context.Context, p *Prepared, candles, times int) ([]string, *result.Failure, error) {
	jobs := make([]job, times)
	for i := range jobs {
		jobs[i] = job{id: "full", to: min(candles, len(p.timeline.closes))}
	}
	played, err := h.play(ctx, p, jobs, nil)
	if err != nil {
		return nil, nil, err
	}
	var hashes []string
	for i := range played {
		if played[i].failure != nil {
			return nil, played[i].failure, nil
		}
		hashes = append(hashes, played[i].results.DecisionHash)
	}
	return hashes, nil, nil
}
