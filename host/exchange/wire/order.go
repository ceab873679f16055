package wire

import (
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func submitToProto(q exchange.OrderRequest) *connectorpb.SubmitRequest {
	return &connectorpb.SubmitRequest{
		ClientOrderId: q.ClientOrderID, Symbol: string(q.Symbol), Side: q.Side.String(), Type: q.Type.String(), TimeInForce: q.TimeInForce.String(),
		Quantity: number(q.Quantity), QuoteAmount: number(q.QuoteAmount), LimitPrice: number(q.LimitPrice), StopPrice: number(q.StopPrice),
		Reduces: q.Reduces,
	}
}

// submitFromProto: a host that asks for nonsense gets an error, which is NotSent there.
func submitFromProto(p *connectorpb.SubmitRequest) (exchange.OrderRequest, error) {
	r := &reader{}
	q := exchange.OrderRequest{
		ClientOrderID: r.name("client_order_id", p.GetClientOrderId()), Symbol: parse(r, "symbol", p.GetSymbol(), market.ParseSymbol),
		Side: parse(r, "side", p.GetSide(), market.ParseSide), Type: parse(r, "type", p.GetType(), market.ParseOrderType),
		TimeInForce: parse(r, "time_in_force", p.GetTimeInForce(), market.ParseTimeInForce),
		Quantity:    r.amount("quantity", p.GetQuantity()), QuoteAmount: r.amount("quote_amount", p.GetQuoteAmount()),
		LimitPrice: r.amount("limit_price", p.GetLimitPrice()), StopPrice: r.amount("stop_price", p.GetStopPrice()),
		Reduces: p.GetReduces(),
	}
	return q, r.err()
}

func pairToProto(q exchange.PairRequest) *connectorpb.SubmitPairRequest {
	return &connectorpb.SubmitPairRequest{
		ListId: q.ListID, LimitId: q.LimitID, StopId: q.StopID, Symbol: string(q.Symbol), Side: q.Side.String(),
		Quantity: number(q.Quantity), LimitPrice: number(q.LimitPrice), StopPrice: number(q.StopPrice),
	}
}

func pairFromProto(p *connectorpb.SubmitPairRequest) (exchange.PairRequest, error) {
	r := &reader{}
	q := exchange.PairRequest{
		ListID: r.name("list_id", p.GetListId()), LimitID: r.name("limit_id", p.GetLimitId()), StopID: r.name("stop_id", p.GetStopId()),
		Symbol: parse(r, "symbol", p.GetSymbol(), market.ParseSymbol), Side: parse(r, "side", p.GetSide(), market.ParseSide),
		Quantity: r.amount("quantity", p.GetQuantity()), LimitPrice: r.amount("limit_price", p.GetLimitPrice()), StopPrice: r.amount("stop_price", p.GetStopPrice()),
	}
	return q, r.err()
}

func refToProto(ref exchange.OrderRef) *connectorpb.OrderRef {
	return &connectorpb.OrderRef{ClientOrderId: ref.ClientOrderID, Symbol: string(ref.Symbol)}
}

func refFromProto(p *connectorpb.OrderRef) (exchange.OrderRef, error) {
	r := &reader{}
	ref := exchange.OrderRef{
		ClientOrderID: r.name("client_order_id", p.GetClientOrderId()), Symbol: parse(r, "symbol", p.GetSymbol(), market.ParseSymbol),
	}
	return ref, r.err()
}

// orderToProto is nil for no order: only an Order with a symbol is one.
func orderToProto(o exchange.Order) *connectorpb.Order {
	if o.Symbol == "" {
		return nil
	}
	return &connectorpb.Order{
		ClientOrderId: valid(o.ClientOrderID), VenueOrderId: valid(o.VenueOrderID), Symbol: valid(string(o.Symbol)), Side: o.Side.String(), Type: o.Type.String(),
		Status: valid(string(o.Status)), Quantity: number(o.Quantity), CumQuantity: number(o.CumQuantity), LimitPrice: number(o.LimitPrice),
		StopPrice: number(o.StopPrice), AveragePrice: number(o.AveragePrice), Reason: clip(o.Reason), UpdatedAt: int64(o.UpdatedAt),
	}
}

// orderFromProto: an order of nobody we know may lack a client order id.
func orderFromProto(r *reader, p *connectorpb.Order) exchange.Order {
	return exchange.Order{
		ClientOrderID: r.text("client_order_id", p.GetClientOrderId()), VenueOrderID: r.text("venue_order_id", p.GetVenueOrderId()),
		Symbol: r.symbol("symbol", p.GetSymbol()), Side: parse(r, "side", p.GetSide(), market.ParseSide),
		Type: parse(r, "type", p.GetType(), market.ParseOrderType),
		Status: oneOf(r, "status", p.GetStatus(), exchange.OrderOpen, exchange.OrderPartiallyFilled, exchange.OrderFilled,
			exchange.OrderCanceled, exchange.OrderRejected, exchange.OrderExpired),
		Quantity: r.amount("quantity", p.GetQuantity()), CumQuantity: r.amount("cum_quantity", p.GetCumQuantity()),
		LimitPrice: r.amount("limit_price", p.GetLimitPrice()), StopPrice: r.amount("stop_price", p.GetStopPrice()),
		AveragePrice: r.shown("average_price", p.GetAveragePrice()), Reason: clip(p.GetReason()), UpdatedAt: r.time("updated_at", p.GetUpdatedAt()),
	}
}

func fillToProto(f exchange.Fill) *connectorpb.Fill {
	return &connectorpb.Fill{
		TradeId: valid(f.TradeID), ClientOrderId: valid(f.ClientOrderID), VenueOrderId: valid(f.VenueOrderID), Symbol: valid(string(f.Symbol)),
		Side: f.Side.String(), Price: number(f.Price), Quantity: number(f.Quantity), Fee: number(f.Fee), FeeAsset: valid(f.FeeAsset),
		Liquidity: f.Liquidity.String(), Time: int64(f.Time),
	}
}

func fillFromProto(r *reader, p *connectorpb.Fill) exchange.Fill {
	return exchange.Fill{
		TradeID: r.name("trade_id", p.GetTradeId()), ClientOrderID: r.text("client_order_id", p.GetClientOrderId()),
		VenueOrderID: r.text("venue_order_id", p.GetVenueOrderId()), Symbol: r.symbol("symbol", p.GetSymbol()),
		Side: parse(r, "side", p.GetSide(), market.ParseSide), Price: r.amount("price", p.GetPrice()), Quantity: r.amount("quantity", p.GetQuantity()),
		Fee: r.signed("fee", p.GetFee()), FeeAsset: r.text("fee_asset", p.GetFeeAsset()),
		Liquidity: parse(r, "liquidity", p.GetLiquidity(), market.ParseLiquidity), Time: r.time("time", p.GetTime()),
	}
}

func balanceToProto(b exchange.Balance) *connectorpb.Balance {
	return &connectorpb.Balance{Asset: valid(b.Asset), Free: number(b.Free), Locked: number(b.Locked)}
}

func balanceFromProto(r *reader, p *connectorpb.Balance) exchange.Balance {
	return exchange.Balance{Asset: r.name("asset", p.GetAsset()), Free: r.amount("free", p.GetFree()), Locked: r.amount("locked", p.GetLocked())}
}

func accountEventToProto(e exchange.AccountEvent) *connectorpb.AccountEvent {
	switch {
	case e.Order != nil:
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Order{Order: orderToProto(*e.Order)}}
	case e.Fill != nil:
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Fill{Fill: fillToProto(*e.Fill)}}
	case e.Balance != nil:
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Balance{Balance: balanceToProto(*e.Balance)}}
	}
	if t := e.Transfer; t != nil {
		p := &connectorpb.Transfer{Asset: valid(t.Asset), Amount: number(t.Amount), Time: int64(t.Time)}
		return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Transfer{Transfer: p}}
	}
	return &connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_State{State: linkToProto(e.State, e.Reason)}}
}

