package python

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// The files of a folder that [Match] plays: the SDK's test kit writes the first two, and reads the third.
const (
	MatchRequest = "request.json"
	matchSocket  = "strategy.sock"
	MatchResult  = "result.json"
)

// answerLimit is how long a test may take for a step: whoever debugs it takes his time.
const answerLimit = 24 * time.Hour

// match is a request: candles, and the conditions of a run of them.
type match struct {
	Params    json.RawMessage `json:"params"`
	Timeframe string          `json:"timeframe"`
	Cash      json.Number     `json:"cash"`
	Execution json.RawMessage `json:"execution"`
	History   int64           `json:"history"`
	Seed      uint64          `json:"seed"`
	Symbols   []struct {
		Symbol                         string
		Time                           []int64
		Open, High, Low, Close, Volume []float64
	} `json:"symbols"`
	Inputs []struct {
		Name        string
		MaxAge      int64 `json:"max_age"` // ms
		Time, Known []int64
		Value       []float64
	} `json:"inputs"`
	config sim.Config
	series []*market.Series
	ages   []market.InputAge
	rows   [][]market.InputRow
}

// Matched is what has come of it.
type Matched struct {
	Orders     []market.Order    `json:"orders"`
	Fills      []market.Fill     `json:"fills"`
	Trades     []market.Trade    `json:"trades"`
	Positions  []market.Position `json:"positions"`
	Refused    []market.Reason   `json:"refused"`
	Times      []market.Time     `json:"time"`
	Values     []float64         `json:"equity"`
	FinalValue decimal.Decimal   `json:"final_value"`
	Steps      int64             `json:"steps"`
	Bankrupt   bool              `json:"bankrupt"`
	Digest     string            `json:"digest"`
}

// decodeMatch reads and checks a request.
func decodeMatch(raw []byte) (*match, error) {
	m := &match{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, failf("%s: %v", MatchRequest, err)
	}
	tf, err := market.ParseTimeframe(m.Timeframe)
	if err != nil {
		return nil, failf("timeframe: %v", err)
	}
	m.config.InitialCash, err = decimal.Parse(m.Cash.String())
	if err != nil || !m.config.InitialCash.IsPos() {
		return nil, failf("cash: %.40q is not a number above 0", m.Cash)
	}
	if m.config.Options, err = sim.ResolveOptions(m.Execution, sim.DefaultFees()); err != nil {
		return nil, failf("execution: %v", err)
	}
	if m.History < 0 || len(m.Symbols) == 0 || len(m.Symbols) > wire.MaxSymbols {
		return nil, failf("history: %d candles of %d symbols cannot be", m.History, len(m.Symbols))
	}
	m.config.Timeframe = tf
	for i := range m.Symbols {
		s := &m.Symbols[i]
		symbol, err := market.ParseSymbol(s.Symbol)
		if err != nil {
			return nil, failf("symbols: %v", err)
		}
		series := &market.Series{Symbol: symbol, Timeframe: tf, Open: s.Open, High: s.High, Low: s.Low,
			Close: s.Close, Volume: s.Volume}
		for _, t := range s.Time {
			series.Time = append(series.Time, market.Time(t))
		}
		for _, column := range [][]float64{s.Open, s.High, s.Low, s.Close, s.Volume} {
			if len(column) != len(s.Time) || len(column) == 0 {
				return nil, failf("candles of %s: the columns have %d and %d rows", symbol, len(s.Time),
					len(column))
			}
		}
		if err := candlefile.Validate(series); err != nil {
			return nil, failf("candles of %s: %v", symbol, err)
		}
		for i := range series.Len() {
			if c := series.At(i); c.Low > min(c.Open, c.Close) || c.High < max(c.Open, c.Close) {
				return nil, failf("candles of %s: candle %d has open %v, high %v, low %v, close %v", symbol,
					i, c.Open, c.High, c.Low, c.Close)
			}
		}
		m.config.Symbols, m.series = append(m.config.Symbols, symbol), append(m.series, series)
	}
	for _, in := range m.Inputs {
		if len(in.Known) != len(in.Time) || len(in.Value) != len(in.Time) {
			return nil, failf("input %s: the columns have different lengths", in.Name)
		}
		rows := make([]market.InputRow, len(in.Time))
		for i := range rows {
			rows[i] = market.InputRow{Time: market.Time(in.Time[i]), Known: market.Time(in.Known[i]),
				Value: in.Value[i]}
		}
		slices.SortFunc(rows, market.CompareInputRows)
		m.rows = append(m.rows, rows)
		m.ages = append(m.ages,
			market.InputAge{Name: in.Name, Max: time.Duration(in.MaxAge) * time.Millisecond})
	}
	return m, nil
}

