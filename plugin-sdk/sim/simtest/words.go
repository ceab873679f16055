package simtest

import (
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// words reads the rest of a script line from the left.
type words struct {
	p    *player
	list []string
}

func (w *words) next() string {
	if len(w.list) == 0 {
		w.p.fail("a word is missing")
	}
	s := w.list[0]
	w.list = w.list[1:]
	return s
}

func (w *words) skip(word string) bool {
	if len(w.list) > 0 && w.list[0] == word {
		w.list = w.list[1:]
		return true
	}
	return false
}

func (w *words) number() float64 {
	x, err := strconv.ParseFloat(w.next(), 64)
	if err != nil {
		w.p.fail("%v", err)
	}
	return x
}

func (w *words) times() int {
	if len(w.list) == 0 {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(w.next(), "x"))
	if err != nil {
		w.p.fail("%v", err)
	}
	return n
}

func (w *words) price() float64 {
	if x := w.number(); !w.p.flip || x <= 0 {
		return x
	} else {
		return 2*w.p.s.Center - x
	}
}

func (w *words) decimal() decimal.Decimal {
	d, err := decimal.Parse(w.next())
	if err != nil {
		w.p.fail("%v", err)
	}
	return d
}

// exactPrice is a price in an expectation.
func (w *words) exactPrice() decimal.Decimal {
	d := w.decimal()
	if w.p.flip {
		c, err := decimal.NewFromFloat64(2 * w.p.s.Center)
		if err != nil {
			w.p.fail("%v", err)
		}
		if d, err = c.Sub(d); err != nil {
			w.p.fail("%v", err)
		}
	}
	return d
}

func (w *words) candle() market.Candle {
	o, h, l, c := w.number(), w.number(), w.number(), w.number()
	return w.p.mirror(o, h, l, c)
}

func (w *words) side() market.Side {
	s, err := market.ParseSide(w.next())
	if err != nil {
		w.p.fail("%v", err)
	}
	if w.p.flip {
		s = s.Opposite()
	}
	return s
}

func (w *words) fraction() float64 {
	x, err := strconv.ParseFloat(strings.TrimSuffix(w.next(), "%"), 64)
	if err != nil {
		w.p.fail("%v", err)
	}
	return x / 100
}

func (w *words) level() *market.Child {
	c := w.place()
	if w.skip("tighten") {
		c.TightenTo = w.fraction()
		c.TightenAfter = w.fraction()
	}
	return c
}

// place is a level without what tightens it.
func (w *words) place() *market.Child {
	switch {
	case w.skip("trail"):
		return &market.Child{TrailPercent: w.fraction()}
	case w.skip("trail_amount"):
		return &market.Child{TrailAmount: w.number()}
	case len(w.list) > 0 && strings.HasSuffix(w.list[0], "%"):
		return &market.Child{Percent: w.fraction()}
	}
	return &market.Child{Price: w.price()}
}

// accept gives one intent, or the members of an OCO, to the engine.
func (p *player) accept(w *words) {
	p.engine()
	var list []market.Intent
	if !w.skip("oco") {
		list = append(list, p.intent(w))
	} else {
		for more := true; more; more = w.skip(";") {
			in := p.intent(w)
			in.OCO = len(list) + 1
			list = append(list, in)
		}
	}
	if err := p.e.Accept(list); err != nil {
		p.fail("%v", err)
	}
}

func (p *player) intent(w *words) (in market.Intent) {
	switch verb := w.next(); verb {
	case "close":
		in.Action = market.Close
	case "cancel":
		in.Action = market.CancelAll
		if !w.skip("all") {
			in.Action, in.Ref = market.Cancel, p.ref(w.next())
		}
	case "replace":
		in.Action, in.Ref = market.Replace, p.ref(w.next())
	case "move":
		in.Action = market.SetLeg
	case "target":
		in.Size = market.Size{Kind: market.SizeTargetFraction, Value: w.number()}
		if p.flip {
			in.Size.Value = -in.Size.Value
		}
	default:
		w.list = append([]string{verb}, w.list...)
		in.Side = w.side()
	}
	forced := ""
	for len(w.list) > 0 && w.list[0] != ";" {
		if word := w.next(); word == "type" {
			forced = w.next()
		} else {
			p.clause(word, w, &in)
		}
	}
	in.Type = typeOf(&in)
	if forced != "" {
		var err error
		if in.Type, err = market.ParseOrderType(forced); err != nil {
			p.fail("%v", err)
		}
	}
	return in
}

func typeOf(in *market.Intent) market.OrderType {
	switch {
	case in.TrailPercent != 0 || in.TrailAmount != 0:
		return market.TrailingStop
	case in.LimitPrice != 0 && in.StopPrice != 0:
		return market.StopLimit
	case in.LimitPrice != 0:
		return market.Limit
	case in.StopPrice != 0:
		return market.Stop
	}
	return market.Market
}

// ref translates a.sl, a.tp and a.tp2 into the id of the leg.
func (p *player) ref(name string) string {
	if strings.Contains(name, ".") {
		return p.find(name).String()
	}
	return name
}

func (p *player) clause(word string, w *words, in *market.Intent) {
	switch word {
	case "quantity":
		in.Size = market.Size{Kind: market.SizeQuantity, Value: w.number()}
	case "amount":
		in.Size = market.Size{Kind: market.SizeQuoteAmount, Value: w.number()}
	case "fraction":
		in.Size = market.Size{Kind: market.SizeCashFraction, Value: w.number()}
	case "all":
		in.Size = market.Size{Kind: market.SizeCashFraction, Value: 1}
	case "equity":
		in.Size = market.Size{Kind: market.SizeEquityFraction, Value: w.number()}
	case "risk":
		in.Size = market.Size{Kind: market.SizeRiskFraction, Value: w.number()}
	case "position":
		in.Size = market.Size{Kind: market.SizePosition}
	case "limit":
		in.LimitPrice = w.price()
	case "stop":
		in.StopPrice = w.price()
	case "trail":
		in.TrailPercent = w.fraction()
	case "trail_amount":
		in.TrailAmount = w.number()
	case "gtd":
		in.TimeInForce, in.ExpireAfter = market.GTD, int(w.number())
	case "expire":
		in.ExpireAfter = int(w.number())
	case "ioc":
		in.TimeInForce = market.IOC
	case "reduce_only":
		in.ReduceOnly = true
	case "post_only":
		in.PostOnly = true
	case "sl":
		in.StopLoss = w.level()
	case "tp":
		in.TakeProfit = w.level()
	case "part":
		share := w.number()
		in.Targets = append(in.Targets, market.TakeProfit{Share: share, Level: *w.level()})
	case "on":
		in.Symbol = market.Symbol(w.next())
	case "tag":
		in.Tag = w.next()
	case "ref":
		in.ClientRef = w.next()
	case "when", "entries", "open":
		if in.Guard == nil {
			in.Guard = &market.Guard{}
		}
		p.guard(word, w, in.Guard)
	default:
		p.fail("%q is not understood", word)
	}
}

// guard is a condition on an intent. The mirror of long is short.
func (p *player) guard(word string, w *words, g *market.Guard) {
	switch word {
	case "entries":
		g.MaxEntries = int(w.number())
	case "open":
		g.MaxOpen = int(w.number())
	default:
		for s := range strings.SplitSeq(w.next(), ",") {
			switch {
			case s == "any":
			case s == "working":
				g.EntryWorking = true
			case s == "flat":
				g.Position |= market.StanceFlat
			case s == "long" && !p.flip || s == "short" && p.flip:
				g.Position |= market.StanceLong
			case s == "long" || s == "short":
				g.Position |= market.StanceShort
			default:
				p.fail("%q is no position", s)
			}
		}
	}
}
