package simtest

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Start is the open of the first candle of every scenario: 2024-01-01.
const Start = market.Time(1704067200000)

// player runs one scenario.
type player struct {
	s       *Scenario
	open    New
	line    line
	flip    bool
	cfg     sim.Config
	options []string
	profile string
	e       Engine
	rec     *record
	hour    int64
	fills   int // seen
	orders  int
	trades  int
	refused int
	names   map[market.OrderID]string
}

// run plays the scenario to its end.
func (p *player) run() {
	p.cfg = sim.Config{
		Symbols: []market.Symbol{"BTC/USD"}, Timeframe: market.MustTimeframe("1h"),
		InitialCash: decimal.MustNew(10000, 0),
	}
	for _, p.line = range p.s.lines {
		p.statement(p.line.words[0], &words{p: p, list: p.line.words[1:]})
	}
	p.nothingLeft()
	p.engine()
}

// digest is the start of the digest of the ledger.
func (p *player) digest() string {
	sum := p.e.Digest()
	return hex.EncodeToString(sum[:8])
}

// failure is a line that does not hold, on its way out of a player.
type failure struct{ error }

func (p *player) fail(format string, args ...any) {
	panic(failure{fmt.Errorf("%s:%d: %s: %s", p.s.file, p.line.number, strings.Join(p.line.words, " "),
		fmt.Sprintf(format, args...))})
}

func (p *player) statement(verb string, w *words) {
	switch verb {
	case "candle":
		p.step(map[market.Symbol]market.Candle{p.cfg.Symbols[0]: w.candle()})
	case "flat":
		price := w.number()
		for range w.times() {
			p.step(map[market.Symbol]market.Candle{p.cfg.Symbols[0]: p.mirror(price, price, price, price)})
		}
	case "step":
		candles := map[market.Symbol]market.Candle{}
		for more := true; more; more = w.skip(";") {
			s := market.Symbol(w.next())
			candles[s] = w.candle()
		}
		p.step(candles)
	case "gap":
		p.hour += int64(w.times())
	case "end":
		p.nothingLeft()
		p.engine()
		if err := p.e.Finish(); err != nil {
			p.fail("%v", err)
		}
	case "intent":
		p.accept(w)
	case "expect":
		p.expect(w.next(), w)
	default:
		p.configure(verb, w)
	}
	if len(w.list) > 0 {
		p.fail("%q is not understood", w.list)
	}
	if p.e != nil {
		if err := p.e.CheckBalance(); err != nil {
			p.fail("%v", err)
		}
	}
}

func (p *player) configure(verb string, w *words) {
	if p.e != nil {
		p.fail("must come before the first candle")
	}
	switch verb {
	case "profile":
		p.profile = w.next()
	case "options":
		p.options, w.list = append(p.options, w.list...), nil
	case "cash":
		p.cfg.InitialCash = decimal.MustParse(w.next())
	case "symbols":
		p.cfg.Symbols = nil
		for len(w.list) > 0 {
			p.cfg.Symbols = append(p.cfg.Symbols, market.Symbol(w.next()))
		}
	case "tick":
		for len(w.list) > 0 {
			p.cfg.PriceSteps = append(p.cfg.PriceSteps, decimal.MustParse(w.next()))
		}
	case "warmup":
		p.cfg.WarmupSteps = int64(w.number())
		p.cfg.WindowStep = p.cfg.WarmupSteps
	case "delay":
		p.cfg.DelayCandles = int(w.number())
	case "worst_price":
		p.cfg.WorstPrice = true
	default:
		p.fail("unknown statement")
	}
}

// engine makes the engine when the first candle comes.
func (p *player) engine() {
	if p.e != nil {
		return
	}
	fields := []string{}
	if p.profile != "" {
		fields = append(fields, fmt.Sprintf(`"profile":%q`, p.profile))
	}
	given := strings.Join(p.options, " ")
	for _, zero := range []string{"slippage_bps", "fee_maker", "fee_taker"} {
		if !strings.Contains(given, zero+"=") {
			fields = append(fields, fmt.Sprintf("%q:0", zero))
		}
	}
	if p.flip {
		fields = append(fields, `"allow_short":true`)
	}
	for _, o := range p.options {
		key, value, _ := strings.Cut(o, "=")
		if _, err := strconv.ParseFloat(value, 64); err != nil && value != "true" && value != "false" {
			value = strconv.Quote(value)
		}
		fields = append(fields, fmt.Sprintf("%q:%s", key, value))
	}
	var err error
	if p.cfg.Options,
		err = sim.ResolveOptions([]byte("{"+strings.Join(fields, ",")+"}"), sim.DefaultFees()); err != nil {
		p.fail("%v", err)
	}
	if p.e, err = p.open(p.cfg, p.rec); err != nil {
		p.fail("%v", err)
	}
}