// Match plays the request of a folder in the simulator, for a strategy that answers step by step on the
// socket in it: a test of the author's, in whose process the strategy runs. The books go into the folder.
func Match(ctx context.Context, dir string) (*Matched, error) {
	raw, err := os.ReadFile(filepath.Join(dir, MatchRequest))
	if err != nil {
		return nil, err
	}
	m, err := decodeMatch(raw)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(dir, matchSocket))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stream, err := run.OpenStream(ctx, catalog.FramesOver(conn),
		func(*strategypb.PluginMessage) error { return nil }) // the test keeps what is said
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	books := &matchBooks{}
	if err := m.play(stream, books); err != nil {
		return nil, err
	}
	text, err := json.Marshal(&books.Matched)
	if err != nil {
		return nil, err
	}
	return &books.Matched, os.WriteFile(filepath.Join(dir, MatchResult), text, 0o600)
}

// play leads the conversation of a run in lockstep.
func (m *match) play(stream *run.Stream, books *matchBooks) error {
	execution, err := m.config.Options.MarshalJSON()
	if err != nil {
		return err
	}
	start := &wire.Start{RunID: "test", Mode: strategypb.DriveMode_DRIVE_MODE_LOCKSTEP,
		Purpose: strategypb.Purpose_PURPOSE_BACKTEST, Params: m.Params, Symbols: m.config.Symbols,
		Timeframe: m.config.Timeframe, InitialCash: m.config.InitialCash, Execution: execution,
		RootSeed: m.Seed, LogLevel: "info", AllPoints: true}
	for _, in := range m.ages {
		start.Inputs = append(start.Inputs, in.Name)
	}
	err = stream.Send(&strategypb.HostMessage{
		Message: &strategypb.HostMessage_Start{Start: wire.StartToProto(start)}})
	if err != nil {
		return err
	}
	answer, err := stream.Recv(time.After(answerLimit), "it did not accept its parameters")
	if err == nil {
		err = run.Answer(answer)
	}
	if err != nil {
		return err
	}
	warmup, err := wire.ReadyFromProto(answer.GetReady(), m.config.Timeframe)
	if err != nil {
		return err
	}
	m.config.WarmupSteps, m.config.WindowStep = max(m.firstSteps(warmup), m.History), m.History
	m.config.Stale = sim.StaleInputs(m.ages, m.rows)
	engine, err := sim.NewEngine(m.config, books)
	if err != nil {
		return err
	}
	gate := &run.Gate{}
	lockstep := run.NewLockstep(stream, gate, m.config.Symbols, answerLimit)
	if len(m.rows) > 0 {
		lockstep.ReadInputs(run.InputReaders(m.rows))
	}
	gate.Lock()
	err = sim.Run(engine, sim.NewSeriesFeed(m.series), lockstep)
	gate.Unlock()
	if err != nil {
		return err
	}
	if err := stream.Send(&strategypb.HostMessage{
		Message: &strategypb.HostMessage_Finish{Finish: &strategypb.Finish{}}}); err != nil {
		return err
	}
	answer, err = stream.Recv(time.After(answerLimit), "it did not end")
	if err == nil {
		err = run.Answer(answer)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return books.finish(engine)
}

// firstSteps is how many steps from the first candle on a warm-up takes.
func (m *match) firstSteps(warmup market.Warmup) int64 {
	steps := warmup.Candles
	for _, s := range m.series {
		_, short := warmup.Rows(s.Timeframe, nil, s.Time[0], slices.Values(s.Time))
		steps = max(steps, short)
	}
	return int64(steps)
}

// matchBooks implements sim.Recorder.
type matchBooks struct{ Matched }

// Intent implements sim.Recorder.
func (b *matchBooks) Intent(_ int64, _ *market.Intent, reason market.Reason) {
	if reason != "" && reason != market.ReasonGuarded {
		b.Refused = append(b.Refused, reason)
	}
}

// Order implements sim.Recorder. Ids count from 1 without gaps.
func (b *matchBooks) Order(_ int64, o *market.Order) {
	if n := int(o.ID); n <= len(b.Orders) {
		b.Orders[n-1] = *o
		return
	}
	b.Orders = append(b.Orders, *o)
}

// Fill implements sim.Recorder.
func (b *matchBooks) Fill(_ int64, f *market.Fill) { b.Fills = append(b.Fills, *f) }

// Trade implements sim.Recorder.
func (b *matchBooks) Trade(_ int64, t *market.Trade) {
	one := *t
	one.OrderIDs = slices.Clone(t.OrderIDs)
	b.Trades = append(b.Trades, one)
}

// Equity implements sim.Recorder. With close_at_end the last close comes twice.
func (b *matchBooks) Equity(_ int64, k *sim.Mark) {
	if n := len(b.Times); n > 0 && b.Times[n-1] == k.Time {
		b.Values[n-1] = k.Equity
		return
	}
	b.Times, b.Values = append(b.Times, k.Time), append(b.Values, k.Equity)
}

func (b *matchBooks) finish(e *sim.Engine) (err error) {
	digest := e.Digest()
	b.Steps, b.Bankrupt, b.Digest = e.Step()+1, e.Bankrupt(), fmt.Sprintf("%x", digest[:])
	if b.Positions, err = e.Positions(); err != nil {
		return err
	}
	b.FinalValue, err = e.FinalValue()
	return err
}
