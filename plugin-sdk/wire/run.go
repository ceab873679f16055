package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/govalues/decimal"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// Description is a plugin's own: the author's Spec, and what the SDK
// adds.
type Description struct {
	sdk.Spec
	Language        string // go, python, ...
	SDKVersion      string
	ProtocolVersion int
	// SimID is the simulator's name, revision and hash; "" without one.
	SimID string
	// Signals reports whether it can answer with the intents of all steps at once.
	Signals bool
	// Sessions reports whether its process can serve one run after another.
	Sessions bool
	// Advance reports whether it can play many steps by itself.
	Advance       bool
	ParamsSchema  json.RawMessage
	DefaultParams json.RawMessage
}

// SpecToProto converts a description.
func SpecToProto(d *Description) *strategypb.Spec {
	p := &strategypb.Spec{Modes: names(d.Modes), Timeframes: names(d.Timeframes),
		Extra: names(d.Extra), Supports: &strategypb.Supports{}}
	(&codec{}).description(d, p)
	for _, in := range d.Inputs {
		p.Inputs = append(p.Inputs,
			&strategypb.Input{Name: text(in.Name), MaxAge: in.MaxAge.Milliseconds()})
	}
	for _, plot := range d.Plots {
		q := &strategypb.Plot{Series: text(plot.Series), Title: text(plot.Title), Pane: text(plot.Pane),
			Kind: string(plot.Kind), Upper: text(plot.Upper), Color: string(plot.Color)}
		for _, l := range plot.Levels {
			q.Levels = append(q.Levels,
				&strategypb.PlotLevel{Param: text(l.Param), Value: l.Value, Title: text(l.Title)})
		}
		p.Plots = append(p.Plots, q)
	}
	return p
}

// PlotsFromProto converts plots as they are: sdk.CheckPlots judges them. The result is nil of none.
func PlotsFromProto(list []*strategypb.Plot) (plots []sdk.Plot) {
	for _, p := range list {
		plot := sdk.Plot{Series: p.GetSeries(), Title: p.GetTitle(), Pane: p.GetPane(), Upper: p.GetUpper(),
			Kind: sdk.PlotKind(p.GetKind()), Color: sdk.ColorRole(p.GetColor())}
		for _, l := range p.GetLevels() {
			plot.Levels = append(plot.Levels,
				sdk.PlotLevel{Param: l.GetParam(), Value: l.GetValue(), Title: l.GetTitle()})
		}
		plots = append(plots, plot)
	}
	return plots
}

// SpecFromProto converts a description and checks its form. Whether name, schema
// and defaults are any good is for the catalogue to judge.
func SpecFromProto(p *strategypb.Spec) (d Description, err error) {
	c := codec{read: true}
	p = orNew(p)
	c.description(&d, p)
	for _, m := range p.Modes {
		var mode sdk.Mode
		carryText(&c, "modes", &mode, &m, MaxTextBytes)
		d.Modes = append(d.Modes, mode)
	}
	d.Timeframes = c.timeframes("timeframes", p.Timeframes)
	if extra, err := ExtraFromProto(p); err == nil {
		d.Extra = extra
	} else if c.err == nil {
		c.err = err
	}
	if inputs, err := InputsFromProto(p); err == nil {
		d.Inputs = inputs
	} else if c.err == nil {
		c.err = err
	}
	if len(p.Plots) > sdk.MaxPlots {
		c.wrong("plots", "%d are too many, at most %d", len(p.Plots), sdk.MaxPlots)
		p.Plots = nil
	}
	d.Plots = PlotsFromProto(p.Plots)
	if d.MinSymbols < 1 || d.MaxSymbols < d.MinSymbols {
		c.wrong("max_symbols", "%d to %d symbols is not a range from at least 1", d.MinSymbols, d.MaxSymbols)
	}
	if !json.Valid(d.ParamsSchema) {
		c.wrong("params_schema", "is not JSON")
	}
	if !json.Valid(d.DefaultParams) {
		c.wrong("default_params", "is not JSON")
	}
	return d, c.err
}

// timeframes reads a list of them.
func (c *codec) timeframes(field string, list []string) (out []market.Timeframe) {
	for i, name := range list {
		tf, err := market.ParseTimeframe(name)
		if err != nil {
			c.wrong(at(field, i), "%.40q is not a timeframe", name)
		}
		out = append(out, tf)
	}
	return out
}

