package engine

import (
	"fmt"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// alarms is what the engine has raised and must clear.
type alarms struct {
	limits LimitAlarms
	// orders changed and are to be looked at once the gate is free.
	orders []market.Order
	// lost are the orders of unknown fate.
	lost map[string]bool
}

// Alarms takes what is raised and cleared.
type Alarms interface {
	// Raise tells the operator that something holds or has happened, Clear that it holds no more.
	Raise(alarm.Occurrence)
	Clear(code, subject string)
}

// raise tells the operator of something that holds or has happened; there is one alarm a code and subject.
func (e *Engine) raise(code, subject, text string) {
	e.cfg.Host.Raise(alarm.Occurrence{Code: code, Subject: subject, Text: text})
}

// warn raises what there is one of in a run.
func (e *Engine) warn(code, text string) { e.raise(code, "", text) }

// clear tells that it holds no more.
func (e *Engine) clear(code, subject string) { e.cfg.Host.Clear(code, subject) }

// subjectOf is what an alarm of the desk's is about: a symbol, so that a thousand orders are not a thousand
// alarms.
func subjectOf(f order.Effect) string { return string(f.Symbol) }

// LimitAlarms are those of the limits of risk. Its zero value has raised nothing.
type LimitAlarms struct {
	// standing are the codes whose reason stands in the guard.
	standing map[risk.Code]bool
	// refused are the symbols of which the newest order was refused.
	refused map[market.Symbol]bool
}

// Raise raises what a limit said. A limit of the run has one alarm, which ends with its reason; one of single
// orders has one a symbol, which ends with the next order that passes.
func (l *LimitAlarms) Raise(to Alarms, g *risk.Guard, v risk.Verdict) {
	if l.standing == nil {
		l.standing, l.refused = map[risk.Code]bool{}, map[market.Symbol]bool{}
	}
	o := alarm.Occurrence{
		Code: string(v.Code), Subject: string(v.Symbol), Text: v.Message, Once: true, Shadow: v.Shadow || v.Passed,
	}
	switch {
	case g.Stands(v.Code):
		l.standing[v.Code] = true
		o.Subject = ""
	case v.Symbol != "":
		l.refused[v.Symbol] = true
	}
	to.Raise(o)
}

// Look clears the alarms of limits that do not hold the run back any more.
func (l *LimitAlarms) Look(to Alarms, g *risk.Guard) {
	for code := range l.standing {
		if !g.Stands(code) {
			delete(l.standing, code)
			to.Clear(string(code), "")
		}
	}
}

// Passed clears what is about refused orders of a symbol: the newest one was not.
func (l *LimitAlarms) Passed(to Alarms, s market.Symbol) {
	if !l.refused[s] {
		return
	}
	delete(l.refused, s)
	for _, code := range risk.OrderCodes() {
		to.Clear(string(code), string(s))
	}
}

// judgeOrders raises the orders that were rejected, but for those whose reason is an alarm itself.
func (e *Engine) judgeOrders() {
	list := e.alarms.orders
	e.alarms.orders = nil
	for i := range list {
		RaiseRejected(&list[i], e.cfg.Host)
	}
}

// RaiseRejected raises an order that was rejected; one that the market has clears that of its symbol.
func RaiseRejected(o *market.Order, to Alarms) {
	switch o.Status {
	case market.StatusRejected:
		if o.Reason == "warmup" || alarm.Known(string(o.Reason)) {
			return
		}
		to.Raise(alarm.Occurrence{
			Code: alarm.OrderRejected, Subject: string(o.Symbol), Once: true,
			Text: fmt.Sprintf("order %s, %s %s of %s, was rejected: %s", o.ID, o.Side, o.Type, o.Symbol, o.Reason),
		})
	case market.StatusOpen, market.StatusPartiallyFilled, market.StatusFilled:
		to.Clear(alarm.OrderRejected, string(o.Symbol))
	}
}

// fate raises an order of which nobody knows, and clears it once somebody does; so with the exits of a
// position.
func (e *Engine) fate(id string, s order.Status) {
	switch {
	case s.State == order.Lost:
		if e.alarms.lost == nil {
			e.alarms.lost = map[string]bool{}
		}
		e.alarms.lost[id] = true
		e.raise(order.CodeUnknownOrder, id, "the fate of order "+id+" is not known; it is asked for")
	case e.alarms.lost[id]:
		delete(e.alarms.lost, id)
		e.clear(order.CodeUnknownOrder, id)
		if s.Reason == order.CodeNeverReached {
			e.raise(order.CodeNeverReached, string(s.Spec.Symbol), "order "+id+" never reached the venue")
		}
	}
	if s.Spec.Exit && (s.State == order.Open || s.State == order.Partial || s.State == order.Filled) {
		e.clear(desk.CodeNotPlaced, string(s.Spec.Symbol))
	}
}

// marketStatus raises a symbol that stops trading, until it trades again.
func (e *Engine) marketStatus(before, now exchange.Market) {
	switch {
	case before.Trading && !now.Trading:
		e.raise(CodeMarketStatus, string(now.Symbol), fmt.Sprintf("%s is %s", now.Symbol, now.Status))
	case !before.Trading && now.Trading:
		e.clear(CodeMarketStatus, string(now.Symbol))
	}
}
