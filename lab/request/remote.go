package request

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/govalues/decimal"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Player plays trials elsewhere.
type Player interface {
	// Play returns every file of the run. An *Error whose code is one of a strategy is how it went there.
	Play(ctx context.Context, p *Prepared, e Errand) (map[string][]byte, error)
}

// Errand is what a run needs to know besides its request, so that its files are those of a run here.
type Errand struct {
	Attempt  int
	Plan     Plan
	PostPeek bool
	// Apart gives each split a process of its own.
	Apart bool
}

// Ahead is a trial that is played elsewhere before it is claimed: a Player of that one. Whoever claims it has
// what came back if the errand is what was foreseen, and else lets it be played once more.
type Ahead struct {
	host   *Host
	errand Errand
	cancel context.CancelFunc
	done   chan struct{}
	files  map[string][]byte
	err    error
}

// PlayAhead begins to play a trial elsewhere that may never be claimed, so that nothing of it is written down
// here; nil where there is nothing to play. Drop must be called.
func PlayAhead(ctx context.Context, h *Host, p *Prepared, plan Plan) (*Ahead, error) {
	c, err := registry.Foresee(ctx, h.Registry, p.RequestHash)
	if err != nil || c.Standing != registry.Execute {
		return nil, err
	}
	key, err := p.Manifest.Request.TrialKey()
	if err != nil {
		return nil, err
	}
	post, err := h.Registry.PostPeek(ctx, p.Manifest.Request.FamilyID, key, p.RunID, plan.ID)
	if err != nil {
		return nil, err
	}
	a := &Ahead{host: h, done: make(chan struct{}),
		errand: Errand{Attempt: c.Attempt, Plan: plan, PostPeek: post, Apart: h.Session == nil}}
	ctx, a.cancel = context.WithCancel(ctx)
	go func() {
		defer close(a.done)
		a.files, a.err = h.Elsewhere.Play(ctx, p, a.errand)
	}()
	return a, nil
}

