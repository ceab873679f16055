package request

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// FormError is what is wrong with the text of a request.
type FormError struct {
	// Pointer is RFC 6901, "" for the whole.
	Pointer, Reason string
}

func (e *FormError) Error() string { return e.Reason }

func malformed(pointer, format string, args ...any) error {
	return &FormError{pointer, fmt.Sprintf(format, args...)}
}

// ReadRequest reads a canonical request, such as request.json of a run, strictly. The error is
// a *FormError.
func ReadRequest(text []byte) (*artifact.Request, error) {
	canonical, err := digest.CanonicalJSON(text)
	if err != nil {
		return nil, malformed("", "the request is not canonical JSON: %v", err)
	}
	r := &artifact.Request{}
	if err := json.Unmarshal(canonical, r); err != nil {
		return nil, malformed("", "the request cannot be read: %v", err)
	}
	if r.Schema != "evaluation-request/v1" {
		return nil, malformed("/schema", "schema %q is not evaluation-request/v1", r.Schema)
	}
	return r, nil
}

// OfRun refuses a request that is not of kind run: a run of any other kind would not be counted among the
// trials of its family, or not be one to choose by. The error is a *FormError.
func OfRun(r *artifact.Request) error {
	if r.Kind != artifact.KindRun {
		return malformed("/kind",
			"/kind is %.40q: only a request of kind run can be asked again; a trial is executed with --trial",
			r.Kind)
	}
	if len(r.Falsification) > 0 && string(r.Falsification) != "null" {
		return malformed("/falsification",
			"/falsification must be null in a request of kind run: lab falsify attacks a run")
	}
	return nil
}

// Overrides are what [Host.Repeat] takes from elsewhere than the stored request.
type Overrides struct {
	Slug string
	// Splits are those of the stored run; Scheme makes them where there are none.
	Splits *artifact.Splits
	Scheme split.Scheme
	// Plugin is a program with the pinned hash; "" for the copy in the state directory.
	Plugin string
	// SourceSHA256 and SDKSHA256 are what the program was built from, as far as is known.
	SourceSHA256, SDKSHA256 string
}

// Repeat prepares a stored request once more, with exactly its inputs. The error is an
// *[Error] INPUTS_MISSING where they do not exist any more. The result has
// the same request hash as long as the engine is the same. The caller closes it.
func (h *Host) Repeat(ctx context.Context, r *artifact.Request, o Overrides) (*Prepared, error) {
	if o.Splits != nil {
		var err error
		if o.Scheme, err = SchemeOf(o.Splits); err != nil {
			return nil, err
		}
	}
	q, err := h.again(r, o.Slug, o.Scheme, o.Plugin)
	if err != nil {
		return nil, err
	}
	q.Plugin.SourceSHA256, q.Plugin.SDKSHA256 = o.SourceSHA256, o.SDKSHA256
	p, err := h.Prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	if p.Manifest.Request.Splits.SHA256 != r.Splits.SHA256 {
		p.Close()
		return nil, refuse(CodeInputsMissing, "/splits",
			"the splits of the request cannot be made again: its splits.json has to be beside it")
	}
	return p, nil
}

