package binance

import (
	"context"
	"net"
	"slices"
	"strconv"

	gb "github.com/adshao/go-binance/v2"
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Markets implements exchange.Connector. One unknown symbol makes the exchange refuse the
// whole list; then each is asked for alone.
func (s *session) Markets(ctx context.Context) ([]exchange.Market, error) {
	if err := s.ready(false); err != nil {
		return nil, err
	}
	info, r := s.info(ctx, s.symbols()...)
	if r.Outcome == exchange.Accepted {
		return s.markets(info.Symbols)
	}
	if r.VenueCode != "-1121" || len(s.names) == 0 {
		return nil, &exchange.Error{Result: r}
	}
	var list []exchange.Market
	for _, name := range s.symbols() {
		info, r := s.info(ctx, name)
		if r.VenueCode == "-1121" || r.VenueCode == "-1100" {
			continue
		}
		if r.Outcome != exchange.Accepted {
			return nil, &exchange.Error{Result: r}
		}
		one, err := s.markets(info.Symbols)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

func (s *session) info(ctx context.Context, names ...string) (*gb.ExchangeInfo, exchange.Result) {
	info, r := call(&s.rest, ctx, reading, data, 20,
		func(ctx context.Context, c *gb.Client) (*gb.ExchangeInfo, error) {
			q := c.NewExchangeInfoService().Symbols(names...)
			if len(names) == 1 {
				q = c.NewExchangeInfoService().Symbol(names[0])
			}
			info, err := q.Do(ctx)
			if err == nil && info.Symbols == nil {
				err = errShape
			}
			return info, err
		})
	if r.Outcome == exchange.Accepted {
		s.rest.queue.limit(info.RateLimits)
	}
	return info, r
}

func (s *session) markets(symbols []gb.Symbol) ([]exchange.Market, error) {
	var list []exchange.Market
	for i := range symbols {
		symbol, wanted := s.names[symbols[i].Symbol]
		if !wanted {
			continue
		}
		m, err := s.rules(symbol, &symbols[i])
		if err != nil {
			return nil, exchange.NewError(exchange.Unknown, err.Error())
		}
		list = append(list, m)
	}
	return list, nil
}

// rules reads the filters of a symbol. A step of zero is none of its own.
func (s *session) rules(symbol market.Symbol, g *gb.Symbol) (exchange.Market, error) {
	m := exchange.Market{Symbol: symbol, Status: g.Status, Trading: g.Status == "TRADING" &&
		g.IsSpotTradingAllowed, MakerFee: s.maker, TakerFee: s.taker}
	m.OrderTypes = orderTypes(g)
	r := numbers{}
	for _, f := range g.Filters {
		at := func(name string) decimal.Decimal {
			text, _ := f[name].(string)
			return r.read(name, text)
		}
		switch f["filterType"] {
		case "PRICE_FILTER":
			m.PriceTick = at("tickSize")
		case "LOT_SIZE":
			m.QuantityStep, m.MinQuantity, m.MaxQuantity = at("stepSize"), at("minQty"), at("maxQty")
		case "MARKET_LOT_SIZE":
			m.MarketQuantityStep, m.MarketMinQuantity, m.MarketMaxQuantity = at("stepSize"), at("minQty"),
				at("maxQty")
		case "MAX_NUM_ALGO_ORDERS":
			if n, ok := f["maxNumAlgoOrders"].(float64); ok && n > 0 && n < 1<<20 {
				m.MaxStops = int(n)
			}
		case "MAX_POSITION":
			m.MaxPosition = at("maxPosition")
		case "MIN_NOTIONAL":
			m.MinNotional = at("minNotional")
		case "NOTIONAL":
			m.MinNotional, m.MaxNotional = at("minNotional"), at("maxNotional")
		case "PERCENT_PRICE":
			m.PercentPriceUp, m.PercentPriceDown = at("multiplierUp"), at("multiplierDown")
		case "PERCENT_PRICE_BY_SIDE": // the narrower of the two sides holds for both
			m.PercentPriceUp = least(at("bidMultiplierUp"), at("askMultiplierUp"))
			m.PercentPriceDown = most(at("bidMultiplierDown"), at("askMultiplierDown"))
		}
	}
	return m, r.err
}

// orderTypes are those that a symbol takes, by our names.
func orderTypes(g *gb.Symbol) (list []string) {
	has := func(name string) bool { return slices.Contains(g.OrderTypes, name) }
	for _, t := range []struct {
		name  string
		takes bool
	}{
		{"market", has("MARKET")}, {"market_quote", has("MARKET") && g.QuoteOrderQtyMarketAllowed},
		{"limit", has("LIMIT")},
		{"stop", has("STOP_LOSS")}, {"stop_limit", has("STOP_LOSS_LIMIT")},
		{"post_only", has("LIMIT_MAKER")},
		{"exit_pair", has("LIMIT_MAKER") && has("STOP_LOSS") && g.OcoAllowed},
	} {
		if t.takes {
			list = append(list, t.name)
		}
	}
	return list
}

func least(a, b decimal.Decimal) decimal.Decimal {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func most(a, b decimal.Decimal) decimal.Decimal {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// Candles implements exchange.Connector: closed ones only. A candle is closed when a later one
// exists, or two seconds after its end by the venue's clock.
func (s *session) Candles(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	if err := s.ready(false); err != nil {
		return nil, err
	}
	limit := min(max(q.Limit, 1), 1000)
	if q.To <= q.From || q.To <= 0 {
		return nil, nil
	}
	span := s.req.Timeframe.Approx()
	rows, r := list(&s.rest, ctx, data, 2, func(ctx context.Context, c *gb.Client) ([]*gb.Kline, error) {
		return c.NewKlinesService().Symbol(venueName(q.Symbol)).Interval(s.req.Timeframe.String()).
			StartTime(int64(max(q.From, 0))).EndTime(int64(q.To.Add(span)) - 1).Limit(min(limit+1,
			1000)).Do(ctx)
	})
	if r.Outcome != exchange.Accepted {
		return nil, &exchange.Error{Result: r}
	}
	now := s.rest.clock.Now()
	if s.rest.market != nil {
		now = 0 // two seconds of an accelerated venue are nothing: there only a later candle proves it
	}
	var closed []market.Candle
	for i, k := range rows {
		c, err := s.candle(k)
		if err != nil {
			return nil, exchange.NewError(exchange.Unknown, "klines: "+err.Error())
		}
		switch {
		case c.OpenTime < q.From || c.OpenTime >= q.To || len(closed) == limit:
		case i == len(rows)-1 && c.CloseTime.Add(closedAfter) > now:
		case len(closed) > 0 && c.OpenTime <= closed[len(closed)-1].OpenTime:
			return nil, exchange.NewError(exchange.Unknown, "klines: they do not ascend")
		default:
			closed = append(closed, c)
		}
	}
	return closed, nil
}

func (s *session) candle(k *gb.Kline) (market.Candle, error) {
	c := market.Candle{OpenTime: market.Time(k.OpenTime),
		CloseTime: s.req.Timeframe.Next(market.Time(k.OpenTime))}
	for _, f := range []struct {
		text string
		into *float64
	}{{k.Open, &c.Open}, {k.High, &c.High}, {k.Low, &c.Low}, {k.Close, &c.Close}, {k.Volume, &c.Volume}} {
		v, err := strconv.ParseFloat(f.text, 64)
		if err != nil {
			return c, err
		}
		*f.into = v
	}
	return c, nil
}
