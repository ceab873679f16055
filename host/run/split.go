package run

import (
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/trade/risk"
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
	// Pins are the datasets to use by symbol, and the inputs by candle.InputSymbol, as SHA-256; the
	// current one otherwise.
	Pins map[market.Symbol]string
	// MoveInputs moves the times of the inputs' rows, as those of the candles were; nil leaves them.
	MoveInputs func(market.Time) market.Time
	// DelayCandles and WorstPrice are stress, see sim.Config.
	DelayCandles int
	WorstPrice   bool
	// Drive is how the play is driven where that is not left to the host.
	Drive Drive
	// Limits hold the play to what a live run may do; nil for none. They need Drive.Lockstep.
	Limits *risk.Limits
	// Session plays in the process that it keeps, where the play is a co-simulation whose strategy can;
	// nil gives the play a process of its own.
	Session *Session
	// Series keeps every point that the strategy publishes inside the window, for
	// Execution.Published.
	Series bool
	// SeriesFile keeps them as Series does, for a file: the results do not say what was left out.
	SeriesFile bool
	// LogFile is how many bytes of log lines are kept for log.jsonl; 0 keeps none.
	LogFile int
}

// Drive is how one play is driven: the same question must have the same answer in
// each of these ways. The zero value drives as runs are driven.
type Drive struct {
	// Lockstep sends the candles one by one, whatever Options.Mode is, and does not send
	// how many there will be.
	Lockstep bool `json:"lockstep,omitzero"`
	// Chunked sends the candles of a co-simulation in messages: no dataset file is
	// readable for the plugin. It has no meaning in lockstep.
	Chunked bool `json:"chunked,omitzero"`
	// Procs is GOMAXPROCS of the plugin's process; 0 leaves it to the plugin.
	Procs int `json:"procs,omitzero"`
	// Cores is how many processors the plugin's process has, where the system can limit them; 0 is
	// all.
	Cores int `json:"cores,omitzero"`
	// Forked lets a bundle play in a copy of a process of Host.Forks of package request: what such a play
	// comes to must not be evidence that the strategy is determined.
	Forked bool `json:"forked,omitzero"`
	// Holds are close times of steps, ascending: a strategy that plays many steps by itself is given no
	// candle after the next of them before it has decided there, nor told how many there will be.
	Holds []market.Time `json:"holds,omitempty"`
	// Unreplayed leaves a strategy of signals unasked whether it looks ahead.
	Unreplayed bool `json:"unreplayed,omitzero"`
	// Warmup is how many candles lie before the window: 0 what the strategy asks for,
	// k >= 1 k times as many, AllHistory all there are. Never more than there are.
	Warmup int `json:"warmup,omitzero"`
}

// AllHistory as Drive.Warmup is every candle before the window.
const AllHistory = -1

// source is the candles of one symbol: the whole dataset and the rows of the window.
type source struct {
	candle.Dataset
	series    *market.Series // all rows
	from, to  int            // rows of the window
	first     int            // first row of the run, warm-up included
	file, sum string         // the rows of the run as a file of their own, and its SHA-256
	release   func() error
}

// start and end are those of the window.
func (s *source) start() market.Time { return s.series.Time[s.from] }
func (s *source) end() market.Time   { return s.series.CloseTime(s.to - 1) }

// keptViolations reports whether the candles were imported although some contradict themselves.
func (s *source) keptViolations() bool {
	return slices.ContainsFunc(s.Report.Warnings, func(w importer.Warning) bool {
		return w.Code == importer.WarnKept
	})
}

// run returns the rows of the run, window those that count.
func (s *source) run() *market.Series    { return s.series.Slice(s.first, s.to) }
func (s *source) window() *market.Series { return s.series.Slice(s.from, s.to) }

// mapSources returns a part of every source: its run or its window.
func mapSources(sources []*source, part func(*source) *market.Series) []*market.Series {
	series := make([]*market.Series, len(sources))
	for i, s := range sources {
		series[i] = part(s)
	}
	return series
}

// steps goes over the steps of some series. The batch is filled anew for each.
func steps(series []*market.Series) iter.Seq[*sim.Batch] {
	return func(yield func(*sim.Batch) bool) {
		f := sim.NewSeriesFeed(series)
		b := &sim.Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
		for more, err := f.Next(b); more && err == nil; more, err = f.Next(b) {
			if !yield(b) {
				return
			}
		}
	}
}

// layout is how the steps of a run lie over its candles.
type layout struct {
	warmup, window, total int64 // steps: rejected below, recorded from, all
	announced             int64 // the total that the plugin gets; 0 in a drive like that of a live run
	candles               int64 // of the window
	short                 int   // warm-up candles missing before the window
}

// warmupRows returns how many candles to load before the window where the strategy's warm-up takes
// warmup of them and there are have: no more than there are.
func (d Drive) warmupRows(warmup, have int) int {
	switch {
	case d.Warmup == AllHistory, d.Warmup > 1 && warmup > have/d.Warmup:
		return have
	}
	return min(have, warmup*max(1, d.Warmup))
}