// again is the one of a stored request: the plugin by its hash from the state directory
// unless a path is given, the candles by theirs.
func (h *Host) again(r *artifact.Request, slug string, scheme split.Scheme, plugin string) (Request, error) {
	q := Request{
		Kind: r.Kind, Slug: slug, FamilyID: r.FamilyID, Params: r.StrategyParams, Symbols: r.Symbols,
		Timeframe: r.Timeframe, Exchange: r.Exchange,
		InitialCash: r.InitialCash, Execution: r.Execution, Splits: scheme, Holding: r.Splits.Purge,
		Stress: r.Stress, Pins: map[string]string{},
	}
	if r.TrainedUntil != nil {
		q.TrainedUntil = r.TrainedUntil.String()
	}
	attached, err := catalog.Attached(h.Reattach, slug)
	if err != nil {
		return q, err
	}
	if q.Seed, err = strconv.ParseUint(r.Seed, 10, 64); err != nil {
		return q, malformed("/seed", "/seed %v", err)
	}
	for _, d := range r.Inputs.Data {
		q.Pins[d.Symbol] = "sha256:" + d.SHA256
	}
	start, end := r.StartDate.String(), r.EndDate.String()
	q.Start, q.End = &start, &end
	if plugin == "" && attached != "" {
		q.Plugin.SHA256 = r.Inputs.PluginSHA256 // no file is read
		return q, nil
	}
	if plugin == "" {
		plugin = filepath.Join(h.StateDir, "plugins", r.Inputs.PluginSHA256)
	}
	q.Plugin, err = project.Finished(plugin)
	if _, missing := os.Stat(plugin); errors.Is(missing, fs.ErrNotExist) {
		return q, Errorf(CodeInputsMissing,
			"the plugin sha256 %.12s… is not in the state directory any more: name its file with --plugin",
			r.Inputs.PluginSHA256).
			With("plugin_sha256", r.Inputs.PluginSHA256)
	}
	if err != nil {
		return q, err
	}
	if q.Plugin.SHA256 != r.Inputs.PluginSHA256 {
		return q, Errorf(CodeInputsMissing, "%s is sha256 %.12s…, the request wants %.12s…", plugin,
			q.Plugin.SHA256, r.Inputs.PluginSHA256).
			With("plugin_sha256", r.Inputs.PluginSHA256)
	}
	return q, nil
}

// SchemeOf is the scheme that splits.json was made by.
func SchemeOf(s *artifact.Splits) (split.Scheme, error) {
	scheme := split.Scheme{}
	text, err := json.Marshal(s.Params)
	if err != nil {
		return scheme, err
	}
	if err := json.Unmarshal(text, &scheme); err != nil {
		return scheme, err
	}
	scheme.Scheme = s.Scheme
	if scheme.Step == scheme.Test {
		scheme.Step = 0 // the default
	}
	return scheme, scheme.Validate()
}

// Stored is a run as its folder has it.
type Stored struct {
	Request  *artifact.Request
	Splits   *artifact.Splits
	Metadata *artifact.Metadata
	Report   *artifact.Report
}

// Stored reads a run, every file hashed again. The error is an
// *artifact.MismatchError when something has changed.
func (h *Host) Stored(runID string) (*Stored, error) {
	dir := h.Artifacts.Dir(runID)
	m, _, err := artifact.Verify(dir)
	if err != nil {
		return nil, err
	}
	s := &Stored{Metadata: m, Splits: &artifact.Splits{}}
	if s.Report, err = artifact.ReadReport(dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		return nil, err
	}
	if s.Request, err = ReadRequest(text); err != nil {
		return nil, err
	}
	if text, err = os.ReadFile(filepath.Join(dir, "splits.json")); err != nil {
		return nil, err
	}
	return s, json.Unmarshal(text, s.Splits)
}

// review looks at an answered request under a lease: a forced one is audited, and one
// whose files have changed is opened for another execution, with a capsule that records it.
func (a *pendingRun) review(ctx context.Context, runID string) (*Result, error) {
	return a.holding(ctx, func(work context.Context, held registry.Claim) (*Result, error) {
		before, payload, err := a.host.look(work, a.Prepared, runID, held.Owner != "")
		var changed *artifact.MismatchError
		switch {
		case errors.As(err, &changed):
			return nil, a.reopen(work, runID, changed)
		case err != nil:
			return nil, err
		case !a.options.Force: // it was only being written, or the row was left behind
			return before, a.host.Registry.Complete(work, before.Metadata, payload)
		}
		return a.host.audit(work, a.Prepared, a.options, before)
	})
}

// holding works under the lease of an answered request, so that no other process writes to
// its run. The error is errReopened where it is not answered any more.
func (a *pendingRun) holding(ctx context.Context,
	do func(context.Context, registry.Claim) (*Result, error)) (answer *Result, err error) {
	held, err := a.host.wait(ctx, a.options, func() (registry.Claim, error) {
		return a.host.Registry.Hold(ctx, a.RequestHash, a.owner)
	})
	if err != nil {
		return nil, err
	}
	if held.Standing != registry.Answered {
		return nil, errReopened
	}
	err = a.leased(ctx, func(work context.Context) error {
		answer, err = do(work, held)
		return err
	})
	settle, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	return answer, errors.Join(err, a.host.Registry.Release(settle, a.RequestHash, a.owner))
}