// ExtraFromProto converts and checks the larger timeframes of a description.
func ExtraFromProto(p *strategypb.Spec) ([]market.Timeframe, error) {
	c := codec{read: true}
	if n := len(p.GetExtra()); n > MaxExtra {
		c.wrong("extra", "%d timeframes are too many, at most %d", n, MaxExtra)
		return nil, c.err
	}
	list := c.timeframes("extra", p.GetExtra())
	return list, c.err
}

// ReadyToProto converts what a strategy wants before its window. Timeframes of which it wants
// nothing are left out.
func ReadyToProto(w market.Warmup) *strategypb.Ready {
	p := &strategypb.Ready{WarmupCandles: int64(w.Candles)}
	for _, l := range w.Larger {
		if l.Candles > 0 {
			p.Lookback = append(p.Lookback,
				&strategypb.Lookback{Timeframe: l.Timeframe.String(), Candles: int64(l.Candles)})
		}
	}
	return p
}

// ReadyFromProto converts and checks what a strategy wants before its window of a run.
func ReadyFromProto(p *strategypb.Ready, run market.Timeframe) (w market.Warmup, err error) {
	c := codec{read: true}
	if n := p.GetWarmupCandles(); n < 0 || n > MaxWarmup {
		c.wrong("warmup_candles", "the plugin wants %d warm-up candles; at most %d are possible", n,
			MaxWarmup)
	}
	w.Candles = int(p.GetWarmupCandles())
	if n := len(p.GetLookback()); n > MaxExtra {
		c.wrong("lookback", "%d timeframes are too many, at most %d", n, MaxExtra)
		return w, c.err
	}
	for i, one := range p.GetLookback() {
		tf, err := market.ParseTimeframe(one.GetTimeframe())
		if err != nil {
			c.wrong(at("lookback", i)+".timeframe", "%.40q is not a timeframe", one.GetTimeframe())
			break
		}
		if n := one.GetCandles(); n < 0 || n > MaxWarmup {
			c.wrong(at("lookback", i)+".candles", "%d is not between 0 and %d", n, MaxWarmup)
		}
		w.Larger = append(w.Larger, market.Larger{Timeframe: tf, Candles: int(one.GetCandles())})
	}
	if c.err == nil {
		if err := w.Check(run); err != nil {
			c.wrong("lookback", "%v", err)
		}
	}
	return w, c.err
}

// description carries all but the lists.
func (c *codec) description(d *Description, p *strategypb.Spec) {
	carryText(c, "name", &d.Name, &p.Name, MaxTextBytes)
	carryText(c, "display_name", &d.DisplayName, &p.DisplayName, MaxTextBytes)
	carryText(c, "version", &d.Version, &p.Version, MaxTextBytes)
	carryText(c, "description", &d.Spec.Description, &p.Description, MaxMessageText)
	carryText(c, "author", &d.Author, &p.Author, MaxTextBytes)
	carryWhole(c, &d.MinSymbols, &p.MinSymbols)
	carryWhole(c, &d.MaxSymbols, &p.MaxSymbols)
	supports := orNew(p.Supports)
	carry(c, &d.Supports.Short, &supports.Short)
	carry(c, &d.Supports.MultiSymbol, &supports.MultiSymbol)
	carry(c, &d.Supports.ScaleFree, &supports.ScaleFree)
	carryText(c, "supports.calendar", &d.Supports.Calendar, &supports.Calendar, MaxTextBytes)
	carryText(c, "trained_until", &d.TrainedUntil, &p.TrainedUntil, MaxTextBytes)
	carryText(c, "language", &d.Language, &p.Language, MaxTextBytes)
	carryText(c, "sdk_version", &d.SDKVersion, &p.SdkVersion, MaxTextBytes)
	carryWhole(c, &d.ProtocolVersion, &p.ProtocolVersion)
	carryText(c, "sim_id", &d.SimID, &p.SimId, MaxTextBytes)
	carry(c, &d.Signals, &p.Signals)
	carry(c, &d.Sessions, &p.Sessions)
	carry(c, &d.Advance, &p.Advance)
	c.document("params_schema", &d.ParamsSchema, &p.ParamsSchema)
	c.document("default_params", &d.DefaultParams, &p.DefaultParams)
}

// names are the values as texts; nil of none.
func names[T any](values []T) []string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprint(v))
	}
	return list
}

// MaxSymbols bounds the symbols of a run.
const MaxSymbols = 1024

