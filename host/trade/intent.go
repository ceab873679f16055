package live

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// decodeIntents reads what a strategy wanted at one step, as the journal of a paper run keeps it.
func decodeIntents(version int, text []byte) ([]market.Intent, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if version > 1 {
		var intents []market.Intent
		err := d.Decode(&intents)
		return intents, err
	}
	var old []intentV1
	if err := d.Decode(&old); err != nil {
		return nil, err
	}
	intents := make([]market.Intent, len(old))
	for i := range old {
		if err := old[i].into(&intents[i]); err != nil {
			return nil, fmt.Errorf("intent %d: %w", i, err)
		}
	}
	return intents, nil
}

// intentV1 is an intent as version 1 stored it. It had no size for the whole position and no word for the cancel of
// all orders.
type intentV1 struct {
	Action       string             `json:"action"`
	Symbol       market.Symbol      `json:"symbol"`
	Side         market.Side        `json:"side"`
	Type         market.OrderType   `json:"type"`
	SizeKind     string             `json:"size_kind"`
	Size         float64            `json:"size"`
	LimitPrice   float64            `json:"limit_price"`
	StopPrice    float64            `json:"stop_price"`
	TrailPercent float64            `json:"trail_percent"`
	TrailAmount  float64            `json:"trail_amount"`
	TimeInForce  market.TimeInForce `json:"time_in_force"`
	ExpireAfter  int                `json:"expire_after"`
	ReduceOnly   bool               `json:"reduce_only"`
	StopLoss     *market.Child      `json:"stop_loss"`
	TakeProfit   *market.Child      `json:"take_profit"`
	Tag          string             `json:"tag"`
	ClientRef    string             `json:"client_ref"`
	Ref          string             `json:"ref"`
}

func (t *intentV1) into(in *market.Intent) error {
	action, err := market.ParseAction(t.Action)
	if err != nil {
		return err
	}
	kind, err := market.ParseSizeKind(t.SizeKind)
	if err != nil {
		return err
	}
	switch {
	case action == market.Cancel && t.Ref == "":
		action = market.CancelAll
	case action == market.Submit && kind == market.SizeNone && t.ReduceOnly:
		kind = market.SizePosition
	}
	*in = market.Intent{
		Action: action, Symbol: t.Symbol, Side: t.Side, Type: t.Type, Size: market.Size{Kind: kind, Value: t.Size},
		LimitPrice: t.LimitPrice, StopPrice: t.StopPrice, TrailPercent: t.TrailPercent, TrailAmount: t.TrailAmount,
		TimeInForce: t.TimeInForce, ExpireAfter: t.ExpireAfter, ReduceOnly: t.ReduceOnly, StopLoss: t.StopLoss,
		TakeProfit: t.TakeProfit, Tag: t.Tag, ClientRef: t.ClientRef, Ref: t.Ref,
	}
	return nil
}
