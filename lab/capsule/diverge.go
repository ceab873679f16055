package capsule

import (
	"bytes"
	"context"
	"fmt"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/run"
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
	Kind Kind
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
func Divergent(ctx context.Context, in Parted) (*Capsule, error) {
	c := Blank(in.Context, in.Kind)
	index := in.At.Step - in.Lead
	c.Where.Phase, c.Where.CandleIndex, c.Where.CandleTime, c.Where.EventSeq = PhaseCandle, &index, in.CloseTime(index), &in.At.Line
	if in.At.Step < in.Warmup {
		c.Where.Phase = PhaseWarmup
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
	return c, c.Name("")
}

func line(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}

// repeats is how often a play that should always decide alike is repeated.
const repeats = 5

// twice plays the take more than once: the decisions must differ as the capsule says.
func (p *production) twice(ctx context.Context, r *Result) error {
	differ := p.repeat
	if p.capsule.Kind == Lookahead {
		differ = p.truncate
	}
	d, err := differ(ctx)
	if err != nil {
		return err
	}
	if d == nil {
		r.differ("decisions", "differ", "are equal each time")
		return nil
	}
	r.Reproduced, r.Fingerprint = true, p.capsule.Fingerprint
	where := p.capsule.Where
	where.CandleIndex, where.CandleTime = &d.Step, d.Time
	r.Where = &where
	return nil
}

// repeat plays until two plays differ.
func (p *production) repeat(ctx context.Context) (*Divergence, error) {
	first, scene, err := p.decide(ctx, p.stage, p.take)
	if err != nil {
		return nil, err
	}
	for range repeats - 1 {
		next, _, err := p.decide(ctx, p.stage, p.take)
		if err != nil {
			return nil, err
		}
		if d := Diverge(first, next); d != nil {
			d.Step -= windowOf(scene)
			return d, nil
		}
	}
	return nil, nil
}

// truncate plays with and without the candles behind the one of the capsule: what was
// wanted up to there must be the same.
func (p *production) truncate(ctx context.Context) (*Divergence, error) {
	if p.capsule.Where.CandleTime == 0 {
		return nil, &MissingError{[]string{"the candle at which decisions differ"}}
	}
	whole, scene, err := p.decide(ctx, p.stage, p.take)
	if err != nil {
		return nil, err
	}
	// Another file, not only another window: a program can look at the file.
	store, pins, remove, err := shorten(ctx, p.tempDir, p.store, p.stage, p.capsule.Inputs.Data, p.capsule.Where.CandleTime)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, remove, store.Close)
	other := *p.stage
	other.Launcher, other.Pins, other.Base.Exchange = p.launcher(store), pins, sliceExchange
	short := p.take
	short.End = nil
	cut, _, err := p.decide(ctx, &other, short)
	if err != nil {
		return nil, err
	}
	last := windowOf(scene)
	if i := p.capsule.Where.CandleIndex; i != nil {
		last += *i
	}
	d := Diverge(wanted(whole, last), wanted(cut, last))
	if d != nil {
		d.Step -= windowOf(scene)
	}
	return d, nil
}

// decide is the decision lines of a play. A failure counts as a decision.
func (p *production) decide(ctx context.Context, s *Stage, t Take) ([]byte, *run.Scene, error) {
	var lines bytes.Buffer
	got, err := s.play(ctx, t, run.ModeAuto, p.limit, &lines)
	if err == nil && got.Failure != nil {
		fmt.Fprintf(&lines, "%s %s\n", got.Failure.Code, got.Failure.CandleTime)
	}
	return lines.Bytes(), got.Scene, err
}

func windowOf(s *run.Scene) int64 {
	if s == nil {
		return 0
	}
	return s.Window
}

// wanted are the lines of intents up to a step.
func wanted(lines []byte, last int64) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(lines) {
		if d, ok := read(line); ok && (d.Kind == "intent" || d.Kind == "reject") && d.Candle <= last {
			out.Write(line)
		}
	}
	return out.Bytes()
}