// reopen lets a run be executed again whose files are not what was written. Its folder
// stays until it is replaced. The error is errReopened.
func (a *pendingRun) reopen(ctx context.Context, runID string, changed *artifact.MismatchError) error {
	row, err := a.host.Registry.Get(ctx, runID)
	if err != nil {
		return err
	}
	level := ""
	if known, err := artifact.DecodeMetadata(row.Payload); err == nil {
		level = known.Volatile.Environment.Sandbox
		if a.options.Force && known.ResultHash != nil {
			a.expected = *known.ResultHash
		}
	}
	a.host.Logger.Warn("the run's files are not what they were: it is executed again", "run_id", runID,
		"problems", changed.Problems)
	a.host.capturer().changed(a.Prepared, runID, level, changed)
	if err := a.host.Registry.Renew(ctx, a.RequestHash, a.owner); err != nil {
		return err
	}
	if err := a.host.Registry.Reopen(ctx, runID); err != nil {
		return err
	}
	return errReopened
}

// audit executes an answered request again: the result must be the same. Then only
// the times are new.
func (h *Host) audit(ctx context.Context, p *Prepared, o Options, before *Result) (*Result, error) {
	return h.execute(ctx, p, o, before.Metadata.Attempt,
		func(run *artifact.Run, results []played) (*artifact.Written, error) {
			if leaseLost(ctx) {
				return nil, registry.ErrLeaseLost
			}
			written, err := h.Artifacts.Renew(run, before.Metadata)
			var differs *artifact.ResultError
			if errors.As(err, &differs) {
				return nil, &MismatchError{
					RunID: run.ID, Before: differs.Before, Now: differs.Now, File: differs.File,
					Capsule: h.capturer().nondeterminism(ctx, p, results, differs),
				}
			}
			if err != nil {
				return nil, err
			}
			return written, h.Registry.Complete(context.WithoutCancel(ctx), written.Metadata, written.Payload)
		})
}

// agree checks that the folder of a run is the answer to the request that the registry's
// row has. Where the run is held, or a compact one has become a full one, only the result
// must be the row's: a process is between the files and the row, or was cut short there.
func (h *Host) agree(ctx context.Context, p *Prepared, runID string, m *artifact.Metadata, payload []byte,
	held bool) error {
	mismatch := func(problem string) error {
		return &artifact.MismatchError{RunID: runID, Problems: []string{"metadata.json " + problem}}
	}
	if m.RunID != runID || m.RequestHash != p.RequestHash {
		return mismatch("is of another run")
	}
	row, err := h.Registry.Get(ctx, runID)
	if err != nil || bytes.Equal(row.Payload, payload) {
		return err
	}
	known, err := artifact.DecodeMetadata(row.Payload)
	same := err == nil && known.ResultHash != nil && m.ResultHash != nil && *known.ResultHash == *m.ResultHash
	if !same || !held && known.ArtifactLevel == m.ArtifactLevel {
		return mismatch("differs from the registry's row")
	}
	return nil
}

// Replay is one play of a request under other conditions. Nothing of it is stored.
type Replay struct {
	// ID names the split in decision lines. Plays whose decision hashes are compared have
	// the same.
	ID string `json:"id"`
	// From and To are candles of the request's timeline, half-open.
	From int `json:"from"`
	To   int `json:"to"`
	// Params and Execution replace those of the request where they are given.
	Params    json.RawMessage `json:"params,omitempty"`
	Execution json.RawMessage `json:"execution,omitempty"`
	// CostTenths multiplies fees and slippage by tenths: 15 is half as much again; 0 and 10
	// are as they are.
	CostTenths int `json:"cost_tenths,omitzero"`
	// DelayCandles and WorstPrice are stress, see sim.Config.
	DelayCandles int  `json:"delay_candles,omitzero"`
	WorstPrice   bool `json:"worst_price,omitzero"`
	// MoveInputs moves the times of the inputs' rows where those of the candles were moved; no capsule has
	// such rows, and no worker makes such a replay.
	MoveInputs func(market.Time) market.Time `json:"-"`
	// Seed replaces that of the request unless it is 0.
	Seed uint64 `json:"seed,omitzero"`
	// Drive is how the plugin is driven.
	Drive run.Drive `json:"drive"`
	// Lines keeps the decision lines.
	Lines bool `json:"lines,omitzero"`
	// Series keeps every point that the strategy publishes.
	Series bool `json:"series,omitzero"`
	// Books keeps what the account did: without it Results are hash, cash and value only, Input is empty.
	Books bool `json:"books,omitzero"`
}

