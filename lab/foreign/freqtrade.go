package foreign

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ftFile is what is read of a result of freqtrade backtesting.
type ftFile struct {
	Version  string                     `json:"freqtrade_version"`
	Strategy map[string]json.RawMessage `json:"strategy"`
}

type ftStrategy struct {
	Trades    []ftTrade   `json:"trades"`
	Timeframe string      `json:"timeframe"`
	Balance   json.Number `json:"starting_balance"`
	Final     json.Number `json:"final_balance"`
	StartTS   int64       `json:"backtest_start_ts"`
	EndTS     int64       `json:"backtest_end_ts"`
	Pairs     []string    `json:"pairlist"`
}

type ftTrade struct {
	Pair       string      `json:"pair"`
	Amount     json.Number `json:"amount"`
	OpenRate   json.Number `json:"open_rate"`
	CloseRate  json.Number `json:"close_rate"`
	Profit     json.Number `json:"profit_abs"`
	MinRate    json.Number `json:"min_rate"`
	MaxRate    json.Number `json:"max_rate"`
	OpenTS     *int64      `json:"open_timestamp"`
	CloseTS    *int64      `json:"close_timestamp"`
	IsShort    bool        `json:"is_short"`
	IsOpen     bool        `json:"is_open"`
	EnterTag   *string     `json:"enter_tag"`
	ExitReason string      `json:"exit_reason"`
	Orders     []ftOrder   `json:"orders"`
}

type ftOrder struct {
	Amount  json.Number `json:"amount"`
	Price   json.Number `json:"safe_price"`
	IsEntry bool        `json:"ft_is_entry"`
	Filled  *int64      `json:"order_filled_timestamp"`
}

// Freqtrade reads the archive or the JSON file that `freqtrade backtesting --export trades` writes.
// The error is an *Error.
func Freqtrade(text []byte, o Options) (*Results, error) {
	if bytes.HasPrefix(text, []byte("PK\x03\x04")) {
		member, err := unpack(text)
		if err != nil {
			return nil, err
		}
		text = member
	}
	var f ftFile
	if err := decodeJSON(text, "", &f); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(f.Strategy))
	if len(names) == 0 {
		return nil, unreadable("/strategy", "is missing: is this a result of freqtrade backtesting?")
	}
	name := names[0]
	switch {
	case o.Strategy != "" && !slices.Contains(names, o.Strategy):
		return nil, unclear("the file has no strategy %.80q: it has %s", o.Strategy, listed(names))
	case o.Strategy != "":
		name = o.Strategy
	case len(names) > 1:
		return nil, unclear("the file has several strategies: give --strategy with one of %s", listed(names))
	}
	at := "/strategy/" + digest.PointerStep(fmt.Sprintf("%.80s", name))
	var s ftStrategy
	if err := decodeJSON(f.Strategy[name], at, &s); err != nil {
		return nil, err
	}
	r := &Results{Strategy: name, Source: artifact.Imported{Tool: ToolFreqtrade, Version: f.Version},
		Start: market.Time(s.StartTS), End: market.Time(s.EndTS)}
	if err := r.frame(&s, at, o); err != nil {
		return nil, err
	}
	for i := range s.Trades {
		t, err := s.Trades[i].read(fmt.Sprintf("%s/trades/%d", at, i), r)
		if err != nil {
			return nil, err
		}
		r.Trades = append(r.Trades, t)
	}
	r.finish()
	if len(r.Symbols) == 0 {
		r.Symbols = symbolsOf(s.Pairs)
	}
	if len(r.Symbols) == 0 {
		return nil, unreadable(at+"/pairlist", "names no pair, and there is no trade")
	}
	r.remark("EQUITY_FROM_CLOSED_TRADES", "The curve moves when a trade is closed: what the file knows of "+
		"open ones is not read, so drawdowns while one is open are not in it.")
	r.agree(s.Final)
	return r, nil
}