// accountEventFromProto reads everything but a failure.
func accountEventFromProto(r *reader, p *connectorpb.AccountEvent) (e exchange.AccountEvent) {
	switch x := p.GetEvent().(type) {
	case *connectorpb.AccountEvent_State:
		e.State, e.Reason = linkFromProto(r, x.State)
	case *connectorpb.AccountEvent_Order:
		r.within("order", func() { o := orderFromProto(r, x.Order); e.Order = &o })
	case *connectorpb.AccountEvent_Fill:
		r.within("fill", func() { f := fillFromProto(r, x.Fill); e.Fill = &f })
	case *connectorpb.AccountEvent_Balance:
		r.within("balance", func() { b := balanceFromProto(r, x.Balance); e.Balance = &b })
	case *connectorpb.AccountEvent_Transfer:
		r.within("transfer", func() {
			p := x.Transfer
			e.Transfer = &exchange.Transfer{Asset: r.name("asset", p.GetAsset()), Amount: r.signed("amount", p.GetAmount()), Time: r.time("time", p.GetTime())}
		})
	default:
		r.wrong("event", "is missing")
	}
	return e
}

// listFromProto reads a list with the index in the path of its faults.
func listFromProto[P, T any](r *reader, name string, list []P, read func(*reader, P) T) []T {
	out := make([]T, len(list))
	for i, p := range list {
		r.within(at(name, i), func() { out[i] = read(r, p) })
	}
	return out
}

func listToProto[P, T any](list []T, write func(T) P) []P {
	out := make([]P, len(list))
	for i, v := range list {
		out[i] = write(v)
	}
	return out
}