// Replayed is how a replay went.
type Replayed struct {
	// Failure is why the plugin did not come to the end; the rest is what there was until
	// then, Results nil where nothing was.
	Failure *artifact.Failure
	// Capsule is that of the failure, nil where none was asked for or kept.
	Capsule *capsule.Note
	Results *artifact.Results
	// Trades is how many round trips were closed.
	Trades int
	// Input is what the metrics were computed from.
	Input metric.Input
	// Books reports that Results and Input are whole.
	Books bool
	// Metrics are not cut for samples that are too small.
	Metrics metric.Values
	// Lines are the decision lines, each ended by a newline.
	Lines []byte
	// Published is what the strategy published in the window.
	Published run.Published
	// Sandbox is the level that the process ran under, "" if there was none.
	Sandbox string
	// Lead is how many candles of warm-up lay before the window, Short how many of its own
	// candles served as warm-up.
	Lead  int64
	Short int
}

// ReplayOptions are how replays are made.
type ReplayOptions struct {
	// Workers play side by side; the host's number if 0.
	Workers int
	// Plain leaves out the encryption between host and plugin, as in a search.
	Plain bool
	// Capsules keeps a capsule of each replay whose plugin failed, with those of the
	// request's run.
	Capsules bool
	// Done is called with each replay when it has ended, one at a time and in no order; the index
	// is that of the list. An error ends the others.
	Done func(i int, r *Replayed) error
}

// Candles is how many candles the timeline of a request has.
func (p *Prepared) Candles() int { return len(p.timeline.closes) }

// CloseAt is the close time of a candle of the timeline.
func (p *Prepared) CloseAt(i int) market.Time { return p.timeline.closes[i] }

// OpenAt is the open time of a candle of the timeline.
func (p *Prepared) OpenAt(i int) market.Time { return p.timeline.opens[i] }

