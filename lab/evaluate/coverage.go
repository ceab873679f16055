package evaluate

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// coverage is the open times of one symbol in the window of a question that has several.
// Of a single symbol the timeline has them.
type coverage struct {
	symbol market.Symbol
	opens  []market.Time
}

// covered refuses a question one of whose splits has no candle of one of its symbols: it
// could not be played, which is better known before the first split is.
func (p *Prepared) covered() error {
	if p.whole {
		return nil
	}
	for _, j := range p.jobs() {
		first := p.timeline.opens[j.from]
		for _, c := range p.coverage {
			from, _ := slices.BinarySearch(c.opens, first)
			to := len(c.opens)
			if j.to < len(p.timeline.opens) {
				to, _ = slices.BinarySearch(c.opens, p.timeline.opens[j.to])
			}
			if from >= to {
				return p.uncovered(j, c, from)
			}
		}
	}
	return nil
}

// uncovered says what to do about a split that begins before or behind the candles of a
// symbol, or in a gap of them; next is the symbol's first candle from its begin on.
func (p *Prepared) uncovered(j job, c coverage, next int) error {
	const setOr = `set %q: %q in "data" of lab.json, or leave the symbol out`
	first, last := c.opens[0], c.opens[len(c.opens)-1]
	pointer, cure := "/symbols", "import the candles that are missing, or leave the symbol out"
	switch {
	case next == len(c.opens):
		pointer, cure = "/data/end", fmt.Sprintf(setOr, "end", p.closeOf(last))
	case next == 0:
		pointer, cure = "/data/start", fmt.Sprintf(setOr, "start", first)
	}
	return &Error{
		Code: "DATA_UNAVAILABLE",
		Message: fmt.Sprintf("split %s has no %s candle of %s; there are candles from %s to %s: %s",
			j.id, p.Question.Timeframe, c.symbol, first, p.closeOf(last), cure),
		Details: map[string]any{"pointer": pointer, "split_id": j.id, "symbol": string(c.symbol)},
	}
}

// closeOf is the close time of the candles that open at a time of the timeline.
func (p *Prepared) closeOf(open market.Time) market.Time {
	i, _ := slices.BinarySearch(p.timeline.opens, open)
	return p.timeline.closes[min(i, len(p.timeline.closes)-1)]
}

// joined is the first step of the timeline by which every symbol has had a candle.
func (p *Prepared) joined() int {
	step := 0
	for _, c := range p.coverage {
		i, _ := slices.BinarySearch(p.timeline.opens, c.opens[0])
		step = max(step, i)
	}
	return step
}
