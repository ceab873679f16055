package wire

import (
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// IntentToProto converts an intent of a run over these symbols.
func IntentToProto(in *market.Intent, symbols []market.Symbol) *strategypb.Intent {
	p := &strategypb.Intent{
		Action: actionToProto(in.Action), Symbol: symbolIndex(symbols, in.Symbol),
		Side: uint32(in.Side), Type: uint32(in.Type),
		LimitPrice: formatOptional(in.LimitPrice), StopPrice: formatOptional(in.StopPrice),
		TrailPercent: formatOptional(in.TrailPercent), TrailAmount: formatOptional(in.TrailAmount),
		TimeInForce: uint32(in.TimeInForce), ExpireAfter: int64(in.ExpireAfter), ReduceOnly: in.ReduceOnly,
		StopLoss: childToProto(in.StopLoss), TakeProfit: childToProto(in.TakeProfit),
		Tag: text(in.Tag), ClientRef: text(in.ClientRef), Ref: text(in.Ref),
	}
	switch in.Size.Kind {
	case market.SizeNone:
	case market.SizePosition:
		p.ReduceOnly = true
	case market.SizeQuantity:
		p.Size = &strategypb.Intent_Quantity{Quantity: formatNumber(in.Size.Value)}
	case market.SizeQuoteAmount:
		p.Size = &strategypb.Intent_QuoteAmount{QuoteAmount: formatNumber(in.Size.Value)}
	case market.SizeCashFraction:
		p.Size = &strategypb.Intent_CashFraction{CashFraction: formatNumber(in.Size.Value)}
	default:
		p.Size = &strategypb.Intent_Quantity{Quantity: in.Size.Kind.String()}
	}
	return p
}

// IntentFromProto converts and checks an intent of a run over these symbols.
func IntentFromProto(p *strategypb.Intent, symbols []market.Symbol) (market.Intent, error) {
	r := reader{symbols: symbols}
	if a := p.GetAction(); a < 0 || a > strategypb.Action_ACTION_CLOSE {
		return market.Intent{}, wrong("action", "%d is not known", a)
	}
	if n := p.GetExpireAfter(); int64(int(n)) != n {
		return market.Intent{}, wrong("expire_after", "%d is too large", n)
	}
	in := market.Intent{
		Action: actionFromProto(p), Symbol: r.symbol("symbol", p.GetSymbol()),
		Side:         readEnum(&r, "side", p.GetSide(), market.Sell),
		Type:         readEnum(&r, "type", p.GetType(), market.TrailingStop),
		LimitPrice:   r.number("limit_price", p.GetLimitPrice()),
		StopPrice:    r.number("stop_price", p.GetStopPrice()),
		TrailPercent: r.number("trail_percent", p.GetTrailPercent()),
		TrailAmount:  r.number("trail_amount", p.GetTrailAmount()),
		TimeInForce:  readEnum(&r, "time_in_force", p.GetTimeInForce(), market.IOC),
		ExpireAfter:  int(p.GetExpireAfter()), ReduceOnly: p.GetReduceOnly(),
		StopLoss:   childFromProto(&r, "stop_loss", p.GetStopLoss()),
		TakeProfit: childFromProto(&r, "take_profit", p.GetTakeProfit()),
		Tag:        r.text("tag", p.GetTag(), MaxTextBytes),
		ClientRef:  r.text("client_ref", p.GetClientRef(), MaxTextBytes),
		Ref:        r.text("ref", p.GetRef(), MaxTextBytes),
		Size:       sizeFromProto(&r, p),
	}
	return in, r.err
}

func sizeFromProto(r *reader, p *strategypb.Intent) market.Size {
	var size market.Size
	var err error
	switch s := p.GetSize().(type) {
	case *strategypb.Intent_Quantity:
		size.Kind = market.SizeQuantity
		size.Value, err = parseNumber("quantity", s.Quantity)
	case *strategypb.Intent_QuoteAmount:
		size.Kind = market.SizeQuoteAmount
		size.Value, err = parseNumber("quote_amount", s.QuoteAmount)
	case *strategypb.Intent_CashFraction:
		size.Kind = market.SizeCashFraction
		size.Value, err = parseNumber("cash_fraction", s.CashFraction)
	}
	r.keep(err)
	// An order without a size that is reduce-only is for the whole position.
	if size.Kind == market.SizeNone && p.GetAction() == strategypb.Action_ACTION_SUBMIT && p.GetReduceOnly() {
		size.Kind = market.SizePosition
	}
	return size
}

// actionToProto writes CancelAll as a cancel without ref, which is what the protocol calls it.
func actionToProto(a market.Action) strategypb.Action {
	if a == market.CancelAll {
		return strategypb.Action_ACTION_CANCEL
	}
	return strategypb.Action(a)
}

func actionFromProto(p *strategypb.Intent) market.Action {
	if p.GetAction() == strategypb.Action_ACTION_CANCEL && p.GetRef() == "" {
		return market.CancelAll
	}
	return market.Action(p.GetAction())
}

func childToProto(c *market.Child) *strategypb.Child {
	if c == nil {
		return nil
	}
	return &strategypb.Child{
		Price: formatOptional(c.Price), Percent: formatOptional(c.Percent),
		TrailPercent: formatOptional(c.TrailPercent), TrailAmount: formatOptional(c.TrailAmount),
	}
}

func childFromProto(r *reader, field string, p *strategypb.Child) *market.Child {
	if p == nil {
		return nil
	}
	return &market.Child{
		Price:        r.number(field+".price", p.GetPrice()),
		Percent:      r.number(field+".percent", p.GetPercent()),
		TrailPercent: r.number(field+".trail_percent", p.GetTrailPercent()),
		TrailAmount:  r.number(field+".trail_amount", p.GetTrailAmount()),
	}
}
