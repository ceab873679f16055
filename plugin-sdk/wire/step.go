package wire

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

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
	r := reader{symbols: symbols}
	for i, c := range p.GetCandles() {
		s.readCandle(&r, at("candles", i), c)
	}
	s.Cash = r.finite("account.cash", p.GetAccount().GetCash())
	s.Equity = r.finite("account.equity", p.GetAccount().GetEquity())
	for i, h := range p.GetAccount().GetPositions() {
		s.readPosition(&r, at("account.positions", i), h)
	}
	s.Fills, s.Orders = s.Fills[:0], s.Orders[:0]
	for i, f := range p.GetFills() {
		fill, err := FillFromProto(f, symbols)
		r.keep(under(at("fills", i), err))
		s.Fills = append(s.Fills, fill)
	}
	for i, o := range p.GetOrders() {
		order, err := OrderFromProto(o, symbols)
		r.keep(under(at("orders", i), err))
		s.Orders = append(s.Orders, order)
	}
	return r.err
}

func (s *Step) readCandle(r *reader, field string, c *strategypb.Candle) {
	i := c.GetSymbol()
	if r.symbol(field+".symbol", i) == "" {
		return
	}
	if s.Closed[i] {
		r.keep(wrong(field+".symbol", "two candles of one symbol in one step"))
	}
	s.Closed[i] = true
	s.Candles[i] = market.Candle{
		OpenTime: market.Time(c.GetOpenTime()), CloseTime: s.CloseTime,
		Open: r.finite(field+".open", c.GetOpen()), High: r.finite(field+".high", c.GetHigh()),
		Low: r.finite(field+".low", c.GetLow()), Close: r.finite(field+".close", c.GetClose()),
		Volume: r.finite(field+".volume", c.GetVolume()),
	}
}

func (s *Step) readPosition(r *reader, field string, h *strategypb.PositionView) {
	i := h.GetSymbol()
	if r.symbol(field+".symbol", i) == "" {
		return
	}
	s.Positions[i] = sdk.Position{
		Quantity:    r.finite(field+".quantity", h.GetQuantity()),
		EntryPrice:  r.finite(field+".entry_price", h.GetEntryPrice()),
		CandlesHeld: h.GetCandlesHeld(),
	}
}
