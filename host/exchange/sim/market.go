package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
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
	pace := field(5,
		map[string]any{"type": "number", "minimum": minPace, "maximum": maxPace, "default": defaultPace,
			"description": "Candles that close in a second of wall time, as long as the strategy keeps up."})
	moment := []any{map[string]any{"format": "date-time"}, map[string]any{"format": "date"}}
	if store != "" {
		return exchange.ConfigSchema(map[string]any{
			"market": field(1,
				map[string]any{"enum": []any{replaying}, "default": replaying,
					"description": "The stored candles."}),
			"source": field(2,
				map[string]any{"enum": []any{store}, "default": store,
					"description": "The stored exchange to replay: this one."}),
			"start": field(3, map[string]any{"type": "string", "anyOf": moment,
				"description": "When the replay begins; without it early in the candles, with some before " +
					"it to warm up on."}),
			"candles_per_second": pace,
		})
	}
	return exchange.ConfigSchema(map[string]any{
		"market": field(1, map[string]any{"enum": []any{synthetically, replaying}, "default": synthetically,
			"description": "Random candles, or the stored ones of source."}),
		"source": field(2,
			map[string]any{"type": "string", "pattern": `^[a-z0-9][a-z0-9_-]{0,62}$`,
				"default": candle.SampleExchange, "description": "The stored exchange to replay."}),
		"start": field(3, map[string]any{"type": "string", "anyOf": moment, "default": defaultStart,
			"description": "When the clock of the venue begins. A replay whose candles do not reach so " +
				"far begins early in them unless start is given."}),
		"seed": field(4,
			map[string]any{"type": "string", "minLength": 1, "maxLength": 64, "pattern": `^[^\x00-\x1f]+$`,
				"default":     defaultSeed,
				"description": "Of the synthetic market: the same seed, the same candles."}),
		"candles_per_second": pace,
		"cash": field(6,
			map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": maxCash,
				"default": defaultCash, "title": "Account cash",
				"description": "Of a live account, in quote currency; paper runs have their own."}),
	})
}

// field puts a setting at its place in a form.
func field(order int, schema map[string]any) map[string]any {
	schema["x-ui"] = map[string]any{"order": order}
	return schema
}

// Describe returns the venue's entry: any symbol, paper and live.
func Describe() exchange.Description {
	return exchange.Description{
		ID: ID, Name: "Simulated market", Aliases: []string{}, Version: version, Kind: "sim",
		Sandbox: true, // it is nothing else, so that the field may be set
		Modes:   []string{"paper", "live"}, Timeframes: timeframes(),
		OrderTypes: orderTypes(), MakerFee: sim.DefaultFees().Maker, TakerFee: sim.DefaultFees().Taker,
		DeadMan: "none", ConfigSchema: schema(""),
		Comment: "A random market, or a replay of stored candles, at any pace. No real money, no " +
			"credentials.",
	}
}

// DescribeStore returns the entry of a stored exchange: paper runs replay its candles.
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
	return []string{"market", "market_quote", "limit", "stop", "stop_limit", "post_only", "exit_pair"}
}

func timeframes() []market.Timeframe {
	var list []market.Timeframe
	for _, text := range []string{"1s", "5s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h",
		"12h", "1d"} {
		list = append(list, market.MustTimeframe(text))
	}
	return list
}