func (p *player) step(candles map[market.Symbol]market.Candle) {
	p.nothingLeft()
	p.engine()
	open := Start + market.Time(p.hour*3600_000)
	p.hour++
	b := sim.Batch{
		CloseTime: open + 3600_000, Candles: make([]market.Candle, len(p.cfg.Symbols)),
		Closed: make([]bool, len(p.cfg.Symbols)),
	}
	for i, s := range p.cfg.Symbols {
		if c, ok := candles[s]; ok {
			c.OpenTime, c.CloseTime = open, b.CloseTime
			b.Candles[i], b.Closed[i] = c, true
			delete(candles, s)
		}
	}
	if len(candles) > 0 {
		p.fail("unknown symbol")
	}
	if err := p.e.Match(&b); err != nil {
		p.fail("%v", err)
	}
}

// mirror turns a candle upside down where the scenario is.
func (p *player) mirror(o, h, l, c float64) market.Candle {
	if p.flip {
		m := 2 * p.s.Center
		o, h, l, c = m-o, m-l, m-h, m-c
	}
	return market.Candle{Open: o, High: h, Low: l, Close: c, Volume: 1}
}

// nothingLeft fails when something happened that no line expected.
func (p *player) nothingLeft() {
	if f, ok := p.nextFill(); ok {
		p.fail("before it, an unexpected fill: %s %s @ %s %s %s (order %s)", f.Side, f.Quantity.Trim(0),
			f.Price.Trim(0), f.Liquidity, f.Role, p.name(f.OrderID))
	}
	if o, ok := p.nextEnd(); ok {
		p.fail("before it, unexpected: order %s %s %s", p.name(o.ID), o.Status, o.Reason)
	}
	if p.refused < len(p.rec.refuse) {
		p.fail("before it, an unexpected refusal %s", p.rec.refuse[p.refused])
	}
}

func (p *player) nextFill() (market.Fill, bool) {
	if p.fills == len(p.rec.fills) {
		return market.Fill{}, false
	}
	return p.rec.fills[p.fills], true
}

// nextEnd is the next order that was rejected, canceled or expired. It names orders on the way.
func (p *player) nextEnd() (market.Order, bool) {
	for ; p.orders < len(p.rec.orders); p.orders++ {
		if o := p.rec.orders[p.orders]; o.Status.Final() && o.Status != market.StatusFilled {
			return o, true
		}
	}
	return market.Order{}, false
}

// name is how scripts call an order.
func (p *player) name(id market.OrderID) string {
	targets := map[market.OrderID][]market.OrderID{} // of each entry
	for _, o := range p.rec.orders {
		switch {
		case o.Ref != "":
			p.names[o.ID] = o.Ref
		case o.Role == market.RoleTakeProfit && !slices.Contains(targets[o.ParentID], o.ID):
			if targets[o.ParentID] = append(targets[o.ParentID], o.ID); len(targets[o.ParentID]) > 1 {
				p.names[o.ID] = fmt.Sprintf("%s.tp%d", p.names[o.ParentID], len(targets[o.ParentID]))
				break
			}
			p.names[o.ID] = p.names[o.ParentID] + ".tp"
		case o.Role == market.RoleStopLoss:
			p.names[o.ID] = p.names[o.ParentID] + ".sl"
		case o.Role == market.RoleTakeProfit:
		default:
			p.names[o.ID] = o.ID.String()
		}
	}
	return p.names[id]
}

// find is the id of the newest order of a name.
func (p *player) find(name string) market.OrderID {
	p.name(0)
	for i := len(p.rec.orders) - 1; i >= 0; i-- {
		if id := p.rec.orders[i].ID; p.names[id] == name || id.String() == name {
			return id
		}
	}
	p.fail("no order %s", name)
	return 0
}
