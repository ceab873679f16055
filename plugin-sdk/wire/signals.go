package wire

import (
	"encoding/binary"
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// MaxTemplates bounds the templates of a message of signals: a template is named by one byte.
const MaxTemplates = 256

// MaxTags bounds the tags of a message of signals.
const MaxTags = 1 << 16

// Signals are the intents of a whole run, which came as columns. They are read step by step.
type Signals struct {
	symbols []market.Symbol
	total   int64 // steps of the run
	parts   []signalColumns
	newest  int64 // step of the last intent
	whole   bool

	part, row int // the next to read
	intents   []market.Intent
	children  []market.Child
}

// signalColumns are the columns of one message.
type signalColumns struct {
	*strategypb.Signals
	templates []market.Intent
}

// NewSignals takes the signals of a run of so many steps over these symbols.
func NewSignals(symbols []market.Symbol, total int64) *Signals {
	return &Signals{symbols: symbols, total: total, newest: -1}
}

// IsWhole reports whether the last message has been added.
func (s *Signals) IsWhole() bool { return s.whole }

// Add checks a message, which must follow the one before, and takes its columns.
func (s *Signals) Add(p *strategypb.Signals) error {
	if s.whole {
		return wrong("last", "a message follows the last one")
	}
	part := signalColumns{Signals: orNew(p)}
	if err := part.check(s.symbols); err != nil {
		return err
	}
	atStep := 0
	for i := range part.rows() {
		step := part.step(i)
		if step < max(s.newest, 0) || step >= s.total {
			return wrong(at("steps", i), "%d is not between %d and %d", step, max(s.newest, 0), s.total-1)
		}
		if step != s.newest {
			atStep = 0
		}
		if atStep++; atStep > MaxIntents {
			return wrong(at("steps", i), "more than %d intents at step %d", MaxIntents, step)
		}
		s.newest = step
	}
	s.parts, s.whole = append(s.parts, part), part.GetLast()
	return nil
}

// check converts the templates and compares the lengths of the columns.
func (c *signalColumns) check(symbols []market.Symbol) error {
	if n := len(c.Templates); n > MaxTemplates {
		return wrong("templates", "%d are too many, at most %d are allowed", n, MaxTemplates)
	}
	for i, t := range c.Templates {
		in, err := IntentFromProto(t, symbols)
		if err != nil {
			return under(at("templates", i), err)
		}
		if in.OCO != 0 || len(in.Targets) > 0 || in.Action == market.Replace {
			return wrong(at("templates", i), "OCO, targets and replace have no columns")
		}
		c.templates = append(c.templates, in)
	}
	if len(c.Steps)%valueBytes != 0 {
		return wrong("steps", "%d bytes are no column of whole numbers", len(c.Steps))
	}
	for _, column := range []struct {
		name   string
		length int
		size   int
		needed bool
	}{
		{"template", len(c.Template), 1, true}, {"size", len(c.Size), valueBytes, false},
		{"limit_price", len(c.LimitPrice), valueBytes, false},
		{"stop_loss", len(c.StopLoss), valueBytes, false},
		{"take_profit", len(c.TakeProfit), valueBytes, false},
		{"expire_after", len(c.ExpireAfter), 4, false}, {"tag", len(c.Tag), 4, false},
	} {
		if column.length != c.rows()*column.size && (column.needed || column.length != 0) {
			return wrong(column.name, "%d bytes for %d intents", column.length, c.rows())
		}
	}
	if len(c.Tags) > MaxTags {
		return wrong("tags", "%d are too many, at most %d are allowed", len(c.Tags), MaxTags)
	}
	for i, t := range c.Tags {
		if len(t) > MaxTextBytes {
			return wrong(at("tags", i), "a text of %d bytes is too long, at most %d are allowed", len(t),
				MaxTextBytes)
		}
	}
	return c.checkRows()
}

// checkRows looks at what the rows refer to.
func (c *signalColumns) checkRows() error {
	for i, t := range c.Template {
		if int(t) >= len(c.templates) {
			return wrong(at("template", i), "%d is none of the %d templates", t, len(c.templates))
		}
		if len(c.Tag) > 0 {
			if tag := int32At(c.Tag, i); tag < 0 || int(tag) >= len(c.Tags) {
				return wrong(at("tag", i), "%d is none of the %d tags", tag, len(c.Tags))
			}
		}
		in := &c.templates[t]
		for _, column := range []struct {
			name  string
			bytes []byte
			child *market.Child
			level bool
		}{
			{"size", c.Size, nil, false}, {"limit_price", c.LimitPrice, nil, false},
			{"stop_loss", c.StopLoss, in.StopLoss, true}, {"take_profit", c.TakeProfit, in.TakeProfit, true},
		} {
			if len(column.bytes) == 0 || math.IsNaN(floatAt(column.bytes, i)) {
				continue
			}
			if math.IsInf(floatAt(column.bytes, i), 0) {
				return wrong(at(column.name, i), "the number is not finite")
			}
			if column.level && valueOf(column.child) == nil {
				return wrong(at(column.name, i), "template %d has no child with one value", t)
			}
		}
	}
	return nil
}

// valueOf is the one field of a child that is set; nil if it is not exactly one.
func valueOf(c *market.Child) (value *float64) {
	if c == nil {
		return nil
	}
	for _, v := range [...]*float64{&c.Price, &c.Percent, &c.TrailPercent, &c.TrailAmount} {
		switch {
		case *v != 0 && value != nil:
			return nil
		case *v != 0:
			value = v
		}
	}
	return value
}

func (c *signalColumns) rows() int { return len(c.Steps) / valueBytes }

func (c *signalColumns) step(i int) int64 {
	return int64(binary.LittleEndian.Uint64(c.Steps[i*valueBytes:]))
}

func int32At(column []byte, i int) int32 { return int32(binary.LittleEndian.Uint32(column[i*4:])) }

// Take returns the intents of a step, valid until the next call. Steps are asked for in ascending order.
func (s *Signals) Take(step int64) []market.Intent {
	s.intents, s.children = s.intents[:0], s.children[:0]
	for s.part < len(s.parts) {
		c := &s.parts[s.part]
		for ; s.row < c.rows() && c.step(s.row) <= step; s.row++ {
			if c.step(s.row) == step {
				s.intents = append(s.intents, s.fill(c, s.row))
			}
		}
		if s.row < c.rows() {
			break
		}
		s.part, s.row = s.part+1, 0
	}
	return s.intents
}

// Steps calls yield with each step that has intents, in ascending order.
func (s *Signals) Steps(yield func(step int64) bool) {
	last := int64(-1)
	for i := range s.parts {
		for row := range s.parts[i].rows() {
			if step := s.parts[i].step(row); step != last {
				if last = step; !yield(step) {
					return
				}
			}
		}
	}
}

// Rewind begins to read anew.
func (s *Signals) Rewind() { s.part, s.row = 0, 0 }

// fill makes an intent of a template and a row of the columns.
func (s *Signals) fill(c *signalColumns, row int) market.Intent {
	in := c.templates[c.Template[row]]
	set := func(column []byte, into *float64) {
		if len(column) > 0 && into != nil {
			if x := floatAt(column, row); !math.IsNaN(x) {
				*into = x
			}
		}
	}
	set(c.Size, &in.Size.Value)
	set(c.LimitPrice, &in.LimitPrice)
	in.StopLoss = s.child(in.StopLoss)
	set(c.StopLoss, valueOf(in.StopLoss))
	in.TakeProfit = s.child(in.TakeProfit)
	set(c.TakeProfit, valueOf(in.TakeProfit))
	if len(c.ExpireAfter) > 0 {
		if n := int32At(c.ExpireAfter, row); n != 0 {
			in.ExpireAfter = int(n)
		}
	}
	if len(c.Tag) > 0 {
		in.Tag = c.Tags[int32At(c.Tag, row)]
	}
	return in
}

// child copies a child of a template.
func (s *Signals) child(c *market.Child) *market.Child {
	if c == nil {
		return nil
	}
	s.children = append(s.children, *c)
	return &s.children[len(s.children)-1]
}
