package engine

import (
	"encoding/json"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// storedMarkets is the column markets of a run. Version 1 was a bare list with the names of Go fields.
type storedMarkets struct {
	Version int               `json:"v"`
	Markets []exchange.Market `json:"markets"`
}

// EncodeMarkets is the rules of the symbols as the journal keeps them.
func EncodeMarkets(list []exchange.Market) (json.RawMessage, error) {
	return json.Marshal(storedMarkets{journal.Version, list})
}

// DecodeMarkets reads what this or an earlier version wrote; nothing from nothing.
func DecodeMarkets(text json.RawMessage) ([]exchange.Market, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if text[0] == '[' {
		var old []marketV1
		err := json.Unmarshal(text, &old)
		list := make([]exchange.Market, len(old))
		for i, m := range old {
			list[i] = m.market()
		}
		return list, err
	}
	var stored storedMarkets
	err := json.Unmarshal(text, &stored)
	if err == nil && stored.Version != journal.Version {
		err = fmt.Errorf("version %d, want 1 or %d", stored.Version, journal.Version)
	}
	return stored.Markets, err
}

// marketV1 has the names that version 1 stored.
type marketV1 struct {
	Symbol             market.Symbol   `json:"Symbol"`
	Trading            bool            `json:"Trading"`
	Status             string          `json:"Status"`
	PriceTick          decimal.Decimal `json:"PriceTick"`
	QuantityStep       decimal.Decimal `json:"QuantityStep"`
	MinQuantity        decimal.Decimal `json:"MinQuantity"`
	MaxQuantity        decimal.Decimal `json:"MaxQuantity"`
	MarketMinQuantity  decimal.Decimal `json:"MarketMinQuantity"`
	MarketMaxQuantity  decimal.Decimal `json:"MarketMaxQuantity"`
	MarketQuantityStep decimal.Decimal `json:"MarketQuantityStep"`
	MinNotional        decimal.Decimal `json:"MinNotional"`
	MaxNotional        decimal.Decimal `json:"MaxNotional"`
	PercentPriceUp     decimal.Decimal `json:"PercentPriceUp"`
	PercentPriceDown   decimal.Decimal `json:"PercentPriceDown"`
	MakerFee           decimal.Decimal `json:"MakerFee"`
	TakerFee           decimal.Decimal `json:"TakerFee"`
}

func (m marketV1) market() exchange.Market {
	return exchange.Market{
		Symbol: m.Symbol, Trading: m.Trading, Status: m.Status, PriceTick: m.PriceTick, QuantityStep: m.QuantityStep, MinQuantity: m.MinQuantity,
		MaxQuantity: m.MaxQuantity, MarketMinQuantity: m.MarketMinQuantity, MarketMaxQuantity: m.MarketMaxQuantity,
		MarketQuantityStep: m.MarketQuantityStep, MinNotional: m.MinNotional, MaxNotional: m.MaxNotional, PercentPriceUp: m.PercentPriceUp,
		PercentPriceDown: m.PercentPriceDown, MakerFee: m.MakerFee, TakerFee: m.TakerFee,
	}
}

// decodeOrders reads an entry of kind LogOrders.
func decodeOrders(e journal.Entry) ([]market.Order, error) {
	raw, _ := e.Data.(json.RawMessage)
	if e.Version == 1 {
		var body struct {
			Orders []orderV1 `json:"orders"`
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, err
		}
		list := make([]market.Order, len(body.Orders))
		for i := range body.Orders {
			if err := body.Orders[i].into(&list[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	var body struct {
		Orders []market.Order `json:"orders"`
	}
	err := json.Unmarshal(raw, &body)
	return body.Orders, err
}

// orderV1 has the names that version 1 stored, and the numbers that it stored enumerations as.
type orderV1 struct {
	ID             int64           `json:"ID"`
	ParentID       int64           `json:"ParentID"`
	Ref            string          `json:"Ref"`
	Symbol         market.Symbol   `json:"Symbol"`
	Side           uint8           `json:"Side"`
	Type           uint8           `json:"Type"`
	Role           uint8           `json:"Role"`
	TimeInForce    uint8           `json:"TimeInForce"`
	ReduceOnly     bool            `json:"ReduceOnly"`
	Quantity       decimal.Decimal `json:"Quantity"`
	FilledQuantity decimal.Decimal `json:"FilledQuantity"`
	LimitPrice     decimal.Decimal `json:"LimitPrice"`
	StopPrice      decimal.Decimal `json:"StopPrice"`
	AveragePrice   decimal.Decimal `json:"AveragePrice"`
	Fee            decimal.Decimal `json:"Fee"`
	Status         uint8           `json:"Status"`
	Reason         string          `json:"Reason"`
	Tag            string          `json:"Tag"`
	ExchangeID     string          `json:"ExchangeID"`
	CreatedAt      market.Time     `json:"CreatedAt"`
	UpdatedAt      market.Time     `json:"UpdatedAt"`
	FilledAt       market.Time     `json:"FilledAt"`
}

// The enumerations in the order of version 1.
var (
	sidesV1  = []market.Side{market.Buy, market.Sell}
	typesV1  = []market.OrderType{market.Market, market.Limit, market.Stop, market.StopLimit, market.TrailingStop}
	forcesV1 = []market.TimeInForce{market.GTC, market.GTD, market.IOC}
	rolesV1  = []market.Role{
		market.RoleEntry, market.RoleExit, market.RoleStopLoss, market.RoleTakeProfit, market.RoleEndOfData, market.RoleLiquidation,
	}
	statusesV1 = []market.OrderStatus{
		market.StatusNew, market.StatusOpen, market.StatusPartiallyFilled, market.StatusFilled, market.StatusCanceled,
		market.StatusRejected, market.StatusExpired,
	}
)

func (o *orderV1) into(to *market.Order) error {
	if int(o.Side) >= len(sidesV1) || int(o.Type) >= len(typesV1) || int(o.TimeInForce) >= len(forcesV1) ||
		int(o.Role) >= len(rolesV1) || int(o.Status) >= len(statusesV1) {
		return fmt.Errorf("order %d has a side, type, time in force, role or status that version 1 does not know", o.ID)
	}
	*to = market.Order{
		ID: market.OrderID(o.ID), ParentID: market.OrderID(o.ParentID), Ref: o.Ref, Symbol: o.Symbol, Side: sidesV1[o.Side],
		Type: typesV1[o.Type], Role: rolesV1[o.Role], TimeInForce: forcesV1[o.TimeInForce], ReduceOnly: o.ReduceOnly,
		Quantity: o.Quantity, FilledQuantity: o.FilledQuantity, LimitPrice: o.LimitPrice, StopPrice: o.StopPrice,
		AveragePrice: o.AveragePrice, Fee: o.Fee, Status: statusesV1[o.Status], Reason: market.Reason(o.Reason), Tag: o.Tag,
		ExchangeID: o.ExchangeID, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, FilledAt: o.FilledAt,
	}
	return nil
}
