package simtest

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// expect checks one event, in order, or a piece of state.
func (p *player) expect(what string, w *words) {
	switch what {
	case "fill":
		p.expectFill(w)
	case "rejected", "canceled", "expired":
		p.expectEnd(what, w)
	case "refused":
		if p.refused == len(p.rec.refuse) {
			p.fail("nothing was refused")
		}
		p.same("code", string(p.rec.refuse[p.refused]), w.next())
		p.refused++
	case "trade":
		p.expectTrade(w)
	default:
		p.expectState(what, w)
	}
}

func (p *player) expectState(what string, w *words) {
	switch what {
	case "cash":
		if want := w.decimal(); !p.flip {
			p.equal("cash", p.e.CashExact(), want)
		}
	case "equity":
		p.same("equity", p.e.Equity(), w.number())
	case "value":
		v, err := p.e.FinalValue()
		if err != nil {
			p.fail("%v", err)
		}
		p.equal("value", v, w.decimal())
	case "position":
		p.expectPosition(w)
	case "open", "new":
		var names []string
		for _, o := range p.e.OpenOrders() {
			if o.Status.String() == what {
				names = append(names, p.name(o.ID))
			}
		}
		p.same(what+" orders", strings.Join(names, " "), strings.Join(w.list, " "))
		w.list = nil
	case "level":
		p.expectLevel(w)
	case "points":
		p.same("equity points", len(p.rec.marks), int(w.number()))
	case "bankrupt":
		p.same("bankrupt", p.e.Bankrupt(), true)
	case "stats":
		p.expectStats(w)
	case "digest":
		sum := p.e.Digest()
		if want := w.next(); !p.flip {
			p.same("digest", hex.EncodeToString(sum[:]), want)
		}
	default:
		p.fail("unknown expectation")
	}
}

func (p *player) same(what string, got, want any) {
	if got != want {
		p.fail("%s is %v, want %v", what, got, want)
	}
}

func (p *player) equal(what string, got, want decimal.Decimal) {
	if got.Cmp(want) != 0 {
		p.fail("%s is %s, want %s", what, got.Trim(0), want)
	}
}

func (p *player) expectFill(w *words) {
	f, ok := p.nextFill()
	if o, ended := p.nextEnd(); !ok && ended {
		p.fail("no fill, but order %s was %s: %s", p.name(o.ID), o.Status, o.Reason)
	} else if !ok {
		p.fail("no fill")
	}
	p.fills++
	if strings.Contains(w.list[0], "/") {
		p.same("symbol", f.Symbol, market.Symbol(w.next()))
	}
	p.same("side", f.Side, w.side())
	p.equal("quantity", f.Quantity, w.decimal())
	if !w.skip("@") {
		p.fail("@ is missing")
	}
	p.equal("price", f.Price, w.exactPrice())
	ambiguous, clamped := false, false
	for len(w.list) > 0 {
		switch word := w.next(); word {
		case "clamped":
			clamped = true
		case "maker", "taker":
			p.same("liquidity", f.Liquidity.String(), word)
		case "ambiguous":
			ambiguous = true
		case "fee":
			p.equal("fee", f.Fee, w.decimal())
		case "slippage":
			p.equal("slippage", f.Slippage, w.decimal())
		case "time":
			p.same("hour of its candle", (int64(f.Time)-int64(Start))/3600_000, int64(w.number()))
		case "order":
			p.same("order", p.name(f.OrderID), w.next())
		default:
			p.same("role", f.Role.String(), word)
		}
	}
	p.same("ambiguous", f.Ambiguous, ambiguous)
	for _, o := range p.rec.orders {
		if o.ID == f.OrderID && o.Status == market.StatusFilled {
			p.same("clamped", o.Clamped, clamped)
		}
	}
}

func (p *player) expectEnd(status string, w *words) {
	o, ok := p.nextEnd()
	if !ok {
		p.fail("no order has ended that way")
	}
	p.orders++
	p.same("status of "+p.name(o.ID), o.Status.String(), status)
	p.same("order", p.name(o.ID), w.next())
	p.same("code", string(o.Reason), w.next())
}

