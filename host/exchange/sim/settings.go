package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// ID is the id of the exchange.
const ID = "sim"

const version = "1.0.0"

// The settings and their bounds; defaults in words of the schema.
const (
	synthetically = "synthetic"
	replaying     = "replay"
	defaultSeed   = "1"
	defaultStart  = "2025-01-01T00:00:00Z"
	defaultCash   = 10000
	defaultPace   = 1.0 // candles a second
	minPace       = 0.001
	maxPace       = 200.0
	maxCash       = 1e12
)

// settings is exchange_config as the venue uses it.
type settings struct {
	Market string      `json:"market"`
	Seed   string      `json:"seed"`
	Pace   float64     `json:"candles_per_second"`
	Start  string      `json:"start"` // empty: by the market
	Cash   json.Number `json:"cash"`
	Source string      `json:"source"`

	start market.Time // 0: none given
	cash  decimal.Decimal
}

// schema describes the settings; for a stored exchange without what only the synthetic
// market and a live account use.
func schema(store string) json.RawMessage {
	pace := field(5, map[string]any{"type": "number", "minimum": minPace, "maximum": maxPace, "default": defaultPace,
		"description": "Candles that close in a second of wall time, as long as the strategy keeps up."})
	moment := []any{map[string]any{"format": "date-time"}, map[string]any{"format": "date"}}
	if store != "" {
		return exchange.ConfigSchema(map[string]any{
			"market": field(1, map[string]any{"enum": []any{replaying}, "default": replaying, "description": "The stored candles."}),
			"source": field(2, map[string]any{"enum": []any{store}, "default": store, "description": "The stored exchange to replay: this one."}),
			"start": field(3, map[string]any{"type": "string", "anyOf": moment,
				"description": "When the replay begins; without it early in the candles, with some before it to warm up on."}),
			"candles_per_second": pace,
		})
	}
	return exchange.ConfigSchema(map[string]any{
		"market": field(1, map[string]any{"enum": []any{synthetically, replaying}, "default": synthetically,
			"description": "Random candles, or the stored ones of source."}),
		"source": field(2, map[string]any{"type": "string", "pattern": `^[a-z0-9][a-z0-9_-]{0,62}$`, "default": candle.SampleExchange, "description": "The stored exchange to replay."}),
		"start": field(3, map[string]any{"type": "string", "anyOf": moment, "default": defaultStart,
			"description": "When the clock of the venue begins. A replay whose candles do not reach so far begins early in them unless start is given."}),
		"seed":               field(4, map[string]any{"type": "string", "minLength": 1, "maxLength": 64, "pattern": `^[^\x00-\x1f]+$`, "default": defaultSeed, "description": "Of the synthetic market: the same seed, the same candles."}),
		"candles_per_second": pace,
		"cash": field(6, map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": maxCash, "default": defaultCash, "title": "Account cash",
			"description": "Of a live account, in quote currency; paper runs have their own."}),
	})
}

// field puts a setting at its place in a form.
func field(order int, schema map[string]any) map[string]any {
	schema["x-ui"] = map[string]any{"order": order}
	return schema
}

// Describe is the venue's entry: any symbol, paper and live.
func Describe() exchange.Description {
	return exchange.Description{
		ID: ID, Name: "Simulated market", Aliases: []string{}, Version: version, Kind: "sim",
		Sandbox: true, // it is nothing else, so that the field may be set
		Modes:   []string{"paper", "live"}, Timeframes: timeframes(),
		OrderTypes: orderTypes(), MakerFee: sim.DefaultFees().Maker, TakerFee: sim.DefaultFees().Taker,
		DeadMan: "none", ConfigSchema: schema(""),
		Comment: "A random market, or a replay of stored candles, at any pace. No real money, no credentials.",
	}
}

// DescribeStore is the entry of a stored exchange: paper runs replay its candles.
func DescribeStore(stored candle.Exchange) exchange.Description {
	return exchange.Description{
		ID: stored.ID, Name: stored.ID, Aliases: []string{}, Version: version, Kind: "store",
		Sandbox: true, Modes: []string{"paper"}, Symbols: stored.Symbols, Timeframes: stored.Timeframes,
		OrderTypes: orderTypes(), MakerFee: sim.DefaultFees().Maker, TakerFee: sim.DefaultFees().Taker,
		DeadMan: "none", ConfigSchema: schema(stored.ID),
		Comment: "Stored candles. A paper run replays them.",
	}
}

func orderTypes() []string {
	return []string{"market", "market_quote", "limit", "stop", "stop_limit", "exit_pair"}
}

func timeframes() []market.Timeframe {
	var list []market.Timeframe
	for _, text := range []string{"1s", "5s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d"} {
		list = append(list, market.MustTimeframe(text))
	}
	return list
}

// readSettings fills in the defaults. The schema has been checked by the host; what it
// cannot say is checked here.
func readSettings(text json.RawMessage, store string) (settings, error) {
	s := settings{Market: synthetically, Seed: defaultSeed, Pace: defaultPace, Cash: json.Number("10000"), Source: candle.SampleExchange}
	if store != "" {
		s.Market, s.Source = replaying, store
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &s); err != nil {
			return settings{}, errors.New("exchange_config does not fit the config_schema of the exchange")
		}
	}
	switch {
	case s.Market != synthetically && s.Market != replaying:
		return settings{}, errors.New("exchange_config: market must be synthetic or replay")
	case !(s.Pace >= minPace && s.Pace <= maxPace):
		return settings{}, fmt.Errorf("exchange_config: candles_per_second must be from %v to %v", minPace, maxPace)
	case store != "" && (s.Market != replaying || s.Source != store):
		return settings{}, errors.New("exchange_config: a stored exchange replays its own candles")
	}
	start := s.Start
	if start == "" && s.Market == synthetically {
		start = defaultStart
	}
	if start != "" {
		at, err := market.ParseTime(start)
		if err != nil {
			return settings{}, errors.New("exchange_config: start is not a time: write 2024-01-31T12:00:00Z")
		}
		s.start = at
	}
	cash, err := decimal.Parse(s.Cash.String())
	if err == nil {
		cash = sim.RoundCash(cash)
	}
	if err != nil || !cash.IsPos() {
		return settings{}, errors.New("exchange_config: cash must be above 0")
	}
	s.cash = cash
	return s, nil
}

// Replayed is the stored exchange whose candles the settings ask the exchange sim to replay;
// empty where they ask for none.
func Replayed(text json.RawMessage) string {
	s, err := readSettings(text, "")
	if err != nil || s.Market != replaying {
		return ""
	}
	return s.Source
}

// period is the wall time between two candles.
func (s *settings) period() time.Duration { return time.Duration(float64(time.Second) / s.Pace) }
