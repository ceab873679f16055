package wire

import (
	"encoding/json"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

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
}

// StartToProto converts the opening of a run.
func StartToProto(s *Start) *strategypb.Start {
	p := &strategypb.Start{
		RunId: text(s.RunID), Mode: s.Mode, Purpose: s.Purpose, Params: string(s.Params),
		Timeframe: s.Timeframe.String(), RootSeed: strconv.FormatUint(s.RootSeed, 10), LogLevel: s.LogLevel, AllPoints: s.AllPoints,
		Account: &strategypb.Account{
			InitialCash: formatDecimal(s.InitialCash), Execution: string(s.Execution),
			DelayCandles: int32(s.DelayCandles), WorstPrice: s.WorstPrice,
		},
	}
	for _, symbol := range s.Symbols {
		p.Symbols = append(p.Symbols, string(symbol))
	}
	for _, step := range s.PriceSteps {
		p.Account.PriceSteps = append(p.Account.PriceSteps, formatDecimal(step))
	}
	return p
}

// StartFromProto converts and checks the opening of a run.
func StartFromProto(p *strategypb.Start) (Start, error) {
	var r reader
	account := p.GetAccount()
	s := Start{
		RunID: r.text("run_id", p.GetRunId(), MaxTextBytes), Mode: p.GetMode(), Purpose: p.GetPurpose(),
		Params:       json.RawMessage(r.text("params", p.GetParams(), MaxDocumentBytes)),
		Execution:    json.RawMessage(r.text("account.execution", account.GetExecution(), MaxDocumentBytes)),
		DelayCandles: int(account.GetDelayCandles()), WorstPrice: account.GetWorstPrice(),
		LogLevel: r.text("log_level", p.GetLogLevel(), MaxTextBytes), AllPoints: p.GetAllPoints(),
	}
	var err error
	if s.InitialCash, err = parseDecimal("account.initial_cash", account.GetInitialCash()); err != nil {
		r.keep(err)
	}
	if s.Mode < strategypb.DriveMode_DRIVE_MODE_LOCKSTEP || s.Mode > strategypb.DriveMode_DRIVE_MODE_CO_SIMULATION {
		r.keep(wrong("mode", "%d is not known", s.Mode))
	}
	if s.Purpose < strategypb.Purpose_PURPOSE_BACKTEST || s.Purpose > strategypb.Purpose_PURPOSE_LIVE {
		r.keep(wrong("purpose", "%d is not known", s.Purpose))
	}
	if s.Timeframe, err = market.ParseTimeframe(p.GetTimeframe()); err != nil {
		r.keep(wrong("timeframe", "%v", err))
	}
	if s.RootSeed, err = strconv.ParseUint(p.GetRootSeed(), 10, 64); err != nil {
		r.keep(wrong("root_seed", "%.40q is not a whole number below 2^64", p.GetRootSeed()))
	}
	s.readSymbols(&r, p)
	return s, r.err
}

func (s *Start) readSymbols(r *reader, p *strategypb.Start) {
	if n := len(p.GetSymbols()); n == 0 || n > MaxSymbols {
		r.keep(wrong("symbols", "%d symbols, between 1 and %d are allowed", n, MaxSymbols))
		return
	}
	for i, name := range p.GetSymbols() {
		symbol, err := market.ParseSymbol(name)
		if err != nil {
			r.keep(wrong(at("symbols", i), "%v", err))
			return
		}
		s.Symbols = append(s.Symbols, symbol)
	}
	steps := p.GetAccount().GetPriceSteps()
	if len(steps) > 0 && len(steps) != len(s.Symbols) {
		r.keep(wrong("account.price_steps", "%d price steps for %d symbols", len(steps), len(s.Symbols)))
		return
	}
	for i, text := range steps {
		step, err := parseDecimal(at("account.price_steps", i), text)
		r.keep(err)
		s.PriceSteps = append(s.PriceSteps, step)
	}
}
