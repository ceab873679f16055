package v1

import (
	"encoding/json"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// backtestRequest is the body of POST /run/backtest.
type backtestRequest struct {
	StrategyName   string          `json:"strategy_name"`
	StrategyParams json.RawMessage `json:"strategy_params"`
	Symbols        []string        `json:"symbols"`
	Timeframe      string          `json:"timeframe"`
	StartDate      *string         `json:"start_date"`
	EndDate        *string         `json:"end_date"`
	InitialCash    json.Number     `json:"initial_cash"`
	Exchange       string          `json:"exchange"`
	Execution      json.RawMessage `json:"execution"`
}

// liveRequest is the body of POST /run/live.
type liveRequest struct {
	StrategyName   string          `json:"strategy_name"`
	StrategyParams json.RawMessage `json:"strategy_params"`
	Symbols        []string        `json:"symbols"`
	Timeframe      string          `json:"timeframe"`
	Exchange       string          `json:"exchange"`
	ExchangeConfig secret          `json:"exchange_config"`
	Mode           string          `json:"mode"`
	InitialCash    json.Number     `json:"initial_cash"`
	Execution      json.RawMessage `json:"execution"`
	Resume         string          `json:"resume"`
}

// secret is JSON that must not be shown. The value is behind a pointer because fmt
// prints unexported fields of values.
type secret struct{ value *json.RawMessage }

const redacted = "[redacted]"

// UnmarshalJSON implements json.Unmarshaler.
func (s *secret) UnmarshalJSON(b []byte) error {
	v := json.RawMessage(append([]byte(nil), b...))
	s.value = &v
	return nil
}

// handOver is the raw text for whoever knows its schema.
func (s secret) handOver() exchange.Secret {
	if s.value == nil {
		return exchange.Secret{}
	}
	return exchange.NewSecret(string(*s.value))
}

// MarshalJSON implements json.Marshaler.
func (s secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }

// String implements fmt.Stringer.
func (s secret) String() string { return redacted }

// Format implements fmt.Formatter for every verb.
func (s secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// check holds the rules beyond the schema.
func (r *backtestRequest) check() []schema.Violation { return checkCash(r.InitialCash) }

// checkCash refuses what the schema takes and the ledger would round to nothing.
func checkCash(n json.Number) []schema.Violation {
	if n == "" {
		return nil
	}
	cash, err := decimal.Parse(string(n))
	if err != nil { // more digits or a smaller exponent than a decimal has
		f, _ := n.Float64()
		cash, err = decimal.NewFromFloat64(f)
	}
	if err == nil && sim.RoundCash(cash).IsPos() {
		return nil
	}
	return []schema.Violation{{Pointer: "/initial_cash", Message: "is 0 once rounded to the money unit: write at least 1e-10", Rule: "exclusiveMinimum"}}
}

// check holds the rules between fields.
func (r *liveRequest) check() []schema.Violation {
	var bad []schema.Violation
	if r.Resume == "adopt" {
		bad = append(bad, schema.Violation{Pointer: "/resume", Message: "is not offered yet: no run takes over positions of another; write flat, release or refuse", Rule: "enum"})
	}
	if r.Mode != runner.ModeLive {
		return append(bad, checkCash(r.InitialCash)...)
	}
	if r.Exchange == "" {
		bad = append(bad, schema.Violation{Pointer: "/exchange", Message: "is missing: mode live needs an exchange", Rule: "required"})
	}
	if r.InitialCash != "" {
		bad = append(bad, schema.Violation{Pointer: "/initial_cash", Message: "is for paper only: live trades the account's own cash", Rule: "paper_only"})
	}
	if r.Execution != nil {
		bad = append(bad, schema.Violation{Pointer: "/execution", Message: "is for paper only: the exchange fills live orders", Rule: "paper_only"})
	}
	return bad
}

const defaultCash = json.Number("10000")

func orEmpty(m json.RawMessage) json.RawMessage {
	if m == nil {
		return json.RawMessage("{}")
	}
	return m
}

func orDefault(n json.Number) json.Number {
	if n == "" {
		return defaultCash
	}
	return n
}

func (r *backtestRequest) start() runner.StartRequest {
	return runner.StartRequest{
		Mode: runner.ModeBacktest, StrategyName: r.StrategyName, StrategyParams: orEmpty(r.StrategyParams), Symbols: r.Symbols,
		Timeframe: r.Timeframe, StartDate: r.StartDate, EndDate: r.EndDate, InitialCash: orDefault(r.InitialCash),
		Exchange: r.Exchange, Execution: orEmpty(r.Execution),
	}
}

func (r *liveRequest) start() runner.StartRequest {
	mode := r.Mode
	if mode == "" {
		mode = runner.ModePaper
	}
	return runner.StartRequest{
		Mode: mode, StrategyName: r.StrategyName, StrategyParams: orEmpty(r.StrategyParams), Symbols: r.Symbols,
		Timeframe: r.Timeframe, InitialCash: orDefault(r.InitialCash), Exchange: r.Exchange, Execution: orEmpty(r.Execution),
		ExchangeConfig: r.ExchangeConfig.handOver(), Resume: r.Resume,
	}
}
