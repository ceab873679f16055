package stage

import (
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
	"github.com/assay-run/assay/lab/capsule"
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

// MissingError says what a replay needs and does not have.
type MissingError struct{ What []string }

// Error lists it.
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
	CapsuleID  string       `json:"capsule_id"`
	Kind       capsule.Kind `json:"kind"`
	Reproduced bool         `json:"reproduced"`
	// Expected and Fingerprint are the capsule's and that of the replay; the latter is ""
	// if nothing failed.
	Expected    string `json:"expected_fingerprint"`
	Fingerprint string `json:"fingerprint"`
	// Candles says where they came from: store or slice; "" if none were played.
	Candles string `json:"candles"`
	// Where is the place of the failure in the replay, null if nothing failed.
	Where *capsule.Where `json:"where"`
	// Differences are what the replay has otherwise.
	Differences []Difference `json:"differences"`
	// Remarks tell what was not as in the capsule from the start.
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
func (h *Host) Replay(ctx context.Context, c *capsule.Capsule, program string) (*Result, error) {
	r := &Result{CapsuleID: c.ID, Kind: c.Kind, Expected: c.Fingerprint, Differences: []Difference{}, Remarks: []string{}}
	switch c.Kind {
	case capsule.ArtifactMismatch:
		return r, h.verify(c, r)
	case capsule.Cancelled:
		r.differ("failure", "somebody stopped the run", "nothing that a replay could show")
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
func (h *Host) verify(c *capsule.Capsule, r *Result) error {
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
	capsule *capsule.Capsule
	stage   *Stage
	take    capsule.Take
	limit   time.Duration
	// whole says that the candles are those of the run: what does not fail on them is mended.
	whole    bool
	store    *candle.Store
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

func (h *Host) prepare(ctx context.Context, c *capsule.Capsule, program string, r *Result) (_ *production, err error) {
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
				Catalog: plugin.catalog, Store: store, Logger: h.Logger, SpoolDir: spool, Engine: h.Engine, StepLimit: limit, Mode: mode,
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

// unsure is what candles that begin too late cannot tell.
func (p *production) unsure() error {
	if p.whole {
		return nil
	}
	return &MissingError{[]string{"the candles before those of the capsule, without which it does not fail: import them, the hashes are in inputs.data"}}
}

// compare lists what is in the fingerprint and differs.
func (r *Result) compare(c, again *capsule.Capsule, module string) {
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

func names(stack []capsule.Frame, module string) string {
	var list []string
	for _, f := range stack {
		if capsule.InModule(f.Func, module) && len(list) < 5 {
			list = append(list, f.Func)
		}
	}
	return strings.Join(list, " < ")
}
