package capsule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Host is what a replay needs of one state directory.
type Host struct {
	// StateDir is absolute.
	StateDir  string
	Candles   *candle.Store
	Artifacts *artifact.Store
	Engine    artifact.Engine
	Sandbox   sandbox.Mode
	// StepLimit is how long a plugin may take for one answer; the capsule's if zero.
	StepLimit time.Duration
	Logger    hclog.Logger
}

// MissingError reports what a replay needs and does not have.
type MissingError struct{ What []string }

func (e *MissingError) Error() string { return "missing: " + e.List() }

// List is everything that is missing in one line.
func (e *MissingError) List() string { return strings.Join(e.What, "; ") }

// Sources of the candles of a replay.
const (
	FromStore = "store"
	FromSlice = "slice"
)

// Result is what a replay has found out.
type Result struct {
	CapsuleID  string `json:"capsule_id"`
	Kind       Kind   `json:"kind"`
	Reproduced bool   `json:"reproduced"`
	// Expected and Fingerprint are the capsule's and that of the replay; the latter is ""
	// if nothing failed.
	Expected    string `json:"expected_fingerprint"`
	Fingerprint string `json:"fingerprint"`
	// Candles reports where they came from: store or slice; "" if none were played.
	Candles string `json:"candles"`
	// Where is the place of the failure in the replay, null if nothing failed.
	Where *Where `json:"where"`
	// Differences are what the replay has otherwise.
	Differences []Difference `json:"differences"`
	// Remarks are what was not as in the capsule from the start.
	Remarks []string `json:"remarks"`
}