// listed names the first of many.
func listed(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// frame reads what all trades have in common.
func (r *Results) frame(s *ftStrategy, at string, o Options) (err error) {
	if s.Trades == nil {
		return unreadable(at+"/trades", "is missing: export with --export trades")
	}
	if len(s.Trades) > maxTrades {
		return &Error{CodeTooLarge, at + "/trades", fmt.Sprintf("has more than %d entries", maxTrades)}
	}
	timeframe := s.Timeframe
	if o.Timeframe != "" {
		timeframe = o.Timeframe
	}
	if r.Timeframe, err = market.ParseTimeframe(timeframe); err != nil {
		return unreadable(at+"/timeframe", "%v", err)
	}
	if r.Cash, err = positive(string(s.Balance)); err != nil {
		return unreadable(at+"/starting_balance", "%v", err)
	}
	if year := r.Start.Time().Year(); s.StartTS <= 0 || year > 2200 {
		return unreadable(at+"/backtest_start_ts", "is no time in milliseconds")
	}
	if year := r.End.Time().Year(); r.End <= r.Start || year > 2200 {
		return unreadable(at+"/backtest_end_ts", "is not after the start")
	}
	return nil
}

// agree remarks where the trades do not add up to the balance that the file has.
func (r *Results) agree(final json.Number) {
	want, err := readDecimal(string(final))
	if err != nil {
		return
	}
	sum, _ := r.Cash.Float64()
	for i := range r.Trades {
		pnl, _ := r.Trades[i].PnL.Float64()
		sum += pnl
	}
	x, _ := want.Float64()
	if diff := sum - x; diff > 0.01*max(1, x*1e-4) || -diff > 0.01*max(1, x*1e-4) {
		r.remark("TRADES_DO_NOT_ADD_UP", "The trades lead to %.2f, the file says %.2f: a position "+
			"that is open at the end, for one, is in no trade.", sum, x)
	}
}

// symbolsOf are the pairs that can be written as symbols.
func symbolsOf(pairs []string) []string {
	var out []string
	for _, p := range pairs[:min(len(pairs), 256)] {
		if s, err := pairOf(p); err == nil && !slices.Contains(out, string(s)) {
			out = append(out, string(s))
		}
	}
	slices.Sort(out)
	return out
}

// pairOf is the symbol of a pair; of a future, which names its margin behind a colon, without that.
func pairOf(pair string) (market.Symbol, error) {
	spot, _, _ := strings.Cut(pair, ":")
	return market.ParseSymbol(spot)
}

func positive(text string) (decimal.Decimal, error) {
	if text == "" {
		return decimal.Decimal{}, errors.New("is missing")
	}
	d, err := readDecimal(text)
	if err == nil && d.Sign() <= 0 {
		err = fmt.Errorf("must be above 0: %.40q", text)
	}
	return d, err
}

// exits are the reasons of ours for those of freqtrade; others are signals.
var exits = map[string]market.ExitReason{
	"roi": market.ExitTakeProfit, "stop_loss": market.ExitStopLoss,
	"trailing_stop_loss": market.ExitStopLoss, "stoploss_on_exchange": market.ExitStopLoss,
	"liquidation": market.ExitLiquidation, "force_exit": market.ExitEndOfData,
}

func (f *ftTrade) read(at string, r *Results) (market.Trade, error) {
	t := market.Trade{ExitReason: market.ExitSignal, ExitTag: f.ExitReason, OrderIDs: []market.OrderID{}}
	var err error
	if t.Symbol, err = pairOf(f.Pair); err != nil {
		return t, unreadable(at+"/pair", "%v", err)
	}
	if reason, known := exits[f.ExitReason]; known {
		t.ExitReason = reason
	}
	if f.EnterTag != nil {
		t.EntryTag = *f.EnterTag
	}
	if len(t.EntryTag) > maxTag || len(t.ExitTag) > maxTag {
		return t, unreadable(at, "has a tag of more than %d bytes", maxTag)
	}
	t.Direction = market.Long
	if f.IsShort {
		t.Direction = market.Short
	}
	switch {
	case f.IsOpen:
		return t, unreadable(at+"/is_open", "is true: only closed trades can be read")
	case f.OpenTS == nil || market.Time(*f.OpenTS) < r.Start-market.Time(r.Timeframe.Approx().Milliseconds()):
		return t, unreadable(at+"/open_timestamp", "is missing or before the start")
	case f.CloseTS == nil || *f.CloseTS < *f.OpenTS:
		return t, unreadable(at+"/close_timestamp", "is missing or before open_timestamp")
	case market.Time(*f.CloseTS) > r.End.Add(2*r.Timeframe.Approx()):
		return t, unreadable(at+"/close_timestamp", "is after the end")
	}
	t.EntryTime, t.ExitTime = market.Time(*f.OpenTS), market.Time(*f.CloseTS)
	t.CandlesHeld = int(int64(t.ExitTime-t.EntryTime) / max(r.Timeframe.Approx().Milliseconds(), 1))
	a, err := f.amounts(at)
	if err != nil {
		return t, err
	}
	if err := settle(&t, a); err != nil {
		return t, unreadable(at, "cannot be computed with: %v", err)
	}
	return t, nil
}

// maxTag is more than any tag of an order has.
const maxTag = 1024

func (f *ftTrade) amounts(at string) (a amounts, err error) {
	for _, field := range []struct {
		name string
		text json.Number
		to   *decimal.Decimal
	}{{"amount", f.Amount, &a.quantity}, {"open_rate", f.OpenRate, &a.entry},
		{"close_rate", f.CloseRate, &a.exit}} {
		if *field.to, err = positive(string(field.text)); err != nil {
			return a, unreadable(at+"/"+field.name, "%v", err)
		}
	}
	if a.pnl, err = readDecimal(string(f.Profit)); err != nil {
		return a, unreadable(at+"/profit_abs", "%v", err)
	}
	if f.MinRate != "" && f.MaxRate != "" {
		if a.low, err = readDecimal(string(f.MinRate)); err != nil {
			return a, unreadable(at+"/min_rate", "%v", err)
		}
		if a.high, err = readDecimal(string(f.MaxRate)); err != nil {
			return a, unreadable(at+"/max_rate", "%v", err)
		}
	}
	return a, f.adjusted(at, &a)
}

// adjusted takes quantity and prices of a position that was added to or sold in parts from its
// orders: the trade has those of the last part.
func (f *ftTrade) adjusted(at string, a *amounts) error {
	var count [2]int
	var quantity, worth [2]decimal.Decimal
	for i, o := range f.Orders {
		if o.Filled == nil || *o.Filled == 0 {
			continue
		}
		side := 1
		if o.IsEntry {
			side = 0
		}
		where := fmt.Sprintf("%s/orders/%d", at, i)
		n, err := positive(string(o.Amount))
		if err != nil {
			return unreadable(where+"/amount", "%v", err)
		}
		price, err := positive(string(o.Price))
		if err != nil {
			return unreadable(where+"/safe_price", "%v", err)
		}
		cost, err := n.Mul(price)
		if err == nil {
			quantity[side], err = quantity[side].Add(n)
		}
		if err == nil {
			worth[side], err = worth[side].Add(cost)
		}
		if err != nil {
			return unreadable(where, "cannot be computed with: %v", err)
		}
		count[side]++
	}
	if count[0] == 0 || count[1] == 0 || count[0]+count[1] == 2 {
		return nil
	}
	var err error
	a.quantity = quantity[0]
	if a.entry, err = worth[0].Quo(quantity[0]); err == nil {
		a.exit, err = worth[1].Quo(quantity[1])
	}
	if err != nil {
		return unreadable(at+"/orders", "cannot be computed with: %v", err)
	}
	return nil
}

// unpack returns the result in an archive: the JSON file that is neither configuration nor metadata.
func unpack(text []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, unreadable("", "the archive is damaged: %v", err)
	}
	if len(z.File) > maxMember {
		return nil, &Error{CodeTooLarge, "", fmt.Sprintf("the archive has more than %d files", maxMember)}
	}
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".json") || strings.HasSuffix(f.Name, "_config.json") ||
			strings.HasSuffix(f.Name, ".meta.json") {
			continue
		}
		member, err := f.Open()
		if err != nil {
			return nil, unreadable("", "%.80q in the archive cannot be read: %v", f.Name, err)
		}
		out, err := io.ReadAll(io.LimitReader(member, MaxFile+1))
		if err = errors.Join(err, member.Close()); err != nil {
			return nil, unreadable("", "%.80q in the archive cannot be read: %v", f.Name, err)
		}
		if len(out) > MaxFile {
			return nil, &Error{CodeTooLarge, "", fmt.Sprintf("%.80q in the archive has more than %d bytes",
				f.Name, MaxFile)}
		}
		return out, nil
	}
	return nil, unreadable("", "the archive has no result: it needs a backtest-result-….json")
}

// decodeJSON reads a value and names the field that is of another type.
func decodeJSON(text []byte, at string, to any) error {
	err := json.Unmarshal(text, to)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return unreadable(at+"/"+strings.ReplaceAll(wrong.Field, ".", "/"), "must not be a %s", wrong.Value)
	}
	if err != nil {
		return unreadable(at, "is no JSON: %v", err)
	}
	return nil
}