// Play is Player.
func (a *Ahead) Play(ctx context.Context, p *Prepared, e Errand) (map[string][]byte, error) {
	if e != a.errand {
		return a.host.Elsewhere.Play(ctx, p, e)
	}
	select {
	case <-a.done:
		return a.files, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Drop ends it.
func (a *Ahead) Drop() {
	a.cancel()
	<-a.done
}

// fetch lets a trial be played elsewhere and stores what comes back under the lease.
func (a *pendingRun) fetch(work context.Context, attempt int) (*Result, error) {
	h := a.host
	files, err := h.Elsewhere.Play(work, a.Prepared,
		Errand{Attempt: attempt, Plan: a.options.Plan, PostPeek: a.postPeek, Apart: h.Session == nil})
	if err != nil {
		return nil, err
	}
	if digest.SHA256Hex(files["request.json"]) != a.RequestHash {
		return nil, &artifact.MismatchError{RunID: a.RunID,
			Problems: []string{"request.json from a worker is that of another question"}}
	}
	if err := h.Registry.Renew(work, a.RequestHash, a.owner); err != nil {
		return nil, err
	}
	w, err := a.receive(files)
	if err != nil {
		return nil, err
	}
	if err := h.Registry.Complete(context.WithoutCancel(work), w.Metadata, w.Payload); err != nil {
		return nil, err
	}
	answer := &Result{RunID: a.RunID, RequestHash: a.RequestHash, Metadata: w.Metadata, Report: w.Report}
	answer.noteFailure()
	return answer, nil
}

// Perform plays a trial for another host and returns every file of the run, of which nothing stays here.
func Perform(ctx context.Context, h *Host, p *Prepared, e Errand) (_ map[string][]byte, err error) {
	p.postPeek = e.PostPeek
	defer func() { err = errors.Join(err, os.RemoveAll(h.Artifacts.Dir(p.RunID))) }()
	_, err = h.execute(ctx, p, Options{Compact: true, Plan: e.Plan}, e.Attempt,
		func(run *artifact.Run, _ []played) (*artifact.Written, error) { return h.Artifacts.Replace(run) })
	if err != nil {
		return nil, err
	}
	return h.Artifacts.Parcel(p.RunID)
}

// Supplies are what a host that has nothing needs to play the trials of a request. Program, candles and
// inputs are named by their hashes.
type Supplies struct {
	Request     Request        `json:"question"`
	StepLimitMS int64          `json:"step_limit_ms"`
	Candles     []CandleSupply `json:"candles"`
	Inputs      []string       `json:"inputs"`
	// Bundle reports whether the program is a bundle, whose hash is that of its manifest.
	Bundle bool `json:"bundle,omitempty"`
}

// CandleSupply is one candle file and what the catalogue knows of it beside its content.
type CandleSupply struct {
	Symbol     market.Symbol   `json:"symbol"`
	SHA256     string          `json:"sha256"`
	Calendar   candle.Calendar `json:"calendar"`
	PriceStep  decimal.Decimal `json:"price_step"`
	VolumeUnit string          `json:"volume_unit"`
}

// SuppliesOf are those of a request, with the path of each file by its hash.
func SuppliesOf(ctx context.Context, h *Host, p *Prepared) (*Supplies, map[string]string, error) {
	q := p.Request
	if h.Reattach != "" {
		return nil, nil, Errorf(CodeUsage, "workers play no strategy under a debugger: leave --on out").
			With("flag", "--on")
	}
	s := &Supplies{StepLimitMS: h.StepLimit.Milliseconds(), Candles: []CandleSupply{}, Inputs: []string{},
		Bundle: bundle.IsDocument(q.Plugin.Path)}
	files := map[string]string{q.Plugin.SHA256: q.Plugin.Path}
	if s.Bundle {
		documents, err := bundle.Documents(q.Plugin.Path)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(files, documents)
	}
	q.Plugin.Path, q.Pins = filepath.Base(q.Plugin.Path), map[string]string{}
	if q.Plugin.Path == q.Plugin.SHA256 { // the copy of a run
		q.Plugin.Path = q.Slug
	}
	candles, paths, err := CandlesOf(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(files, paths)
	for _, c := range candles {
		q.Pins[string(c.Symbol)] = "sha256:" + c.SHA256
	}
	s.Candles = candles
	stored, err := h.Candles.Inputs().Files()
	if err != nil {
		return nil, nil, err
	}
	for _, in := range p.inputs {
		q.Pins[in.Symbol] = "sha256:" + in.SHA256
		s.Inputs = append(s.Inputs, in.SHA256)
		for _, f := range stored {
			if f.SHA256 == in.SHA256 {
				files[f.SHA256] = f.Path
			}
		}
	}
	s.Request = q
	return s, files, nil
}

// BundleIn is where a bundle of supplies is in the folder of files by their hashes: its manifest, beside its
// layers.
func (s *Supplies) BundleIn(blobs string) string {
	return filepath.Join(blobs, "bundles", s.Request.Plugin.SHA256+bundle.Suffix, bundle.ManifestFile)
}

// Files are the hashes of the files that supplies name. A bundle is none.
func (s *Supplies) Files() []string {
	list := slices.Clone(s.Inputs)
	if !s.Bundle {
		list = append([]string{s.Request.Plugin.SHA256}, list...)
	}
	for _, c := range s.Candles {
		list = append(list, c.SHA256)
	}
	return list
}

// Equipment is what a host that plays for others has of its own.
type Equipment struct {
	// Dir is an empty folder; the files of the supplies are in Blobs under their hashes.
	Dir, Blobs string
	Engine     artifact.Engine
	Sandbox    sandbox.Mode
	Logger     hclog.Logger
}

// Equip makes a host of supplies and prepares their request. Both must be closed: the request, then
// Host.Candles.
func Equip(ctx context.Context, o Equipment, s *Supplies) (_ *Host, _ *Prepared, err error) {
	q := s.Request
	bin := filepath.Join(o.Dir, "bin")
	inputs := filepath.Join(o.Dir, "data", "inputs")
	for _, dir := range []string{bin, inputs, filepath.Join(o.Dir, "runs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	if q.Plugin.Path != filepath.Base(q.Plugin.Path) || !filepath.IsLocal(q.Plugin.Path) {
		return nil, nil, fmt.Errorf("%q is not the name of a program", q.Plugin.Path)
	}
	q.Plugin.Path = filepath.Join(bin, q.Plugin.Path)
	if s.Bundle {
		q.Plugin.Path = s.BundleIn(o.Blobs)
	} else if err := copyFile(filepath.Join(o.Blobs, q.Plugin.SHA256), q.Plugin.Path, 0o700); err != nil {
		return nil, nil, err
	}
	q.Plugin = project.Built{Path: q.Plugin.Path, SHA256: q.Plugin.SHA256,
		SourceSHA256: q.Plugin.SourceSHA256, SDKSHA256: q.Plugin.SDKSHA256, SDKEdited: q.Plugin.SDKEdited}
	for _, sum := range s.Inputs {
		err := copyFile(filepath.Join(o.Blobs, sum), filepath.Join(inputs, sum+".csv"), 0o400)
		if err != nil {
			return nil, nil, err
		}
	}
	store, err := equipCandles(ctx, o, s)
	if err != nil {
		return nil, nil, err
	}
	h := &Host{StateDir: o.Dir, Candles: store, Artifacts: artifact.NewStore(filepath.Join(o.Dir, "runs")),
		Engine: o.Engine, Sandbox: o.Sandbox, StepLimit: time.Duration(s.StepLimitMS) * time.Millisecond,
		Workers: 1, Procs: 1, Plain: true, Logger: o.Logger}
	p, err := h.Prepare(ctx, q)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return h, p, nil
}

// equipCandles makes a store of exactly the candles of supplies.
func equipCandles(ctx context.Context, o Equipment, s *Supplies) (_ *candle.Store, err error) {
	tf, err := market.ParseTimeframe(s.Request.Timeframe)
	if err != nil {
		return nil, err
	}
	var sets []candle.PutRequest
	for _, c := range s.Candles {
		f, err := candlefile.Open(filepath.Join(o.Blobs, c.SHA256))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		series := *f.Series()
		series.Symbol, series.Timeframe = c.Symbol, tf
		sets = append(sets, candle.PutRequest{Exchange: s.Request.Exchange, Series: &series,
			Calendar: c.Calendar, PriceStep: c.PriceStep, VolumeUnit: c.VolumeUnit})
	}
	return candle.Temporary(ctx, filepath.Join(o.Dir, "data"), sets)
}

func copyFile(from, to string, mode os.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return file.Write(to, text, mode)
}

// Refuses reports whether a code is that of a request which a strategy does not take: it fails a trial, not
// its search. So does one that no worker brought to its end.
func Refuses(code string) bool {
	return code == CodeParams || code == CodeRunFailed || code == CodeTrialLost
}