// readSettings fills in the defaults. The schema has been checked by the host; what it
// cannot say is checked here.
func readSettings(text json.RawMessage, store string) (settings, error) {
	s := settings{Market: synthetically, Seed: defaultSeed, Pace: defaultPace, Cash: json.Number("10000"),
		Source: candle.SampleExchange}
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
		return settings{},
			fmt.Errorf("exchange_config: candles_per_second must be from %v to %v", minPace, maxPace)
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

// Replayed returns the stored exchange whose candles the settings ask the exchange sim to replay;
// empty where they ask for none.
func Replayed(text json.RawMessage) string {
	s, err := readSettings(text, "")
	if err != nil || s.Market != replaying {
		return ""
	}
	return s.Source
}

// period returns the wall time between two candles.
func (s *settings) period() time.Duration { return time.Duration(float64(time.Second) / s.Pace) }

// tape is the candles of one symbol, those to come included.
type tape interface {
	// index is the first candle that opens at or after t.
	index(t market.Time) int
	// at is a candle; false behind the last.
	at(i int) (market.Candle, bool)
	tick() decimal.Decimal
}

// stored is a tape of the candle store.
type stored struct {
	series *market.Series
	step   decimal.Decimal
	file   *candlefile.File
}

func openStored(ctx context.Context, store *candle.Store, source string, symbol market.Symbol,
	tf market.Timeframe) (*stored, error) {
	set, err := store.Lookup(ctx, source, symbol, tf)
	if err != nil {
		return nil, err
	}
	file, err := store.OpenSeries(set)
	if err != nil {
		return nil, err
	}
	return &stored{series: file.Series(), step: set.PriceStep, file: file}, nil
}

func (s *stored) index(t market.Time) int { return s.series.Search(t) }

func (s *stored) at(i int) (market.Candle, bool) {
	if i >= s.series.Len() {
		return market.Candle{}, false
	}
	return s.series.At(i), true
}

func (s *stored) tick() decimal.Decimal { return s.step }

// openReplay opens the candles of every symbol that the store has; the others stay nil.
func openReplay(ctx context.Context, store *candle.Store, source string, symbols []market.Symbol,
	tf market.Timeframe) ([]tape, error) {
	if store == nil {
		return nil, errors.New("there is no candle store to replay from; use market synthetic")
	}
	tapes := make([]tape, len(symbols))
	for i, symbol := range symbols {
		s, err := openStored(ctx, store, source, symbol, tf)
		if none := new(candle.NotFoundError); errors.As(err, &none) && none.What == "symbol" {
			continue
		} else if err != nil {
			closeTapes(tapes)
			return nil, err
		}
		tapes[i] = s
	}
	return tapes, nil
}

func closeTapes(tapes []tape) {
	for _, t := range tapes {
		if s, ok := t.(*stored); ok {
			_ = s.file.Close() // read-only
		}
	}
}

// replayStart returns where a replay begins: where it is told to, at the default where the
// candles have it, else behind some candles to warm up on.
func replayStart(tapes []tape, asked market.Time) (market.Time, error) {
	var from, first, last market.Time
	for _, t := range tapes {
		s, ok := t.(*stored)
		if !ok {
			continue
		}
		n := s.series.Len()
		from = max(from, s.series.Time[min(historyCandles, n/2)])
		last = max(last, s.series.CloseTime(n-1))
		if first == 0 || s.series.Time[0] < first {
			first = s.series.Time[0]
		}
	}
	usual, _ := market.ParseTime(defaultStart)
	switch {
	case asked != 0 && asked < last:
		return asked, nil
	case asked != 0:
		return 0, fmt.Errorf("exchange_config: start is after the stored candles, which go from %s to %s",
			first, last)
	case first < usual && usual < last:
		return usual, nil
	}
	return from, nil
}

// The synthetic market, in ticks of 0.01 and hundredths of a unit.
const (
	historyCandles = 5000 // before start
	gapOdds        = 16   // one candle in so many opens off the last close
	moveFraction   = 500  // a move is at most this part of the price
	floorTicks     = 100
	firstTicks     = 100_00
	firstTicksBTC  = 30000_00
	firstTicksETH  = 2000_00
	maxVolume      = 1000
	perUnit        = 100
	checkpointGap  = 512 // candles between two kept states
)

// walk is the state of the market before a candle.
type walk struct {
	random rand.PCG
	price  uint64 // the last close in ticks
}

// synthetic is the market of one symbol. Its methods may be called from any goroutine.
type synthetic struct {
	origin market.Time // candle 0 opens
	span   market.Time

	mu     sync.Mutex
	kept   []walk // before candles 0, 512, 1024 ...
	cursor walk   // before candle next
	next   int
}

func newSynthetic(seed string, symbol market.Symbol, tf market.Timeframe, start market.Time) *synthetic {
	digest := sha256.Sum256(
		[]byte("assay/rng/v1\x00" + seed + "\x00sim/candle\x00" + string(symbol) + "\x00" + tf.String()))
	w := walk{random: *rand.NewPCG(binary.BigEndian.Uint64(digest[:8]),
		binary.BigEndian.Uint64(digest[8:16])), price: firstTicks}
	switch symbol.Base() {
	case "BTC":
		w.price = firstTicksBTC
	case "ETH":
		w.price = firstTicksETH
	}
	span := market.Time(tf.Duration() / time.Millisecond)
	return &synthetic{origin: floorTo(start, span) - historyCandles*span, span: span, cursor: w}
}

// floorTo returns the last point of the grid that is not after t.
func floorTo(t, span market.Time) market.Time {
	rest := t % span
	if rest < 0 {
		rest += span
	}
	return t - rest
}

// index returns the first candle that opens at or after t.
func (s *synthetic) index(t market.Time) int {
	if t <= s.origin {
		return 0
	}
	return int((t - s.origin + s.span - 1) / s.span)
}

// at is candle i; there is no last one.
func (s *synthetic) at(i int) (market.Candle, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < s.next {
		s.next = i - i%checkpointGap
		s.cursor = s.kept[s.next/checkpointGap]
	}
	if last := len(s.kept) - 1; last*checkpointGap > s.next && last*checkpointGap <= i {
		s.next, s.cursor = last*checkpointGap, s.kept[last]
	}
	for s.next < i {
		s.draw()
	}
	return s.draw(), true
}

// draw makes the candle at the cursor and moves on.
func (s *synthetic) draw() market.Candle {
	if s.next == len(s.kept)*checkpointGap {
		s.kept = append(s.kept, s.cursor)
	}
	w, random := &s.cursor, rand.New(&s.cursor.random)
	if random.Uint64N(gapOdds) == 0 {
		w.move(random)
	}
	open := w.price
	high, low := open, open
	for range 4 {
		w.move(random)
		high, low = max(high, w.price), min(low, w.price)
	}
	volume := 1 + random.Uint64N(maxVolume)
	at := s.origin + market.Time(s.next)*s.span
	s.next++
	return market.Candle{
		OpenTime: at, CloseTime: at + s.span, Open: hundredths(open), High: hundredths(high),
		Low:   hundredths(low),
		Close: hundredths(w.price), Volume: hundredths(volume),
	}
}

func (w *walk) move(random *rand.Rand) {
	m := max(1, w.price/moveFraction)
	w.price = max(floorTicks, w.price-m+random.Uint64N(2*m+1))
}

func hundredths(n uint64) float64 { return float64(n) / perUnit }

func (*synthetic) tick() decimal.Decimal { return decimal.MustNew(1, 2) }