// Datasets are the pinned files of the request's symbols, in their order.
func (p *Prepared) Datasets(ctx context.Context) ([]candle.Dataset, error) {
	tf, err := market.ParseTimeframe(p.Request.Timeframe)
	if err != nil {
		return nil, err
	}
	var list []candle.Dataset
	for _, s := range p.Request.Symbols {
		d, err := p.candles.Pinned(ctx, p.Request.Exchange, market.Symbol(s), tf, p.pins[market.Symbol(s)])
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// Store is where the request's candles are.
func (p *Prepared) Store() *candle.Store { return p.candles }

// On is the same request on other candles: those that a store has now of the symbols,
// from the first to the last, however few, and not split. It shares the program with the
// original, which must be closed last, and its capsules go to the original's run.
func (h *Host) On(ctx context.Context, p *Prepared, store *candle.Store,
	symbols []string) (*Prepared, error) {
	v := &Prepared{Request: p.Request, Strategy: p.Strategy, catalog: p.catalog, borrowed: true,
		candles: store, whole: true, launchers: &launchers{}}
	v.Request.Symbols, v.Request.Pins = symbols, p.inputPins()
	v.Request.Start, v.Request.End = nil, nil
	err := v.compose(h, func() error { return h.data(ctx, v) })
	v.RunID = p.RunID
	return v, err
}

// Other is the same request asked of another program on the same candles. What the program
// needs is kept in a folder, which may be removed after Close. Its capsules would go to the
// original's run.
func (h *Host) Other(
	ctx context.Context, p *Prepared, program project.Built, folder string,
) (_ *Prepared, err error) {
	v := &Prepared{Request: p.Request, data: p.data, inputs: p.inputs,
		candles: p.candles, timeline: p.timeline,
		whole: p.whole, pins: p.pins, launchers: &launchers{}}
	v.Request.Plugin = program
	apart := *h
	apart.StateDir, apart.Reattach = folder, ""
	if v.catalog, err = apart.openPlugin(ctx, v.Request); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	if v.Strategy, err = lookUp(v.catalog, v.Request); err != nil {
		return nil, err
	}
	err = v.compose(h, func() error { return nil })
	v.RunID = p.RunID
	return v, err
}

// Replay makes replays side by side. The error is the first in the order of the list
// that is no failure of the plugin.
func (h *Host) Replay(ctx context.Context, p *Prepared, list []Replay, o ReplayOptions) error {
	spool := filepath.Join(h.StateDir, "tmp", "lab")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	launcher := h.launcher(p, spool, o.Plain)
	var telling sync.Mutex
	return FirstCause(SideBySide(cmp.Or(max(o.Workers, 0), h.workers()), len(list), func(i int) error {
		r, err := h.replayOne(work, launcher, p, list[i], o)
		if err == nil && o.Done != nil {
			telling.Lock()
			defer telling.Unlock()
			err = o.Done(i, r)
		}
		if err != nil {
			cancel()
		}
		return err
	}))
}

func (h *Host) replayOne(ctx context.Context, l *run.Launcher, p *Prepared, r Replay,
	o ReplayOptions) (*Replayed, error) {
	played, err := h.playOne(ctx, l, p, job{Replay: r, keep: true})
	if err != nil {
		return nil, err
	}
	out := &Replayed{
		Failure: played.failure, Results: played.results, Input: played.input, Lead: played.lead,
		Short: played.short,
	}
	if x := out.Results; x != nil {
		if out.Trades, out.Books = len(x.Trades), r.Books; x.Metrics != nil {
			out.Metrics = x.Metrics.Metrics
		}
		if !r.Books {
			out.Input, out.Results = metric.Input{}, &artifact.Results{DecisionHash: x.DecisionHash,
				InitialCash: x.InitialCash, FinalValue: x.FinalValue}
		}
	}
	out.Published, out.Sandbox = played.published, played.sandbox
	if out.Failure != nil && o.Capsules {
		out.Capsule = h.capturer().capture(ctx, p, &played)
	}
	if r.Lines && played.decisions != nil {
		var b bytes.Buffer
		err = played.decisions(&b)
		out.Lines = b.Bytes()
	}
	if played.close != nil {
		err = errors.Join(err, played.close())
	}
	return out, err
}

// Describe is how the plugin of a request describes itself.
func (h *Host) Describe(ctx context.Context, q Request) (*catalog.Strategy, error) {
	c, err := h.openPlugin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return lookUp(c, q)
}

// Decisions plays the first candles, and before them those until every symbol has joined,
// several times, each in a fresh process, and returns the decision hashes. The failure is that of the first
// run whose plugin failed.
func (h *Host) Decisions(ctx context.Context, p *Prepared, candles,
	times int) ([]string, *artifact.Failure, error) {
	jobs := make([]job, times)
	for i := range jobs {
		jobs[i] = job{Replay: Replay{ID: "full", To: min(p.joined()+candles, len(p.timeline.closes))}}
	}
	played, err := h.play(ctx, p, jobs, nil)
	if err != nil {
		return nil, nil, err
	}
	var hashes []string
	for i := range played {
		if played[i].failure != nil {
			return nil, played[i].failure, nil
		}
		hashes = append(hashes, played[i].results.DecisionHash)
	}
	return hashes, nil, nil
}

// Excerpt plays what opens in [from, to) of a request by itself, and returns its decision hash.
func (p *Prepared) Excerpt(ctx context.Context, h *Host, from, to market.Time) (string, error) {
	spool := filepath.Join(h.StateDir, "tmp", "lab")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return "", err
	}
	split := run.Split{Seed: p.Request.Seed, Pins: p.pins}
	sum, _, err := h.launcher(p, spool, true).Excerpt(ctx, p.RunID, p.request, split, from, to)
	return sum, err
}