// Start opens a run: parameters and conditions.
type Start struct {
	RunID       string
	Mode        strategypb.DriveMode
	Purpose     strategypb.Purpose
	Params      json.RawMessage
	Symbols     []market.Symbol
	Timeframe   market.Timeframe
	InitialCash decimal.Decimal
	Execution   json.RawMessage // resolved execution options
	PriceSteps  []decimal.Decimal
	// DelayCandles and WorstPrice are stress.
	DelayCandles int
	WorstPrice   bool
	RootSeed     uint64
	LogLevel     string
	// AllPoints asks for every published point, not only for what charts need.
	AllPoints bool
	// Inputs are the names of the strategy's inputs, in its order.
	Inputs []string
}

// StartToProto converts the opening of a run.
func StartToProto(s *Start) *strategypb.Start {
	p := &strategypb.Start{
		Symbols: names(s.Symbols), Timeframe: s.Timeframe.String(), Inputs: names(s.Inputs),
		RootSeed: strconv.FormatUint(s.RootSeed, 10),
		Account:  &strategypb.Account{PriceSteps: names(s.PriceSteps)},
	}
	(&codec{}).start(s, p)
	return p
}

// StartFromProto converts and checks the opening of a run.
func StartFromProto(p *strategypb.Start) (s Start, err error) {
	c := codec{read: true}
	p = orNew(p)
	c.start(&s, p)
	if s.Inputs = p.Inputs; len(s.Inputs) > sdk.MaxInputs {
		c.wrong("inputs", "%d are too many, at most %d", len(s.Inputs), sdk.MaxInputs)
	}
	switch s.Mode {
	case strategypb.DriveMode_DRIVE_MODE_LOCKSTEP, strategypb.DriveMode_DRIVE_MODE_CO_SIMULATION,
		strategypb.DriveMode_DRIVE_MODE_SIGNALS:
	default:
		c.wrong("mode", "%d is not known", s.Mode)
	}
	if s.Purpose < strategypb.Purpose_PURPOSE_BACKTEST || s.Purpose > strategypb.Purpose_PURPOSE_LIVE {
		c.wrong("purpose", "%d is not known", s.Purpose)
	}
	if s.Timeframe, err = market.ParseTimeframe(p.Timeframe); err != nil {
		c.wrong("timeframe", "%v", err)
	}
	if s.RootSeed, err = strconv.ParseUint(p.RootSeed, 10, 64); err != nil {
		c.wrong("root_seed", "%.40q is not a whole number below 2^64", p.RootSeed)
	}
	if n := len(p.Symbols); n == 0 || n > MaxSymbols {
		c.wrong("symbols", "%d symbols, between 1 and %d are allowed", n, MaxSymbols)
		return s, c.err
	}
	for i, name := range p.Symbols {
		symbol, err := market.ParseSymbol(name)
		if err != nil {
			c.wrong(at("symbols", i), "%v", err)
		}
		s.Symbols = append(s.Symbols, symbol)
	}
	steps := p.GetAccount().GetPriceSteps()
	if len(steps) > 0 && len(steps) != len(s.Symbols) {
		c.wrong("account.price_steps", "%d price steps for %d symbols", len(steps), len(s.Symbols))
		return s, c.err
	}
	for i := range steps {
		s.PriceSteps = append(s.PriceSteps, decimal.Decimal{})
		c.decimal(at("account.price_steps", i), &s.PriceSteps[i], &steps[i])
	}
	return s, c.err
}

// start carries all but timeframe, seed and lists.
func (c *codec) start(s *Start, p *strategypb.Start) {
	carryText(c, "run_id", &s.RunID, &p.RunId, MaxTextBytes)
	carry(c, &s.Mode, &p.Mode)
	carry(c, &s.Purpose, &p.Purpose)
	c.document("params", &s.Params, &p.Params)
	account := orNew(p.Account)
	c.document("account.execution", &s.Execution, &account.Execution)
	carryWhole(c, &s.DelayCandles, &account.DelayCandles)
	carry(c, &s.WorstPrice, &account.WorstPrice)
	carryText(c, "log_level", &s.LogLevel, &p.LogLevel, MaxTextBytes)
	carry(c, &s.AllPoints, &p.AllPoints)
	c.decimal("account.initial_cash", &s.InitialCash, &account.InitialCash)
}

