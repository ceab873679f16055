package wire

import (
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// OrderToProto converts an order of a run over these symbols.
func OrderToProto(o *market.Order, symbols []market.Symbol) *strategypb.OrderUpdate {
	c, p := codec{symbols: symbols}, &strategypb.OrderUpdate{}
	c.order(o, p)
	return p
}

// OrderFromProto converts and checks an order of a run over these symbols.
func OrderFromProto(p *strategypb.OrderUpdate, symbols []market.Symbol) (o market.Order, err error) {
	c := codec{symbols: symbols, read: true}
	c.order(&o, orNew(p))
	return o, c.err
}

// order carries all but the ExchangeID, which strategies are not told.
func (c *codec) order(o *market.Order, p *strategypb.OrderUpdate) {
	carryWhole(c, &o.ID, &p.OrderId)
	carryWhole(c, &o.ParentID, &p.ParentId)
	carryText(c, "client_ref", &o.Ref, &p.ClientRef, MaxTextBytes)
	c.symbol("symbol", &o.Symbol, &p.Symbol)
	carryEnum(c, "side", &o.Side, &p.Side, market.Sell)
	carryEnum(c, "type", &o.Type, &p.Type, market.TrailingStop)
	carryEnum(c, "role", &o.Role, &p.Role, market.RoleLiquidation)
	carryEnum(c, "time_in_force", &o.TimeInForce, &p.TimeInForce, market.IOC)
	carry(c, &o.ReduceOnly, &p.ReduceOnly)
	c.amount("quantity", &o.Quantity, &p.Quantity)
	c.amount("filled_quantity", &o.FilledQuantity, &p.FilledQuantity)
	c.price("limit_price", &o.LimitPrice, &p.LimitPrice)
	c.price("stop_price", &o.StopPrice, &p.StopPrice)
	c.price("average_price", &o.AveragePrice, &p.AveragePrice)
	c.amount("fee", &o.Fee, &p.Fee)
	carryEnum(c, "status", &o.Status, &p.Status, market.StatusExpired)
	carryText(c, "reason", &o.Reason, &p.Reason, MaxTextBytes)
	carry(c, &o.Clamped, &p.Clamped)
	carryText(c, "tag", &o.Tag, &p.Tag, MaxTextBytes)
	carryWhole(c, &o.CreatedAt, &p.CreatedAt)
	carryWhole(c, &o.UpdatedAt, &p.UpdatedAt)
	carryWhole(c, &o.FilledAt, &p.FilledAt)
}

// FillToProto converts a fill of a run over these symbols.
func FillToProto(f *market.Fill, symbols []market.Symbol) *strategypb.Fill {
	c, p := codec{symbols: symbols}, &strategypb.Fill{}
	c.fill(f, p)
	return p
}

// FillFromProto converts and checks a fill of a run over these symbols.
func FillFromProto(p *strategypb.Fill, symbols []market.Symbol) (f market.Fill, err error) {
	c := codec{symbols: symbols, read: true}
	c.fill(&f, orNew(p))
	return f, c.err
}

func (c *codec) fill(f *market.Fill, p *strategypb.Fill) {
	carryWhole(c, &f.ID, &p.FillId)
	carryWhole(c, &f.OrderID, &p.OrderId)
	c.symbol("symbol", &f.Symbol, &p.Symbol)
	carryEnum(c, "side", &f.Side, &p.Side, market.Sell)
	carryEnum(c, "role", &f.Role, &p.Role, market.RoleLiquidation)
	c.amount("quantity", &f.Quantity, &p.Quantity)
	c.amount("price", &f.Price, &p.Price)
	c.amount("reference_price", &f.ReferencePrice, &p.ReferencePrice)
	c.amount("slippage", &f.Slippage, &p.Slippage)
	c.amount("fee", &f.Fee, &p.Fee)
	carryEnum(c, "liquidity", &f.Liquidity, &p.Liquidity, market.Maker)
	carryWhole(c, &f.Time, &p.Time)
	c.amount("position_after", &f.PositionAfter, &p.PositionAfter)
	c.amount("realized_pnl", &f.RealizedPnL, &p.RealizedPnl)
	carry(c, &f.Ambiguous, &p.Ambiguous)
	carryText(c, "tag", &f.Tag, &p.Tag, MaxTextBytes)
}

// IntentToProto converts an intent of a run over these symbols.
func IntentToProto(in *market.Intent, symbols []market.Symbol) *strategypb.Intent {
	c, p := codec{symbols: symbols}, &strategypb.Intent{Action: strategypb.Action(in.Action)}
	if in.Action == market.CancelAll {
		p.Action = strategypb.Action_ACTION_CANCEL // without a ref
	}
	c.intent(in, p)
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
	case market.SizeEquityFraction:
		p.Size = &strategypb.Intent_EquityFraction{EquityFraction: formatNumber(in.Size.Value)}
	case market.SizeRiskFraction:
		p.Size = &strategypb.Intent_RiskFraction{RiskFraction: formatNumber(in.Size.Value)}
	case market.SizeTargetFraction:
		p.Size = &strategypb.Intent_TargetFraction{TargetFraction: formatNumber(in.Size.Value)}
	default:
		p.Size = &strategypb.Intent_Quantity{Quantity: in.Size.Kind.String()}
	}
	return p
}

