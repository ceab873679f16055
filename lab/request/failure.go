package request

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// capturer makes the capsules of one state directory. A run never fails for lack of a
// capsule: what cannot be kept is logged, and the note is nil.
type capturer struct{ host *Host }

func (h *Host) capturer() capturer { return capturer{h} }

// capture keeps a capsule of a play that failed. It is nil where there is no room for
// it or it cannot be written: a run does not fail for that.
func (x capturer) capture(ctx context.Context, p *Prepared, r *played) *capsule.Note {
	spool := filepath.Join(x.host.StateDir, "tmp", "lab")
	s := &capsule.Stage{
		RunID: p.RunID, Base: p.request, Pins: p.pins,
		Module: capsule.Module(capsule.Program(x.host.StateDir, p.Strategy.SHA256)),
		Launcher: func(mode run.Mode, limit time.Duration) *run.Launcher {
			return run.NewLauncher(run.Options{
				Catalog: p.catalog, Store: p.candles, Logger: x.host.Logger, SpoolDir: spool,
				Engine: x.host.Engine, StepLimit: limit, Mode: mode,
				Inputs: x.host.Candles.Inputs(),
			})
		},
	}
	return x.record(p, r.take, x.host.level(*r), func(about capsule.Context) (*capsule.Capsule, error) {
		return s.Capture(ctx, capsule.Captured{
			Context: about, Played: capsule.Played{Failure: r.failure, Snapshot: r.snapshot},
			Lockstep: p.Strategy.SimID != sim.ID() && !p.Strategy.Advance,
			// a search can have hundreds, and goes on
			Brief:    p.Request.Kind == artifact.KindTrial,
			Patient:  p.Request.Kind == artifact.KindFalsification, // its report names the capsule by hash
			Defaults: p.Strategy.DefaultParams, Exchange: p.request.Exchange, Candles: p.candles,
			Window: func(from, to int64) (start, end *string, ok bool) {
				if from < 0 || from >= to || to > int64(r.job.To-r.job.From) {
					return nil, nil, false
				}
				start, end = p.window(r.job.From+int(from), r.job.From+int(to))
				return start, end, true
			},
			StartTime: func(index int64) market.Time { return p.timeline.opens[r.job.From+int(index)] },
		})
	})
}

// record keeps the capsule that do makes of what is known of a play; level is that of the sandbox.
func (x capturer) record(
	p *Prepared, take capsule.Take, level string, do func(capsule.Context) (*capsule.Capsule, error),
) *capsule.Note {
	about, err := x.about(p, take, level)
	var c *capsule.Capsule
	if err == nil {
		c, err = do(about)
	}
	if err != nil {
		return x.lost(p.RunID, err)
	}
	return x.keep(c.Inputs.RunID, c)
}

func (x capturer) lost(runID string, err error) *capsule.Note {
	x.host.Logger.Warn("a failure capsule is not kept", "run_id", runID, "error", err)
	return nil
}

// about is what every capsule of a request has; level is that of the sandbox that the
// plugin was in.
func (x capturer) about(p *Prepared, take capsule.Take, level string) (capsule.Context, error) {
	request, err := p.Manifest.Request.Canonical()
	c := capsule.Context{Take: take, Environment: artifact.HostEnvironment(), Inputs: capsule.Inputs{
		RequestHash: p.RequestHash, RunID: p.RunID, Request: request, Data: p.Manifest.Data,
		Plugin: &p.Manifest.Plugin, Engine: &p.Manifest.Engine,
	}}
	c.Environment.Sandbox = level
	var falsification struct {
		Profile *string `json:"profile_sha256"`
	}
	if json.Unmarshal(p.Manifest.Request.Falsification, &falsification) == nil {
		c.Inputs.ProfileSHA256 = falsification.Profile
	}
	return c, err
}

// keep writes a capsule to those of its run, a bare one if the whole cannot be.
func (x capturer) keep(runID string, c *capsule.Capsule) *capsule.Note {
	if c.Where.SplitID == split.RoleTest {
		c.Lock()
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then no text has it either
	}
	if err := c.Seal(capsule.NewRedactor(os.Environ(), home)); err != nil {
		c = c.Bare()
	}
	stored, err := x.host.Artifacts.Capsules(runID)
	if err != nil {
		return x.lost(runID, err)
	}
	if old, err := capsule.Decode(stored[c.FileName()]); err == nil && runIsAudited(c) {
		return capsule.NoteOf(old, stored[c.FileName()])
	}
	if c, err = capsule.Add(stored, c); err != nil {
		return x.lost(runID, err)
	}
	for _, version := range []*capsule.Capsule{c, c.Bare()} {
		var content []byte
		if content, err = version.Encode(); err != nil {
			continue
		}
		if err = x.host.Artifacts.AddCapsule(runID, c.FileName(), content); err == nil {
			return capsule.NoteOf(c, content)
		}
	}
	return x.lost(runID, err)
}

// runIsAudited reports whether a capsule belongs to a run which is completed in spite of
// it and names it in its report: a falsification. To count it again when that is audited
// would change the file that the report has the hash of.
func runIsAudited(c *capsule.Capsule) bool {
	var request struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(c.Inputs.Request, &request) == nil && request.Kind == artifact.KindFalsification
}