// Step is one close time in lockstep. Slices but Fills and Orders are indexed like
// the run's symbols; Candles[i] counts only when Closed[i] is set.
type Step struct {
	Index        int64
	CloseTime    market.Time
	Candles      []market.Candle
	Closed       []bool
	Fills        []market.Fill
	Orders       []market.Order // those that changed since the last step
	Cash, Equity float64
	Positions    []sdk.Position
	Warmup       bool
	// Inputs are the rows of each input that became known since the last step; nil of none.
	Inputs [][]market.InputRow
}

// StepToProto converts a step of a run over these symbols.
func StepToProto(s *Step, symbols []market.Symbol) *strategypb.Step {
	account := &strategypb.AccountView{Cash: s.Cash, Equity: s.Equity}
	p := &strategypb.Step{Index: s.Index, CloseTime: int64(s.CloseTime), Warmup: s.Warmup, Account: account}
	for i := range symbols {
		if s.Closed[i] {
			c := &s.Candles[i]
			p.Candles = append(p.Candles, &strategypb.Candle{
				Symbol: int32(i), OpenTime: int64(c.OpenTime),
				Open: c.Open, High: c.High, Low: c.Low, Close: c.Close, Volume: c.Volume,
			})
		}
		if h := s.Positions[i]; h.Quantity != 0 {
			account.Positions = append(account.Positions, &strategypb.PositionView{
				Symbol: int32(i), Quantity: h.Quantity, EntryPrice: h.EntryPrice, CandlesHeld: h.CandlesHeld,
			})
		}
	}
	p.Inputs = InputsToProto(s.Inputs)
	for i := range s.Fills {
		p.Fills = append(p.Fills, FillToProto(&s.Fills[i], symbols))
	}
	for i := range s.Orders {
		p.Orders = append(p.Orders, OrderToProto(&s.Orders[i], symbols))
	}
	return p
}

// FromProto reads a step of a run over these symbols into s, whose slices are used
// again. Symbols without a candle in this step keep their last one.
func (s *Step) FromProto(p *strategypb.Step, symbols []market.Symbol) error {
	s.Index, s.CloseTime, s.Warmup = p.GetIndex(), market.Time(p.GetCloseTime()), p.GetWarmup()
	if len(s.Candles) != len(symbols) {
		s.Candles, s.Closed = make([]market.Candle, len(symbols)), make([]bool, len(symbols))
		s.Positions = make([]sdk.Position, len(symbols))
	}
	clear(s.Closed)
	clear(s.Positions)
	c := codec{symbols: symbols, read: true}
	for i, one := range p.GetCandles() {
		c.in("candles", i)
		s.readCandle(&c, one)
	}
	account := orNew(p.GetAccount())
	c.in("", 0)
	c.finite("account.cash", &s.Cash, &account.Cash)
	c.finite("account.equity", &s.Equity, &account.Equity)
	for i, h := range account.Positions {
		c.in("account.positions", i)
		if c.known("symbol", h.Symbol) {
			held := &s.Positions[h.Symbol]
			c.finite("quantity", &held.Quantity, &h.Quantity)
			c.finite("entry_price", &held.EntryPrice, &h.EntryPrice)
			held.CandlesHeld = h.CandlesHeld
		}
	}
	s.readInputs(&c, p.GetInputs())
	s.Fills, s.Orders = s.Fills[:0], s.Orders[:0]
	for i, f := range p.GetFills() {
		c.in("fills", i)
		s.Fills = append(s.Fills, market.Fill{})
		c.fill(&s.Fills[i], f)
	}
	for i, o := range p.GetOrders() {
		c.in("orders", i)
		s.Orders = append(s.Orders, market.Order{})
		c.order(&s.Orders[i], o)
	}
	return c.err
}

func (s *Step) readCandle(c *codec, p *strategypb.Candle) {
	if !c.known("symbol", p.Symbol) {
		return
	}
	if s.Closed[p.Symbol] {
		c.wrong("symbol", "two candles of one symbol in one step")
	}
	s.Closed[p.Symbol] = true
	into := &s.Candles[p.Symbol]
	into.OpenTime, into.CloseTime = market.Time(p.OpenTime), s.CloseTime
	c.finite("open", &into.Open, &p.Open)
	c.finite("high", &into.High, &p.High)
	c.finite("low", &into.Low, &p.Low)
	c.finite("close", &into.Close, &p.Close)
	c.finite("volume", &into.Volume, &p.Volume)
}
