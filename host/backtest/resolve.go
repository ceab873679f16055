package backtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/play"
	"github.com/assay-run/assay/host/play/link"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// DefaultExchange is the one that is tried first when a request names none: the
// bundled sample candles.
const DefaultExchange = "sample"

// plan is a request whose every name has been looked up.
type plan struct {
	play.Plan
	exchange string
	sources  []*source
	warnings []result.Note
	split    Split
	many     bool // one of many plays
}

func (p *plan) release() {
	for _, s := range p.sources {
		_ = s.release() // a mapping that cannot be freed is no reason to refuse differently
	}
}

// resolve looks everything up in the order of the API: strategy, parameters,
// exchange, data, rules.
func (l *Launcher) resolve(ctx context.Context, runID string, req runner.StartRequest, split Split) (*plan, error) {
	p := &plan{split: split}
	if err := p.Read(l.opts.Catalog, req); err != nil {
		return nil, err
	}
	if err := l.lookUp(ctx, p, req); err != nil {
		p.release()
		return nil, l.parametersFirst(ctx, runID, p, err)
	}
	return p, nil
}

// lookUp finds what the request names besides the strategy: exchange and data.
func (l *Launcher) lookUp(ctx context.Context, p *plan, req runner.StartRequest) error {
	if err := p.CheckFits(req); err != nil {
		return err
	}
	if err := l.resolveExchange(ctx, p, req); err != nil {
		return err
	}
	return l.resolveData(ctx, p, req)
}

// parametersFirst answers for a failed look-up. Parameters come before exchange and
// data, and only the strategy itself knows all rules about them, so it is asked.
func (l *Launcher) parametersFirst(ctx context.Context, runID string, p *plan, failed error) error {
	ctx, cancel := context.WithTimeout(ctx, play.LaunchLimit)
	defer cancel()
	x := &Execution{log: l.opts.Logger, clock: time.Now, mode: Lockstep, gate: &link.Gate{}}
	p.sources = nil
	var err error
	if x.plugin, err = l.launchProcess(ctx, p, x); err != nil {
		return failed
	}
	defer func() { x.plugin.Close("the request was refused") }()
	_, err = x.introduce(ctx, runID, p)
	var refusal *RequestError
	if errors.As(err, &refusal) && refusal.Code == "INVALID_STRATEGY_PARAMS" {
		return refusal
	}
	return failed
}

// resolveExchange finds the exchange that was named, or the one that offers
// everything: the default one first, then by id.
func (l *Launcher) resolveExchange(ctx context.Context, p *plan, req runner.StartRequest) error {
	if l.known(p, req.Exchange) {
		p.exchange = req.Exchange
		return nil
	}
	all, err := l.opts.Store.Exchanges(ctx)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	if req.Exchange != "" {
		i := slices.Index(ids, req.Exchange)
		if i < 0 {
			return play.Refuse("EXCHANGE_NOT_FOUND", map[string]any{"available": ids}, "There is no exchange %q.", req.Exchange)
		}
		p.exchange = req.Exchange
		return l.offers(ctx, all[i], p)
	}
	slices.SortStableFunc(all, func(a, b candle.Exchange) int { return isDefault(b) - isDefault(a) })
	var refusal error
	for _, e := range all {
		err := l.offers(ctx, e, p)
		if err == nil {
			p.exchange = e.ID
			return nil
		}
		if refusal == nil || codeOf(refusal) == "UNSUPPORTED_SYMBOL" {
			refusal = err
		}
	}
	if refusal == nil || codeOf(refusal) == "UNSUPPORTED_SYMBOL" {
		return nowhere(all, p)
	}
	return refusal
}

// known says that the exchange has every symbol, as an earlier play has found.
func (l *Launcher) known(p *plan, exchange string) bool {
	for _, s := range p.Symbols {
		if _, ok := l.pinned.get(p.pin(exchange, s)); !ok {
			return false
		}
	}
	return true
}

func isDefault(e candle.Exchange) int {
	if e.ID == DefaultExchange {
		return 1
	}
	return 0
}