// newLayout puts the warm-up before the window: as many candles as there are, those missing of
// what the strategy asks for come from the window's first candles. More warm-up than it
// asks for moves neither the window nor the first step whose orders count.
func newLayout(sources []*source, warmup market.Warmup, drive Drive) layout {
	var l layout
	start := sources[0].start()
	for _, s := range sources {
		rows, short := warmup.Rows(s.Timeframe, s.series.Time[:s.from], s.start(),
			slices.Values(s.series.Time[s.from:s.to]))
		s.first = s.from - drive.warmupRows(max(rows, warmup.Candles), s.from)
		l.short = max(l.short, short)
		l.candles += int64(s.to - s.from)
		start = min(start, s.start())
	}
	series := mapSources(sources, (*source).run)
	if len(sources) == 1 {
		l.total = int64(series[0].Len())
		l.window = int64(sources[0].from - sources[0].first)
	} else {
		l.window, l.total = countSteps(series, start)
	}
	l.warmup = l.window + int64(l.short)
	if !drive.Lockstep && len(drive.Holds) == 0 {
		l.announced = l.total
	}
	return l
}

// countSteps counts the steps of several symbols and those whose candles all opened
// before the window.
func countSteps(series []*market.Series, start market.Time) (window, total int64) {
	inside := false
	for b := range steps(series) {
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
		for b := range steps(mapSources(sources, (*source).window)) {
			if !yield(b.CloseTime) {
				return
			}
		}
	}
}

// windowOf returns the part of the data that the rows of the sources cover.
func windowOf(sources []*source, candles int64) artifact.Window {
	w := artifact.Window{Candles: candles}
	for i, s := range sources {
		if i == 0 || s.start() < w.Start {
			w.Start = s.start()
		}
		w.End = max(w.End, s.end())
	}
	return w
}

// runData is the candles that a run plays, and the files that the plugin may read.
type runData struct {
	timeframe market.Timeframe
	sources   []*source
	inputs    []Input
	folder    *candle.Folder // nil if the plugin gets no files
	shared    bool           // the folder is a session's
	layout    layout
	splits    artifact.Splits
	window    artifact.Window
	missing   int // candles inside the window
	hash      string

	mu     sync.RWMutex
	closed bool
}

// read calls use unless the candles were given back; they are not while it reads.
func (d *runData) read(use func()) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.closed {
		use()
	}
}

// close waits for the readers, lets no more in and gives the candles back.
func (d *runData) close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	err := d.closeFolder()
	for _, s := range d.sources {
		err = errors.Join(err, s.release())
	}
	return err
}

// closeFolder removes what the plugin could read. A second call does nothing.
func (d *runData) closeFolder() error {
	folder := d.folder
	switch d.folder = nil; {
	case folder == nil:
		return nil
	case d.shared:
		return folder.Empty()
	}
	return folder.Close()
}

// describeWindow reads the window for what the run reports about its data: timeline and gaps.
func (d *runData) describeWindow() {
	d.splits = artifact.FullSplit(windowCloses(d.sources))
	for _, s := range d.sources {
		d.missing += candle.Gaps(s.window(), s.Calendar).Missing
	}
}

// placeFiles puts the candles of the run, and no others, where the plugin can read them.
func (d *runData) placeFiles() (err error) {
	if d.folder == nil {
		return nil
	}
	for _, s := range d.sources {
		if s.file, s.sum, err = d.folder.Place(s.SHA256, s.series, s.first, s.to-s.first); err != nil {
			return noFile(err)
		}
	}
	return nil
}

// isSound reads the files of the plugin once more: one that reports them as broken may
// be wrong.
func (d *runData) isSound() bool { return d.folder == nil || d.folder.Check() == nil }

// calendar is weekdays only when all datasets are.
func (d *runData) calendar() string {
	for _, s := range d.sources {
		if s.Calendar != candle.Weekdays {
			return metric.Calendar24x7
		}
	}
	return metric.CalendarWeekdays
}

// newestCandles are those of the last steps up to the snapshot's.
func (d *runData) newestCandles(s *Snapshot, n int) {
	step := int64(0)
	for b := range steps(mapSources(d.sources, (*source).run)) {
		if step > s.Step {
			break
		}
		for i, closed := range b.Closed {
			if !closed {
				continue
			}
			s.CandlesTotal++
			if len(s.Candles) >= 2*n { // now and then, not for every candle
				s.Candles = append(s.Candles[:0], s.Candles[n:]...)
			}
			s.Candles = append(s.Candles, SnapshotCandle{step, d.sources[i].Symbol, b.Candles[i]})
		}
		step++
	}
	s.Candles = s.Candles[max(0, len(s.Candles)-n):]
}
