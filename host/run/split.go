package run

import (
	"iter"
	"sync"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Split is what only the lab asks of a run, which is then one split of an evaluation.
// Its window is that of the request; the zero value is the run of a service.
type Split struct {
	// ID names it in decision lines; full if empty.
	ID string
	// Seed is the root of the strategy's random numbers; 1 if zero.
	Seed uint64
	// Pins are the datasets to use by symbol, as SHA-256; the current one otherwise.
	Pins map[market.Symbol]string
	// DelayCandles and WorstPrice are stress, see sim.Config.
	DelayCandles int
	WorstPrice   bool
	// Drive is how the play is driven where that is not left to the host.
	Drive Drive
	// Series keeps every point that the strategy publishes inside the window, for
	// Execution.Published.
	Series bool
	// LogFile is how many bytes of log lines are kept for log.jsonl; 0 keeps none.
	LogFile int
}

// Drive is how one play is driven: the same question must have the same answer in
// each of these ways. The zero value drives as runs are driven.
type Drive struct {
	// Lockstep sends the candles one by one, whatever Options.Mode says, and does not tell
	// how many there will be.
	Lockstep bool
	// Chunked sends the candles of a co-simulation in messages: no dataset file is
	// readable for the plugin. It has no meaning in lockstep.
	Chunked bool
	// Procs is GOMAXPROCS of the plugin's process; 0 leaves it to the plugin.
	Procs int
	// Warmup is how many candles lie before the window: 0 what the strategy asks for,
	// k >= 1 k times as many, AllHistory all there are. Never more than there are.
	Warmup int
}

// AllHistory as Drive.Warmup is every candle before the window.
const AllHistory = -1

// source is the candles of one symbol: the whole dataset and the rows of the window.
type source struct {
	symbol     market.Symbol
	sha256     string
	datasetID  string
	calendar   string
	priceStep  decimal.Decimal
	series     *market.Series // all rows
	from, to   int            // rows of the window
	first      int            // first row of the run, warm-up included
	file, sum  string         // the rows of the run as a file of their own, and its SHA-256
	release    func() error
	violations bool // imported with OHLC violations kept
}

func (s *source) run() *market.Series { return s.series.Slice(s.first, s.to) }

// layout is how the steps of a run lie over its candles.
type layout struct {
	warmup, window, total int64 // steps: rejected below, recorded from, all
	candles               int64 // of the window
	short                 int   // warm-up candles missing before the window
}

// lead is how many candles to load before the window where the strategy asks for warmup
// of them and there are have: no more than there are.
func (d Drive) lead(warmup, have int) int {
	switch {
	case d.Warmup == AllHistory, d.Warmup > 1 && warmup > have/d.Warmup:
		return have
	}
	return min(have, warmup*max(1, d.Warmup))
}

// lay puts the warm-up before the window: as many candles as there are, those missing of
// what the strategy asks for come from the window's first candles. More warm-up than it
// asks for moves neither the window nor the first step whose orders count.
func lay(sources []*source, warmup int, drive Drive) layout {
	var l layout
	series := make([]*market.Series, len(sources))
	start := sources[0].series.Time[sources[0].from]
	for i, s := range sources {
		s.first = s.from - drive.lead(warmup, s.from)
		l.short = max(l.short, warmup-s.from)
		l.candles += int64(s.to - s.from)
		start = min(start, s.series.Time[s.from])
		series[i] = s.run()
	}
	if len(sources) == 1 {
		l.total = int64(series[0].Len())
		l.window = int64(sources[0].from - sources[0].first)
	} else {
		l.window, l.total = laySteps(series, start)
	}
	l.warmup = l.window + int64(l.short)
	return l
}

// laySteps counts the steps of several symbols and those whose candles all opened
// before the window.
func laySteps(series []*market.Series, start market.Time) (window, total int64) {
	f := sim.NewSeriesFeed(series)
	b := sim.Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
	inside := false
	for more, _ := f.Next(&b); more; more, _ = f.Next(&b) {
		for i := range series {
			inside = inside || (b.Closed[i] && b.Candles[i].OpenTime >= start)
		}
		if !inside {
			window++
		}
		total++
	}
	return window, total
}

// windowCloses are the close times of the steps of the window.
func windowCloses(sources []*source) iter.Seq[market.Time] {
	return func(yield func(market.Time) bool) {
		series := make([]*market.Series, len(sources))
		for i, s := range sources {
			series[i] = s.series.Slice(s.from, s.to)
		}
		f := sim.NewSeriesFeed(series)
		b := sim.Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
		for more, err := f.Next(&b); more && err == nil; more, err = f.Next(&b) {
			if !yield(b.CloseTime) {
				return
			}
		}
	}
}

// windowOf is the part of the data that the rows of the sources cover.
func windowOf(sources []*source, candles int64) artifact.Window {
	w := artifact.Window{Candles: candles}
	for i, s := range sources {
		first, last := s.series.Time[s.from], s.series.CloseTime(s.to-1)
		if i == 0 || first < w.Start {
			w.Start = first
		}
		w.End = max(w.End, last)
	}
	return w
}

// pinned remembers datasets that were named by their hash, which are what they are: for
// many plays of the same candles.
type pinned struct {
	mu   sync.Mutex
	sets map[pin]candle.Dataset
}

type pin struct {
	exchange, timeframe, sha256 string
	symbol                      market.Symbol
}

func (p *pinned) get(k pin) (candle.Dataset, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.sets[k]
	return d, ok
}

func (p *pinned) put(k pin, d candle.Dataset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets == nil || len(p.sets) >= maxPinned {
		p.sets = map[pin]candle.Dataset{}
	}
	p.sets[k] = d
}

// maxPinned is far more than an evaluation has.
const maxPinned = 4096

func (p *plan) pin(exchange string, symbol market.Symbol) pin {
	return pin{exchange, p.Timeframe.String(), p.split.Pins[symbol], symbol}
}