func (p *player) expectTrade(w *words) {
	if p.trades == len(p.rec.trades) {
		p.fail("no trade")
	}
	t := p.rec.trades[p.trades]
	p.trades++
	direction := t.Direction
	if p.flip {
		direction = 1 - direction
	}
	p.same("direction", direction.String(), w.next())
	p.equal("quantity", t.Quantity, w.decimal())
	p.equal("entry price", t.EntryPrice, w.exactPrice())
	if !w.skip("->") {
		p.fail("-> is missing")
	}
	p.equal("exit price", t.ExitPrice, w.exactPrice())
	ambiguous := false
	for len(w.list) > 0 {
		switch word := w.next(); word {
		case "ambiguous":
			ambiguous = true
		case "held":
			p.same("candles held", t.CandlesHeld, int(w.number()))
		case "reason":
			p.same("reason", string(t.ExitReason), w.next())
		case "return":
			if want := w.number(); math.Abs(t.Return-want) > 1e-12 {
				p.fail("return is %v, want %v", t.Return, want)
			}
		case "tags":
			p.same("tags", t.EntryTag+","+t.ExitTag, w.next())
		case "orders":
			var names []string
			for _, id := range t.OrderIDs {
				names = append(names, p.name(id))
			}
			p.same("orders", strings.Join(names, ","), w.next())
		default:
			amounts := map[string]decimal.Decimal{
				"pnl": t.PnL, "gross": t.GrossPnL, "fees": t.Fees, "mae": t.MAE, "mfe": t.MFE,
				"slippage": t.Slippage,
			}
			got, ok := amounts[word]
			if !ok {
				p.fail("%q is not understood", word)
			}
			p.equal(word, got, w.decimal())
		}
	}
	p.same("ambiguous", t.Ambiguous, ambiguous)
}

func (p *player) expectPosition(w *words) {
	symbol := p.cfg.Symbols[0]
	if strings.Contains(w.list[0], "/") {
		symbol = market.Symbol(w.next())
	}
	all, err := p.e.Positions()
	if err != nil {
		p.fail("%v", err)
	}
	var have market.Position
	for _, x := range all {
		if x.Symbol == symbol {
			have = x
		}
	}
	want := w.decimal()
	if p.flip {
		want = want.Neg()
	}
	p.equal("position", have.Quantity, want)
	if w.skip("@") {
		p.equal("average entry price", have.AverageEntryPrice, w.exactPrice())
	}
}

// expectLevel compares the stop price of an open order, else its limit.
func (p *player) expectLevel(w *words) {
	id := p.find(w.next())
	for _, o := range p.e.OpenOrders() {
		if o.ID == id {
			level := o.StopPrice
			if level.IsZero() {
				level = o.LimitPrice
			}
			p.equal("level", level, w.exactPrice())
			return
		}
	}
	p.fail("the order is not open")
}

func (p *player) expectStats(w *words) {
	s := p.e.Stats()
	counts := map[string]int64{
		"orders": s.Orders, "fills": s.Fills, "trades": s.Trades, "rejected_orders": s.RejectedOrders,
		"rejected_intents": s.RejectedIntents, "ambiguous_fills": s.AmbiguousFills,
		"late_messages": s.LateMessages, "guarded": s.Guarded,
	}
	amounts := map[string]decimal.Decimal{"fees": s.Fees, "slippage": s.Slippage, "notional": s.Notional}
	for len(w.list) > 0 {
		key, value, _ := strings.Cut(w.next(), "=")
		if amount, ok := amounts[key]; ok {
			p.equal(key, amount, decimal.MustParse(value))
			continue
		}
		got, ok := counts[key]
		n, err := strconv.ParseInt(value, 10, 64)
		if !ok || err != nil {
			p.fail("unknown count %s", key)
		}
		p.same(key, fmt.Sprint(got), fmt.Sprint(n))
	}
}
