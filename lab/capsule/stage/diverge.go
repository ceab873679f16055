package stage

import (
	"bytes"
	"context"
	"fmt"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Divergence is where two lists of decision lines part.
type Divergence struct {
	// Line counts from 0. Step counts as in the lines, Time is that of the line.
	Line int64
	Step int64
	Time market.Time
	// A and B are the lines themselves, "" where a list has ended.
	A, B string
}

// Diverge finds the first line that two plays do not share; nil if they are equal.
func Diverge(a, b []byte) *Divergence {
	for n := int64(0); len(a) > 0 || len(b) > 0; n++ {
		var x, y []byte
		x, a, _ = bytes.Cut(a, []byte{'\n'})
		y, b, _ = bytes.Cut(b, []byte{'\n'})
		if bytes.Equal(x, y) {
			continue
		}
		d := &Divergence{Line: n, A: string(x), B: string(y)}
		d.Step, d.Time = earlier(x, y)
		return d
	}
	return nil
}

// earlier is the step of the line that came first: the plays were equal until then.
func earlier(x, y []byte) (int64, market.Time) {
	a, isA := read(x)
	b, isB := read(y)
	if !isA || isB && b.Candle < a.Candle {
		return b.Candle, b.Time
	}
	return a.Candle, a.Time
}

// Parted is two plays that should have decided alike.
type Parted struct {
	Context
	// Kind is Nondeterminism or Lookahead, Code the lab's name of it.
	Kind capsule.Kind
	Code string
	At   Divergence
	// Lead is how many candles of warm-up lie before the split, Warmup how many the
	// strategy wanted.
	Lead, Warmup int64
	// CloseTime is that of a candle of the split, 0 outside.
	CloseTime func(index int64) market.Time
	// Exchange is where the candles are from, Candles the store.
	Exchange string
	Candles  *candle.Store
}

// Divergent makes a capsule of it. Candles that cannot be read are left out.
func Divergent(ctx context.Context, in Parted) (*capsule.Capsule, error) {
	c := Blank(in.Context, in.Kind)
	index := in.At.Step - in.Lead
	c.Where.Phase, c.Where.CandleIndex, c.Where.CandleTime, c.Where.EventSeq = capsule.PhaseCandle, &index, in.CloseTime(index), &in.At.Line
	if in.At.Step < in.Warmup {
		c.Where.Phase = capsule.PhaseWarmup
	}
	if len(in.Inputs.Data) == 1 {
		c.Where.Symbol = &in.Inputs.Data[0].Symbol
	}
	c.Error.Code, c.Error.Type = in.Code, "decisions"
	c.Error.Message = fmt.Sprintf("decision line %d was %s and is %s", in.At.Line, line(in.At.A), line(in.At.B))
	c.Claim = fmt.Sprintf("Expected the decisions on split %s to be the same again; they differ from candle %d on.", c.Where.SplitID, index)
	if c.Where.CandleTime != 0 {
		if slice, err := cut(ctx, in.Candles, in.Exchange, in.Inputs.Data, spot{index, in.Warmup, c.Where.CandleTime}); err == nil {
			c.DataSlice = slice
		}
	}
	if err := c.Name(""); err != nil {
		return nil, err
	}
	Finish(c)
	return c, nil
}

func line(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}