// Difference is one value of the capsule and of its replay.
type Difference struct {
	Field    string `json:"field"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// Replay repeats the failure of a capsule, with another program if one is named. The
// error is a *MissingError where plugin or candles are not there, a *NameError if the
// other program is another strategy.
func (h *Host) Replay(ctx context.Context, c *Capsule, program string) (*Result, error) {
	r := &Result{CapsuleID: c.ID, Kind: c.Kind, Expected: c.Fingerprint, Differences: []Difference{},
		Remarks: []string{}}
	switch c.Kind {
	case ArtifactMismatch:
		return r, h.verify(c, r)
	case Cancelled:
		r.differ("failure", "the run was stopped", "nothing that a replay could show")
		return r, nil
	}
	p, err := h.prepare(ctx, c, program, r)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if c.Kind.OfPlugin() {
		return r, p.once(ctx, r)
	}
	return r, p.twice(ctx, r)
}

func (r *Result) differ(field, expected, got string) {
	r.Differences = append(r.Differences, Difference{field, expected, got})
}

// verify hashes the files of the run again.
func (h *Host) verify(c *Capsule, r *Result) error {
	_, _, err := artifact.Verify(h.Artifacts.Dir(c.Inputs.RunID))
	var changed *artifact.MismatchError
	switch {
	case errors.As(err, &changed):
		r.Reproduced, r.Fingerprint = true, c.Fingerprint
		return nil
	case errors.Is(err, os.ErrNotExist):
		return &MissingError{[]string{"the files of run " + c.Inputs.RunID}}
	case err == nil:
		r.differ("files", "changed", "as they were written")
	}
	return err
}

// production is a replay that has all it needs.
type production struct {
	capsule *Capsule
	stage   *Stage
	take    Take
	limit   time.Duration
	// whole reports that the candles are those of the run: what does not fail on them is mended.
	whole    bool
	store    *candle.Store
	inputs   *candle.Inputs
	short    bool // earlier rows of an input are missing
	launcher func(*candle.Store) func(run.Mode, time.Duration) *run.Launcher
	tempDir  string
	closers  []func() error
	log      hclog.Logger
}

func (p *production) close() {
	for _, f := range slices.Backward(p.closers) {
		if err := f(); err != nil {
			p.log.Warn("something of the replay is left behind", "error", err)
		}
	}
}

func (h *Host) prepare(ctx context.Context, c *Capsule, program string,
	r *Result) (_ *production, err error) {
	if c.Replay.Take == nil {
		return nil, &MissingError{[]string{"the play: this capsule is a bare one"}}
	}
	if c.Lost() {
		return nil, &MissingError{[]string{"parameters: they were taken out of the capsule as secrets"}}
	}
	p := &production{capsule: c, take: *c.Replay.Take, log: h.Logger}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.limit = h.StepLimit; p.limit == 0 {
		p.limit = time.Duration(p.take.StepLimitMS) * time.Millisecond
	}
	var missing MissingError
	plugin, err := h.plugin(ctx, c, program, r, &missing)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, plugin.close)
	store, err := h.candles(ctx, p, r, &missing)
	if err != nil {
		return nil, err
	}
	if len(missing.What) > 0 {
		return nil, &missing
	}
	if engine := c.Inputs.Engine; engine != nil && engine.SHA256 != h.Engine.SHA256 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("the capsule was made by %s %s (%.12s), this is %s (%.12s)",
			engine.Name, engine.Version, engine.SHA256, h.Engine.Version, h.Engine.SHA256))
	}
	spool := filepath.Join(h.StateDir, "tmp", "lab")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, err
	}
	p.launcher = func(store *candle.Store) func(run.Mode, time.Duration) *run.Launcher {
		return func(mode run.Mode, limit time.Duration) *run.Launcher {
			return run.NewLauncher(run.Options{
				Catalog: plugin.catalog, Store: store, Logger: h.Logger, SpoolDir: spool, Engine: h.Engine,
				StepLimit: limit, Mode: mode, Inputs: p.inputs,
			})
		}
	}
	p.stage.RunID, p.stage.Module, p.stage.Launcher = c.Inputs.RunID, plugin.module, p.launcher(store)
	p.store, p.tempDir = store, filepath.Join(h.StateDir, "tmp")
	return p, nil
}

// once plays the take: it must fail in the same way.
func (p *production) once(ctx context.Context, r *Result) error {
	c := p.capsule
	got, err := p.stage.Play(ctx, p.take, run.ModeAuto, p.limit)
	if err != nil {
		return err
	}
	if got.Failure == nil {
		r.differ("failure", c.Error.Code+": "+c.Error.Message, "none: the play came to its end")
		return p.unsure()
	}
	about := Context{Inputs: c.Inputs, Take: p.take}
	again, err := p.stage.draft(about, got)
	if err != nil {
		return err
	}
	if lagging(again) {
		if closer, ok := p.stage.exact(ctx, Captured{Context: about}, again); ok {
			again = closer
		}
	}
	r.Fingerprint, r.Where, r.Reproduced = again.Fingerprint, &again.Where, again.Fingerprint == c.Fingerprint
	if r.Reproduced {
		return nil
	}
	r.compare(c, again, p.stage.Module)
	return p.unsure()
}

// unsure is what candles that begin too late cannot show.
func (p *production) unsure() error {
	if p.whole {
		return nil
	}
	return &MissingError{
		[]string{"the candles before those of the capsule, without which it does not fail: import them, " +
			"the hashes are in inputs.data"}}
}

// compare lists what is in the fingerprint and differs.
func (r *Result) compare(c, again *Capsule, module string) {
	for _, x := range []Difference{
		{"kind", string(c.Kind), string(again.Kind)},
		{"error.code", c.Error.Code, again.Error.Code},
		{"error.type", c.Error.Type, again.Error.Type},
		{"error.stack", names(c.Error.Stack, module), names(again.Error.Stack, module)},
	} {
		if x.Expected != x.Got {
			r.Differences = append(r.Differences, x)
		}
	}
	r.differ("error.message", c.Error.Message, again.Error.Message)
}

func names(stack []Frame, module string) string {
	var list []string
	for _, f := range stack {
		if InModule(f.Func, module) && len(list) < 5 {
			list = append(list, f.Func)
		}
	}
	return strings.Join(list, " < ")
}

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

// DivergentPlays is two plays that should have decided alike.
type DivergentPlays struct {
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
func Divergent(ctx context.Context, in DivergentPlays) (*Capsule, error) {
	c := Blank(in.Context, in.Kind)
	index := in.At.Step - in.Lead
	c.Where.Phase, c.Where.CandleIndex, c.Where.CandleTime, c.Where.EventSeq = PhaseCandle, &index,
		in.CloseTime(index), &in.At.Line
	if in.At.Step < in.Warmup {
		c.Where.Phase = PhaseWarmup
	}
	if len(in.Inputs.Data) == 1 {
		c.Where.Symbol = &in.Inputs.Data[0].Symbol
	}
	c.Error.Code, c.Error.Type = in.Code, "decisions"
	c.Error.Message = fmt.Sprintf("decision line %d was %s and is %s", in.At.Line, line(in.At.A),
		line(in.At.B))
	c.Claim = fmt.Sprintf(
		"Expected the decisions on split %s to be the same again; they differ from candle %d on.",
		c.Where.SplitID, index)
	if c.Where.CandleTime != 0 {
		if slice, err := cut(ctx, in.Candles, in.Exchange, in.Inputs,
			spot{index, in.Warmup, c.Where.CandleTime}); err == nil {
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

// twice plays the take more than once: the decisions must differ as in the capsule.
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
	first, snapshot, err := p.decide(ctx, p.stage, p.take)
	if err != nil {
		return nil, err
	}
	for range repeats - 1 {
		next, _, err := p.decide(ctx, p.stage, p.take)
		if err != nil {
			return nil, err
		}
		if d := Diverge(first, next); d != nil {
			d.Step -= windowOf(snapshot)
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
	whole, snapshot, err := p.decide(ctx, p.stage, p.take)
	if err != nil {
		return nil, err
	}
	// Another file, not only another window: a program can look at the file.
	store, pins, remove,
		err := shorten(ctx, p.tempDir, p.store, p.stage, p.capsule.Inputs.Data, p.capsule.Where.CandleTime)
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
	last := windowOf(snapshot)
	if i := p.capsule.Where.CandleIndex; i != nil {
		last += *i
	}
	d := Diverge(wanted(whole, last), wanted(cut, last))
	if d != nil {
		d.Step -= windowOf(snapshot)
	}
	return d, nil
}

// decide is the decision lines of a play. A failure counts as a decision.
func (p *production) decide(ctx context.Context, s *Stage, t Take) ([]byte, *run.Snapshot, error) {
	var lines bytes.Buffer
	got, err := s.play(ctx, t, run.ModeAuto, p.limit, &lines)
	if err == nil && got.Failure != nil {
		fmt.Fprintf(&lines, "%s %s\n", got.Failure.Code, got.Failure.CandleTime)
	}
	return lines.Bytes(), got.Snapshot, err
}

func windowOf(s *run.Snapshot) int64 {
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