// IntentFromProto converts and checks an intent of a run over these symbols.
func IntentFromProto(p *strategypb.Intent, symbols []market.Symbol) (market.Intent, error) {
	p = orNew(p)
	if p.Action < 0 || p.Action > strategypb.Action_ACTION_SET_LEG {
		return market.Intent{}, wrong("action", "%d is not known", p.Action)
	}
	if n := p.ExpireAfter; int64(int(n)) != n {
		return market.Intent{}, wrong("expire_after", "%d is too large", n)
	}
	in := market.Intent{Action: market.Action(p.Action)}
	if p.Action == strategypb.Action_ACTION_CANCEL && p.Ref == "" {
		in.Action = market.CancelAll
	}
	c := codec{symbols: symbols, read: true}
	c.intent(&in, p)
	switch s := p.Size.(type) {
	case *strategypb.Intent_Quantity:
		in.Size.Kind = market.SizeQuantity
		c.number("quantity", &in.Size.Value, &s.Quantity)
	case *strategypb.Intent_QuoteAmount:
		in.Size.Kind = market.SizeQuoteAmount
		c.number("quote_amount", &in.Size.Value, &s.QuoteAmount)
	case *strategypb.Intent_CashFraction:
		in.Size.Kind = market.SizeCashFraction
		c.number("cash_fraction", &in.Size.Value, &s.CashFraction)
	case *strategypb.Intent_EquityFraction:
		in.Size.Kind = market.SizeEquityFraction
		c.number("equity_fraction", &in.Size.Value, &s.EquityFraction)
	case *strategypb.Intent_RiskFraction:
		in.Size.Kind = market.SizeRiskFraction
		c.number("risk_fraction", &in.Size.Value, &s.RiskFraction)
	case *strategypb.Intent_TargetFraction:
		in.Size.Kind = market.SizeTargetFraction
		c.number("target_fraction", &in.Size.Value, &s.TargetFraction)
	default: // an order without a size that is reduce-only is for the whole position
		if p.Action == strategypb.Action_ACTION_SUBMIT && p.ReduceOnly {
			in.Size.Kind = market.SizePosition
		}
	}
	return in, c.err
}

// intent carries all but action and size.
func (c *codec) intent(in *market.Intent, p *strategypb.Intent) {
	c.symbol("symbol", &in.Symbol, &p.Symbol)
	carryEnum(c, "side", &in.Side, &p.Side, market.Sell)
	carryEnum(c, "type", &in.Type, &p.Type, market.TrailingStop)
	c.optional("limit_price", &in.LimitPrice, &p.LimitPrice)
	c.optional("stop_price", &in.StopPrice, &p.StopPrice)
	c.optional("trail_percent", &in.TrailPercent, &p.TrailPercent)
	c.optional("trail_amount", &in.TrailAmount, &p.TrailAmount)
	carryEnum(c, "time_in_force", &in.TimeInForce, &p.TimeInForce, market.IOC)
	carryWhole(c, &in.ExpireAfter, &p.ExpireAfter)
	carry(c, &in.ReduceOnly, &p.ReduceOnly)
	carry(c, &in.PostOnly, &p.PostOnly)
	c.child("stop_loss", &in.StopLoss, &p.StopLoss)
	c.child("take_profit", &in.TakeProfit, &p.TakeProfit)
	c.targets(in, p)
	carryWhole(c, &in.OCO, &p.Oco)
	c.guard(in, p)
	carryText(c, "tag", &in.Tag, &p.Tag, MaxTextBytes)
	carryText(c, "client_ref", &in.ClientRef, &p.ClientRef, MaxTextBytes)
	carryText(c, "ref", &in.Ref, &p.Ref, MaxTextBytes)
}

// guard carries the condition of an intent.
func (c *codec) guard(in *market.Intent, p *strategypb.Intent) {
	switch {
	case c.read && p.Guard == nil || !c.read && in.Guard == nil:
		return
	case c.read:
		in.Guard = &market.Guard{}
	default:
		p.Guard = &strategypb.Guard{}
	}
	carryEnum(c, "guard.position", &in.Guard.Position, &p.Guard.Position, market.StanceAny)
	carry(c, &in.Guard.EntryWorking, &p.Guard.EntryWorking)
	carryWhole(c, &in.Guard.MaxEntries, &p.Guard.MaxEntries)
	carryWhole(c, &in.Guard.MaxOpen, &p.Guard.MaxOpen)
	if c.read && !in.Guard.IsValid() {
		c.wrong("guard", "a limit is below 0")
	}
}

// targets carries the take profits of shares, no more of them than an entry may have.
func (c *codec) targets(in *market.Intent, p *strategypb.Intent) {
	if !c.read {
		for range in.Targets {
			p.Targets = append(p.Targets, &strategypb.TakeProfit{})
		}
	} else if c.count("targets", "targets", len(p.Targets), market.MaxTargets); c.err == nil {
		in.Targets = slices.Grow(in.Targets, len(p.Targets))[:len(p.Targets)]
	}
	for i := range in.Targets {
		t, m := &in.Targets[i], orNew(p.Targets[i])
		level := &t.Level
		if c.child(at("targets", i), &level, &m.Level); level != nil {
			t.Level = *level
		}
		c.optional(at("targets", i)+".share", &t.Share, &m.Share)
	}
}

func (c *codec) child(field string, v **market.Child, p **strategypb.Child) {
	if c.read && *p == nil || !c.read && *v == nil {
		return
	}
	if c.read {
		*v = &market.Child{}
	} else {
		*p = &strategypb.Child{}
	}
	c.optional(field+".price", &(*v).Price, &(*p).Price)
	c.optional(field+".percent", &(*v).Percent, &(*p).Percent)
	c.optional(field+".trail_percent", &(*v).TrailPercent, &(*p).TrailPercent)
	c.optional(field+".trail_amount", &(*v).TrailAmount, &(*p).TrailAmount)
	c.optional(field+".tighten_to", &(*v).TightenTo, &(*p).TightenTo)
	c.optional(field+".tighten_after", &(*v).TightenAfter, &(*p).TightenAfter)
}