// stopped keeps a capsule of a run that was interrupted.
func (x capturer) stopped(p *Prepared, at *played) {
	failure := &artifact.Failure{Code: CodeInterrupted, Message: "the run was stopped",
		Data: map[string]any{}}
	x.record(p, at.take, x.host.level(*at), func(about capsule.Context) (*capsule.Capsule, error) {
		played := capsule.Played{Failure: failure, Snapshot: at.snapshot}
		return capsule.Draft(about, played, capsule.Cancelled)
	})
}

// level is the weakest sandbox of these plays. Where none came to a process, only a
// sandbox that was switched off is known.
func (h *Host) level(results ...played) string {
	level := ""
	for i := range results {
		level = sandbox.Weaker(level, results[i].sandbox)
	}
	if level == "" && h.Sandbox == sandbox.Off {
		level = sandbox.LevelOff
	}
	return level
}

// walls are the parts of the sandbox of a play that had this level.
func walls(level string, results []played) []sandbox.Part {
	for i := range results {
		if results[i].sandbox == level {
			return results[i].walls
		}
	}
	return nil
}

// nondeterminism keeps a capsule of the first split that was decided otherwise than it
// is stored; where the decisions are the same, of what differs instead.
func (x capturer) nondeterminism(ctx context.Context, p *Prepared, results []played,
	differs *artifact.ResultError) *capsule.Note {
	for i := range results {
		r := &results[i]
		if !r.job.keep || r.decisions == nil {
			continue
		}
		d, err := x.divergence(p.RunID, r)
		if err != nil {
			return x.lost(p.RunID, err)
		}
		if d == nil {
			continue
		}
		return x.divergent(ctx, p, r, capsule.Nondeterminism, *d)
	}
	return x.otherResult(p, results, x.host.level(results...), differs)
}

// divergent keeps a capsule of the first decision in which a play differs from another.
func (x capturer) divergent(
	ctx context.Context, p *Prepared, r *played, kind capsule.Kind, at capsule.Divergence,
) *capsule.Note {
	code := CodeNondeterminism
	if kind == capsule.Lookahead {
		code = CodeLookahead
	}
	return x.record(p, r.take, x.host.level(*r), func(about capsule.Context) (*capsule.Capsule, error) {
		return capsule.Divergent(ctx, capsule.DivergentPlays{
			Context: about, Kind: kind, Code: code, At: at, Lead: r.lead, Warmup: r.lead + int64(r.short),
			CloseTime: func(index int64) market.Time { return p.closeTime(r.job, index) },
			Exchange:  p.request.Exchange, Candles: p.candles,
		})
	})
}

// otherResult keeps a capsule of a result that differs though no decision does, or
// though the earlier decisions are not there any more. level is the sandbox of all plays.
func (x capturer) otherResult(p *Prepared, results []played, level string,
	differs *artifact.ResultError) *capsule.Note {
	var take capsule.Take
	if parts := strings.Split(differs.File, "/"); len(parts) > 2 && parts[0] == "splits" {
		if r := find(results, parts[1]); r != nil {
			take, level = r.take, x.host.level(*r)
		}
	}
	return x.record(p, take, level, func(about capsule.Context) (*capsule.Capsule, error) {
		c := capsule.Blank(about, capsule.Nondeterminism)
		what := cmp.Or(differs.File, "result_hash")
		c.Error.Code, c.Error.Type = CodeNondeterminism, "result"
		c.Error.Message = fmt.Sprintf("%s was %s and is %s", what, cmp.Or(differs.Before, "missing"),
			differs.Now)
		c.Where.Phase = capsule.PhaseFinalize
		c.Claim = fmt.Sprintf("Expected %s of run %s to be the same again; it was %s and is %.12s.", what,
			p.RunID, cmp.Or(short(differs.Before), "missing"), differs.Now)
		return c, c.Name("")
	})
}

// short is the beginning of a hash.
func short(hash string) string { return hash[:min(12, len(hash))] }

// closeTime is the close of a candle of a job, 0 outside.
func (p *Prepared) closeTime(j job, index int64) market.Time {
	at := int64(j.From) + index
	if at < 0 || at >= int64(len(p.timeline.closes)) {
		return 0
	}
	return p.timeline.closes[at]
}

// divergence compares the decisions of a play with those that are stored.
func (x capturer) divergence(runID string, r *played) (*capsule.Divergence, error) {
	before, err := artifact.DecisionLines(x.host.Artifacts.Dir(runID), r.job.ID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var now strings.Builder
	if err := r.decisions(&now); err != nil {
		return nil, err
	}
	return capsule.Diverge(before, []byte(now.String())), nil
}

// changed keeps a capsule of files that are not what was written. level is the sandbox
// of the plays that wrote them.
func (x capturer) changed(p *Prepared, runID, level string, what *artifact.MismatchError) *capsule.Note {
	return x.record(p, capsule.Take{}, level, func(about capsule.Context) (*capsule.Capsule, error) {
		about.Inputs.RunID = runID
		c := capsule.Blank(about, capsule.ArtifactMismatch)
		c.Error.Code, c.Error.Message, c.Error.Type = CodeArtifactMismatch, what.Error(), "files"
		c.Where.Phase = capsule.PhaseFinalize
		if parts := strings.Split(what.Problems[0], "/"); len(parts) > 2 && parts[0] == "splits" {
			c.Where.SplitID = parts[1]
		}
		c.Claim = capsule.Cut(fmt.Sprintf("Expected the files of run %s as they were written; %s", runID,
			what.Problems[0]), capsule.MaxClaim-1) + "."
		return c, c.Name("")
	})
}
