package decision

import (
	"hash"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// writer formats lines one after the other into a file and a hash.
type writer struct {
	split string
	seq   int64
	hash  hash.Hash
	spool spool
	buf   []byte
	err   error

	at     market.Time // of the newest line
	atText []byte
}

func (d *writer) begin() {
	d.buf = d.buf[:0]
	if d.seq > 0 {
		d.buf = append(d.buf, '\n')
	}
	d.buf = append(d.buf, '{')
}

func (d *writer) end() {
	d.buf = append(d.buf, '}')
	d.put(d.buf)
	d.seq++
}

func (d *writer) put(b []byte) {
	d.hash.Write(b)
	if err := d.spool.write(b); err != nil && d.err == nil {
		d.err = err
	}
}

func (d *writer) key(k string) {
	if d.buf[len(d.buf)-1] != '{' {
		d.buf = append(d.buf, ',')
	}
	d.buf = append(append(append(d.buf, '"'), k...), '"', ':')
}

func (d *writer) text(k, v string) {
	d.key(k)
	// Strings of this product are valid UTF-8: the wire refuses others.
	d.buf, _ = jsontext.AppendQuote(d.buf, v)
}

func (d *writer) number(k string, v float64) {
	if v == 0 {
		return
	}
	d.key(k)
	d.buf = append(d.buf, '"')
	format := byte('f')
	if a := math.Abs(v); a < 1e-6 || a >= 1e21 {
		format = 'g'
	}
	d.buf = append(strconv.AppendFloat(d.buf, v, format, -1, 64), '"')
}

func (d *writer) decimal(k string, v decimal.Decimal) {
	d.key(k)
	d.buf = append(d.buf, '"')
	d.buf, _ = v.Trim(0).AppendText(d.buf) // writing to memory cannot fail
	d.buf = append(d.buf, '"')
}

func (d *writer) optional(k string, v decimal.Decimal) {
	if !v.IsZero() {
		d.decimal(k, v)
	}
}

func (d *writer) flag(k string, v bool) {
	if v {
		d.key(k)
		d.buf = append(d.buf, "true"...)
	}
}

// moment writes a time; those of one step are formatted once.
func (d *writer) moment(at market.Time) {
	if at != d.at || len(d.atText) == 0 {
		d.at, d.atText = at, at.AppendFormat(d.atText[:0])
	}
	d.key("time")
	d.buf = append(append(append(d.buf, '"'), d.atText...), '"')
}

func (d *writer) integer(k string, v int64) {
	d.key(k)
	d.buf = strconv.AppendInt(d.buf, v, 10)
}

// sequence writes the number of the line.
func (d *writer) sequence() {
	d.integer("seq", d.seq)
}

func (d *writer) fill(step int64, at market.Time, f *market.Fill) {
	d.begin()
	d.flag("ambiguous", f.Ambiguous)
	d.integer("candle", step)
	d.decimal("fee", f.Fee)
	d.text("fill_id", f.ID.String())
	d.text("kind", "fill")
	d.text("liquidity", f.Liquidity.String())
	d.text("order_id", f.OrderID.String())
	d.decimal("price", f.Price)
	d.decimal("quantity", f.Quantity)
	d.text("role", f.Role.String())
	d.sequence()
	d.text("side", f.Side.String())
	d.decimal("slippage", f.Slippage)
	d.text("split", d.split)
	d.text("symbol", string(f.Symbol))
	d.moment(at)
	d.end()
}

func (d *writer) order(step int64, at market.Time, o *market.Order) {
	d.begin()
	d.integer("candle", step)
	d.text("kind", "order")
	d.optional("limit_price", o.LimitPrice)
	d.text("order_id", o.ID.String())
	if o.ParentID != 0 {
		d.text("parent_order_id", o.ParentID.String())
	}
	d.optional("quantity", o.Quantity)
	if o.Reason != "" {
		d.text("reason", string(o.Reason))
	}
	d.text("role", o.Role.String())
	d.sequence()
	d.text("side", o.Side.String())
	d.text("split", d.split)
	d.text("status", o.Status.String())
	d.optional("stop_price", o.StopPrice)
	d.text("symbol", string(o.Symbol))
	d.moment(at)
	d.text("type", o.Type.String())
	d.end()
}

func (d *writer) intent(step int64, at market.Time, in *market.Intent, reason market.Reason) {
	d.begin()
	action := in.Action
	if action == market.CancelAll {
		action = market.Cancel // its line has no ref
	}
	d.text("action", action.String())
	d.integer("candle", step)
	if in.Size.Kind == market.SizeCashFraction {
		d.number("cash_fraction", in.Size.Value)
	}
	if in.ClientRef != "" {
		d.text("client_ref", in.ClientRef)
	}
	if in.ExpireAfter != 0 {
		d.integer("expire_after", int64(in.ExpireAfter))
	}
	kind := "intent"
	if reason != "" {
		kind = "reject"
	}
	d.text("kind", kind)
	d.number("limit_price", in.LimitPrice)
	if in.Size.Kind == market.SizeQuantity {
		d.number("quantity", in.Size.Value)
	}
	if in.Size.Kind == market.SizeQuoteAmount {
		d.number("quote_amount", in.Size.Value)
	}
	if reason != "" {
		d.text("reason", string(reason))
	}
	d.flag("reduce_only", in.Reduces())
	if in.Ref != "" {
		d.text("ref", in.Ref)
	}
	d.sequence()
	submit := in.Action == market.Submit
	if submit {
		d.text("side", in.Side.String())
	}
	d.text("split", d.split)
	d.child("stop_loss", in.StopLoss)
	d.number("stop_price", in.StopPrice)
	if in.Symbol != "" {
		d.text("symbol", string(in.Symbol))
	}
	if in.Tag != "" {
		d.text("tag", in.Tag)
	}
	d.child("take_profit", in.TakeProfit)
	d.moment(at)
	if submit {
		d.text("time_in_force", in.TimeInForce.String())
	}
	d.number("trail_amount", in.TrailAmount)
	d.number("trail_percent", in.TrailPercent)
	if submit {
		d.text("type", in.Type.String())
	}
	d.end()
}

func (d *writer) child(k string, c *market.Child) {
	if c == nil {
		return
	}
	d.key(k)
	d.buf = append(d.buf, '{')
	d.number("percent", c.Percent)
	d.number("price", c.Price)
	d.number("trail_amount", c.TrailAmount)
	d.number("trail_percent", c.TrailPercent)
	d.buf = append(d.buf, '}')
}
