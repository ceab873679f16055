package wire

import (
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// OrderToProto converts an order of a run over these symbols.
func OrderToProto(o *market.Order, symbols []market.Symbol) *strategypb.OrderUpdate {
	return &strategypb.OrderUpdate{
		OrderId: int64(o.ID), ParentId: int64(o.ParentID), Symbol: symbolIndex(symbols, o.Symbol),
		ClientRef: text(o.Ref), Side: uint32(o.Side), Type: uint32(o.Type), Role: uint32(o.Role),
		Status: uint32(o.Status), Reason: text(string(o.Reason)),
		Quantity: formatDecimal(o.Quantity), FilledQuantity: formatDecimal(o.FilledQuantity),
		LimitPrice: formatOptionalDecimal(o.LimitPrice), StopPrice: formatOptionalDecimal(o.StopPrice),
		AveragePrice: formatOptionalDecimal(o.AveragePrice), Fee: formatDecimal(o.Fee),
		TimeInForce: uint32(o.TimeInForce), ReduceOnly: o.ReduceOnly, Tag: text(o.Tag),
		CreatedAt: int64(o.CreatedAt), UpdatedAt: int64(o.UpdatedAt), FilledAt: int64(o.FilledAt),
	}
}

// OrderFromProto converts and checks an order of a run over these symbols.
func OrderFromProto(p *strategypb.OrderUpdate, symbols []market.Symbol) (market.Order, error) {
	r := reader{symbols: symbols}
	o := market.Order{
		ID: market.OrderID(p.GetOrderId()), ParentID: market.OrderID(p.GetParentId()),
		Ref:            r.text("client_ref", p.GetClientRef(), MaxTextBytes),
		Symbol:         r.symbol("symbol", p.GetSymbol()),
		Side:           readEnum(&r, "side", p.GetSide(), market.Sell),
		Type:           readEnum(&r, "type", p.GetType(), market.TrailingStop),
		Role:           readEnum(&r, "role", p.GetRole(), market.RoleLiquidation),
		TimeInForce:    readEnum(&r, "time_in_force", p.GetTimeInForce(), market.IOC),
		ReduceOnly:     p.GetReduceOnly(),
		Quantity:       r.decimal("quantity", p.GetQuantity()),
		FilledQuantity: r.decimal("filled_quantity", p.GetFilledQuantity()),
		LimitPrice:     r.decimal("limit_price", p.GetLimitPrice()),
		StopPrice:      r.decimal("stop_price", p.GetStopPrice()),
		AveragePrice:   r.decimal("average_price", p.GetAveragePrice()),
		Fee:            r.decimal("fee", p.GetFee()),
		Status:         readEnum(&r, "status", p.GetStatus(), market.StatusExpired),
		Reason:         market.Reason(r.text("reason", p.GetReason(), MaxTextBytes)),
		Tag:            r.text("tag", p.GetTag(), MaxTextBytes),
		CreatedAt:      market.Time(p.GetCreatedAt()), UpdatedAt: market.Time(p.GetUpdatedAt()),
		FilledAt: market.Time(p.GetFilledAt()),
	}
	return o, r.err
}

// FillToProto converts a fill of a run over these symbols.
func FillToProto(f *market.Fill, symbols []market.Symbol) *strategypb.Fill {
	return &strategypb.Fill{
		FillId: int64(f.ID), OrderId: int64(f.OrderID), Symbol: symbolIndex(symbols, f.Symbol),
		Side: uint32(f.Side), Role: uint32(f.Role), Quantity: formatDecimal(f.Quantity),
		Price: formatDecimal(f.Price), ReferencePrice: formatDecimal(f.ReferencePrice),
		Slippage: formatDecimal(f.Slippage), Fee: formatDecimal(f.Fee), Liquidity: uint32(f.Liquidity),
		Time: int64(f.Time), PositionAfter: formatDecimal(f.PositionAfter),
		RealizedPnl: formatDecimal(f.RealizedPnL), Ambiguous: f.Ambiguous, Tag: text(f.Tag),
	}
}

// FillFromProto converts and checks a fill of a run over these symbols.
func FillFromProto(p *strategypb.Fill, symbols []market.Symbol) (market.Fill, error) {
	r := reader{symbols: symbols}
	f := market.Fill{
		ID: market.FillID(p.GetFillId()), OrderID: market.OrderID(p.GetOrderId()),
		Symbol:         r.symbol("symbol", p.GetSymbol()),
		Side:           readEnum(&r, "side", p.GetSide(), market.Sell),
		Role:           readEnum(&r, "role", p.GetRole(), market.RoleLiquidation),
		Quantity:       r.decimal("quantity", p.GetQuantity()),
		Price:          r.decimal("price", p.GetPrice()),
		ReferencePrice: r.decimal("reference_price", p.GetReferencePrice()),
		Slippage:       r.decimal("slippage", p.GetSlippage()),
		Fee:            r.decimal("fee", p.GetFee()),
		Liquidity:      readEnum(&r, "liquidity", p.GetLiquidity(), market.Maker),
		Time:           market.Time(p.GetTime()),
		PositionAfter:  r.decimal("position_after", p.GetPositionAfter()),
		RealizedPnL:    r.decimal("realized_pnl", p.GetRealizedPnl()),
		Ambiguous:      p.GetAmbiguous(),
		Tag:            r.text("tag", p.GetTag(), MaxTextBytes),
	}
	return f, r.err
}
