package testvenue

import (
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// symbol is one market and its rules.
type symbol struct {
	pair             market.Symbol
	name, base       string
	price            uint64 // the first one, in hundredths
	tick, step       decimal.Decimal
	minimum, maximum decimal.Decimal // quantity
	notional         decimal.Decimal // the least
	halted           bool
	tape             *tape
	i                int
}

// listed are the symbols of the exchange.
func listed() []*symbol {
	var list []*symbol
	for i, s := range []struct {
		base, step string
		price      uint64
	}{{"BTC", "0.00001", 30000_00}, {"ETH", "0.0001", 2000_00}, {"SOL", "0.001", 100_00}} {
		step := decimal.MustParse(s.step)
		list = append(list, &symbol{
			pair: market.Symbol(s.base + "/USDT"), name: s.base + "USDT", base: s.base, price: s.price, tick: decimal.MustNew(1, 2), step: step,
			minimum: step, maximum: decimal.MustNew(9000, 0), notional: decimal.MustNew(5, 0), i: i,
		})
	}
	return list
}

// status is TRADING or HALT.
func (s *symbol) status() string {
	if s.halted {
		return "HALT"
	}
	return "TRADING"
}

func (s *symbol) last() decimal.Decimal { return fromFloat(s.tape.last()) }

// info is the entry of exchangeInfo.
func (s *symbol) info() map[string]any {
	return map[string]any{
		"symbol": s.name, "status": s.status(), "baseAsset": s.base, "baseAssetPrecision": 8, "quoteAsset": "USDT", "quotePrecision": 8,
		"quoteAssetPrecision": 8, "baseCommissionPrecision": 8, "quoteCommissionPrecision": 8,
		"orderTypes":     []string{"LIMIT", "LIMIT_MAKER", "MARKET", "STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"},
		"icebergAllowed": true, "ocoAllowed": true, "otoAllowed": true, "quoteOrderQtyMarketAllowed": true, "allowTrailingStop": true,
		"cancelReplaceAllowed": true, "isSpotTradingAllowed": true, "isMarginTradingAllowed": false,
		"filters": []map[string]any{
			{"filterType": "PRICE_FILTER", "minPrice": fixed(s.tick), "maxPrice": "1000000.00000000", "tickSize": fixed(s.tick)},
			{"filterType": "LOT_SIZE", "minQty": fixed(s.minimum), "maxQty": fixed(s.maximum), "stepSize": fixed(s.step)},
			{"filterType": "ICEBERG_PARTS", "limit": 10},
			{"filterType": "MARKET_LOT_SIZE", "minQty": "0.00000000", "maxQty": fixed(s.maximum), "stepSize": "0.00000000"},
			{"filterType": "TRAILING_DELTA", "minTrailingAboveDelta": 10, "maxTrailingAboveDelta": 2000, "minTrailingBelowDelta": 10, "maxTrailingBelowDelta": 2000},
			{"filterType": "PERCENT_PRICE_BY_SIDE", "bidMultiplierUp": "5", "bidMultiplierDown": "0.2", "askMultiplierUp": "5", "askMultiplierDown": "0.2", "avgPriceMins": 5},
			{"filterType": "NOTIONAL", "minNotional": fixed(s.notional), "applyMinToMarket": true, "maxNotional": "9000000.00000000", "applyMaxToMarket": false, "avgPriceMins": 5},
			{"filterType": "MAX_NUM_ORDERS", "maxNumOrders": 200},
			{"filterType": "MAX_NUM_ALGO_ORDERS", "maxNumAlgoOrders": 5},
		},
		"permissions": []string{}, "permissionSets": [][]string{{"SPOT"}}, "defaultSelfTradePreventionMode": "EXPIRE_MAKER",
		"allowedSelfTradePreventionModes": []string{"EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH"},
	}
}

// refuse holds an order against the filters.
func (s *symbol) refuse(o *order) *apiError {
	last := s.last()
	for _, p := range []decimal.Decimal{o.price, o.stop} {
		if p.IsZero() {
			continue
		}
		if !multiple(p, s.tick) {
			return &apiError{400, -1013, "Filter failure: PRICE_FILTER", 0}
		}
		if p.Cmp(times(last, decimal.MustNew(5, 0))) > 0 || p.Cmp(times(last, decimal.MustNew(2, 1))) < 0 {
			return &apiError{400, -1013, "Filter failure: PERCENT_PRICE_BY_SIDE", 0}
		}
	}
	worth := o.quoteQty
	if worth.IsZero() {
		if !multiple(o.qty, s.step) || o.qty.Cmp(s.minimum) < 0 || o.qty.Cmp(s.maximum) > 0 {
			return &apiError{400, -1013, "Filter failure: LOT_SIZE", 0}
		}
		price := last
		for _, p := range []decimal.Decimal{o.stop, o.price} {
			if p.IsPos() {
				price = p
			}
		}
		worth = times(price, o.qty)
	}
	if worth.Cmp(s.notional) < 0 {
		return &apiError{400, -1013, "Filter failure: NOTIONAL", 0}
	}
	return nil
}

// find is a symbol by its name, BTCUSDT or BTC/USDT.
func (v *Venue) find(name string) *symbol {
	name = strings.ReplaceAll(name, "/", "")
	for _, s := range v.symbols {
		if s.name == name {
			return s
		}
	}
	return nil
}

func multiple(d, step decimal.Decimal) bool {
	_, rest, err := d.QuoRem(step)
	return err == nil && rest.IsZero()
}

// floorTo rounds down to a multiple.
func floorTo(d, step decimal.Decimal) decimal.Decimal {
	_, rest, err := d.QuoRem(step)
	if err != nil {
		return d
	}
	return minus(d, rest)
}

// The arithmetic of amounts, whose digits are bounded by the filters; what does not fit all
// the same counts as nothing.
func times(a, b decimal.Decimal) decimal.Decimal { c, _ := a.Mul(b); return c }
func plus(a, b decimal.Decimal) decimal.Decimal  { c, _ := a.Add(b); return c }
func minus(a, b decimal.Decimal) decimal.Decimal { c, _ := a.Sub(b); return c }

func fromFloat(f float64) decimal.Decimal { d, _ := decimal.NewFromFloat64(f); return d }
func toFloat(d decimal.Decimal) float64   { f, _ := d.Float64(); return f }

// fixed is a number as the exchange writes it: eight decimals.
func fixed(d decimal.Decimal) string { return d.Round(8).Pad(8).String() }