func codeOf(err error) string {
	var r *RequestError
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// nowhere speaks for all exchanges where none was named and none has the symbols:
// it lists what any of them has.
func nowhere(all []candle.Exchange, p *plan) error {
	known := map[market.Symbol]bool{}
	available := []string{}
	for _, e := range all {
		for _, s := range e.Symbols {
			if !known[s] {
				known[s] = true
				available = append(available, string(s))
			}
		}
	}
	unknown := []string{}
	for _, s := range p.Symbols {
		if !known[s] {
			unknown = append(unknown, string(s))
		}
	}
	if len(unknown) == 0 {
		unknown = texts(p.Symbols)
		return play.Refuse("UNSUPPORTED_SYMBOL", map[string]any{"symbols": unknown, "available": available}, "No one exchange has candles of all of %v.", unknown)
	}
	return play.Refuse("UNSUPPORTED_SYMBOL", map[string]any{"symbols": unknown, "available": available}, "No exchange has candles of %v.", unknown)
}

// offers says whether an exchange has candles of every symbol, or of a lower
// timeframe that they can be made from.
func (l *Launcher) offers(ctx context.Context, e candle.Exchange, p *plan) error {
	unknown := []string{}
	for _, s := range p.Symbols {
		if !slices.Contains(e.Symbols, s) {
			unknown = append(unknown, string(s))
		}
	}
	if len(unknown) > 0 {
		return play.Refuse("UNSUPPORTED_SYMBOL", map[string]any{"symbols": unknown, "available": texts(e.Symbols)}, "Exchange %q has no candles of %v.", e.ID, unknown)
	}
	for _, s := range p.Symbols {
		err := l.opts.Store.Offers(ctx, e.ID, s, p.Timeframe)
		var none *candle.NotFoundError
		if errors.As(err, &none) {
			return play.Refuse("UNSUPPORTED_TIMEFRAME", map[string]any{"available": append([]string{}, none.Have...)},
				"Exchange %q has no %s candles of %s and none that they could be made from.", e.ID, p.Timeframe, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func texts(list []market.Symbol) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

// resolveData opens the candles of every symbol and finds the rows of the window.
func (l *Launcher) resolveData(ctx context.Context, p *plan, req runner.StartRequest) error {
	start, end, err := dates(req)
	if err != nil {
		return err
	}
	for _, symbol := range p.Symbols {
		d, err := l.dataset(ctx, p, symbol)
		if err != nil {
			return dataRefusal(symbol, err)
		}
		f, err := l.opts.Store.OpenSeries(d)
		if err != nil {
			return dataRefusal(symbol, err)
		}
		s := &source{
			symbol: symbol, sha256: d.SHA256, datasetID: d.ID, calendar: string(d.Calendar),
			priceStep: d.PriceStep,
			series:    f.Series(), release: f.Close, violations: keptViolations(d),
		}
		s.series.Symbol = symbol
		p.sources = append(p.sources, s)
		if err := s.cut(start, end, p); err != nil {
			return err
		}
	}
	p.warnings = append(p.warnings, coverage(p.sources, start, end)...)
	return nil
}

// dataset is the pinned one, else the current one.
func (l *Launcher) dataset(ctx context.Context, p *plan, symbol market.Symbol) (candle.Dataset, error) {
	if sum := p.split.Pins[symbol]; sum != "" {
		k := p.pin(p.exchange, symbol)
		d, ok := l.pinned.get(k)
		if ok {
			return d, nil
		}
		d, err := l.opts.Store.Pinned(ctx, p.exchange, symbol, p.Timeframe, sum)
		if err == nil {
			l.pinned.put(k, d)
		}
		return d, err
	}
	return l.opts.Store.Lookup(ctx, p.exchange, symbol, p.Timeframe)
}

// keptViolations says that the candles were imported although some contradict themselves.
func keptViolations(d candle.Dataset) bool {
	for _, w := range d.Report.Warnings {
		if w.Code == "OHLC_VIOLATIONS_KEPT" {
			return true
		}
	}
	return false
}

func dataRefusal(symbol market.Symbol, err error) error {
	var corrupt *candlefile.CorruptError
	var none *candle.NotFoundError
	switch {
	case errors.As(err, &none):
		return &RequestError{Code: "UNSUPPORTED_TIMEFRAME", Message: fmt.Sprintf("There are no such candles of %s: %s", symbol, none.Reason),
			Details: map[string]any{"available": append([]string{}, none.Have...)}, Cause: err}
	case errors.As(err, &corrupt): // its text has a path, which is for the log
		return hostFault(err, "corrupt_dataset",
			"The stored candles of %s are damaged: %s. Import them again.", symbol, corrupt.Reason)
	}
	return hostFault(err, "unreadable", "The stored candles of %s cannot be read.", symbol)
}

func dates(req runner.StartRequest) (start, end *market.Time, err error) {
	read := func(pointer string, s *string) (*market.Time, error) {
		if s == nil {
			return nil, nil
		}
		t, err := market.ParseTime(*s)
		if err != nil {
			return nil, play.Invalid(pointer, err)
		}
		return &t, nil
	}
	if start, err = read("/start_date", req.StartDate); err != nil {
		return nil, nil, err
	}
	if end, err = read("/end_date", req.EndDate); err != nil {
		return nil, nil, err
	}
	if start != nil && end != nil && *start >= *end {
		return nil, nil, play.Refuse("INVALID_DATE_RANGE", map[string]any{"start_date": *req.StartDate, "end_date": *req.EndDate}, "start_date must be before end_date.")
	}
	return start, end, nil
}

// cut finds the rows of the window [start, end) by open time.
func (s *source) cut(start, end *market.Time, p *plan) error {
	n := s.series.Len()
	first, last := s.series.Time[0], s.series.CloseTime(n-1)
	s.from, s.to = 0, n
	if start != nil {
		s.from = s.series.Search(*start)
	}
	if end != nil {
		s.to = s.series.Search(*end)
	}
	if s.from >= s.to {
		return play.Refuse("DATA_UNAVAILABLE", map[string]any{"range": map[string]any{"symbol": s.symbol, "start": first, "end": last}},
			"There is no %s candle of %s in the window; there are candles from %s to %s.", p.Timeframe, s.symbol, first, last)
	}
	return nil
}
