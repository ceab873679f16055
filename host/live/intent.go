package live

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// intentText is a strategy's intent as the journal keeps it: names for enumerations,
// what is absent left out. encoding/json writes a float64 so that it reads back equal.
type intentText struct {
	Action      string     `json:"action"`
	Symbol      string     `json:"symbol,omitempty"`
	Side        string     `json:"side,omitempty"`
	Type        string     `json:"type,omitempty"`
	SizeKind    string     `json:"size_kind,omitempty"`
	Size        float64    `json:"size,omitempty"`
	LimitPrice  float64    `json:"limit_price,omitempty"`
	StopPrice   float64    `json:"stop_price,omitempty"`
	Trail       float64    `json:"trail_percent,omitempty"`
	TrailAmount float64    `json:"trail_amount,omitempty"`
	TimeInForce string     `json:"time_in_force,omitempty"`
	ExpireAfter int        `json:"expire_after,omitempty"`
	ReduceOnly  bool       `json:"reduce_only,omitempty"`
	StopLoss    *childText `json:"stop_loss,omitempty"`
	TakeProfit  *childText `json:"take_profit,omitempty"`
	Tag         string     `json:"tag,omitempty"`
	ClientRef   string     `json:"client_ref,omitempty"`
	Ref         string     `json:"ref,omitempty"`
}

type childText struct {
	Price       float64 `json:"price,omitempty"`
	Percent     float64 `json:"percent,omitempty"`
	Trail       float64 `json:"trail_percent,omitempty"`
	TrailAmount float64 `json:"trail_amount,omitempty"`
}

// sizeKinds are the kinds by name, in the order of market.SizeKind.
func sizeKinds() []market.SizeKind {
	return []market.SizeKind{market.SizeNone, market.SizeQuantity, market.SizeQuoteAmount, market.SizeCashFraction}
}

func toText(in *market.Intent) intentText {
	t := intentText{
		Action: in.Action.String(), Symbol: string(in.Symbol), Side: in.Side.String(), Type: in.Type.String(),
		SizeKind: in.Size.Kind.String(), Size: in.Size.Value, LimitPrice: in.LimitPrice, StopPrice: in.StopPrice,
		Trail: in.TrailPercent, TrailAmount: in.TrailAmount, TimeInForce: in.TimeInForce.String(), ExpireAfter: in.ExpireAfter,
		ReduceOnly: in.ReduceOnly, Tag: in.Tag, ClientRef: in.ClientRef, Ref: in.Ref,
	}
	child := func(c *market.Child) *childText {
		if c == nil {
			return nil
		}
		return &childText{Price: c.Price, Percent: c.Percent, Trail: c.TrailPercent, TrailAmount: c.TrailAmount}
	}
	t.StopLoss, t.TakeProfit = child(in.StopLoss), child(in.TakeProfit)
	return t
}

// fromText reads what toText wrote; an error names the field.
func fromText(text []byte) (market.Intent, error) {
	var t intentText
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return market.Intent{}, fmt.Errorf("an intent of the journal: %w", err)
	}
	in := market.Intent{
		Symbol: market.Symbol(t.Symbol), Size: market.Size{Value: t.Size}, LimitPrice: t.LimitPrice, StopPrice: t.StopPrice,
		TrailPercent: t.Trail, TrailAmount: t.TrailAmount, ExpireAfter: t.ExpireAfter, ReduceOnly: t.ReduceOnly,
		Tag: t.Tag, ClientRef: t.ClientRef, Ref: t.Ref,
	}
	var errs [5]error
	in.Action, errs[0] = market.ParseAction(t.Action)
	in.Side, errs[1] = market.ParseSide(t.Side)
	in.Type, errs[2] = market.ParseOrderType(t.Type)
	in.TimeInForce, errs[3] = market.ParseTimeInForce(t.TimeInForce)
	errs[4] = fmt.Errorf("size_kind %q is none", t.SizeKind)
	for _, k := range sizeKinds() {
		if k.String() == t.SizeKind {
			in.Size.Kind, errs[4] = k, nil
		}
	}
	for _, err := range errs {
		if err != nil {
			return market.Intent{}, fmt.Errorf("an intent of the journal: %w", err)
		}
	}
	child := func(c *childText) *market.Child {
		if c == nil {
			return nil
		}
		return &market.Child{Price: c.Price, Percent: c.Percent, TrailPercent: c.Trail, TrailAmount: c.TrailAmount}
	}
	in.StopLoss, in.TakeProfit = child(t.StopLoss), child(t.TakeProfit)
	return in, nil
}
