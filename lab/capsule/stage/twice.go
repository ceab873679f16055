package stage

import (
	"bytes"
	"context"
	"fmt"

	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
)

// repeats is how often a play that should always decide alike is repeated.
const repeats = 5

// twice plays the take more than once: the decisions must differ as the capsule says.
func (p *production) twice(ctx context.Context, r *Result) error {
	differ := p.repeat
	if p.capsule.Kind == capsule.Lookahead {
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
func (p *production) decide(ctx context.Context, s *Stage, t capsule.Take) ([]byte, *run.Scene, error) {
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
