package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/falsify"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// world is what all cases share.
type world struct {
	dir      string // for the state directories
	reattach string
	engine   artifact.Engine
	plugin   project.Built
	seed     uint64
	profile  profile.Profile
	saved    *saved
}

// The money and the names of the calibrated market. So little cash against the volume
// leaves capacity alone, which is a matter of size and not of skill.
const (
	cash     = "100"
	exchange = "calibration"
	symbol   = market.Symbol("SIM/USDT")
	// The coins of a family of numbered noise, too far apart to be neighbours.
	numberedFirst, numberedApart = 50, 100

	noCosts = `{"fee_maker":0,"fee_taker":0,"slippage_bps":0}`
)

// judge makes case i of a setting in a folder of its own.
func (w *world) judge(ctx context.Context, s *setting, i int, folder string) (_ *verdict, err error) {
	dir := filepath.Join(w.dir, folder)
	if err := os.MkdirAll(filepath.Join(dir, "candles"), 0o700); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := w.open(ctx, s, dir, caseNumber(s, i))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Registry.Close(), h.Candles.Close()) }()
	runID, err := w.search(ctx, h, s, i)
	if err != nil {
		return nil, err
	}
	base, err := falsify.Open(ctx, h, s.Strategy, runID)
	if err != nil {
		return nil, err
	}
	found, err := falsify.Run(ctx, h, base, falsify.Options{Profile: w.profile})
	if err != nil {
		return nil, err
	}
	return &verdict{found.Summary.Overall, found.Summary.Tests}, nil
}

func (w *world) open(ctx context.Context, s *setting, dir string, index uint64) (*request.Host, error) {
	h := &request.Host{
		StateDir: dir, Artifacts: artifact.NewStore(filepath.Join(dir, "runs")), Engine: w.engine,
		Sandbox: sandbox.Off, Workers: 1, Plain: true,
		Logger: hclog.NewNullLogger(), Reattach: w.reattach,
	}
	var err error
	if s.Sample {
		h.Candles, err = candle.Open(ctx, dir)
	} else {
		h.Candles, err = candle.Temporary(ctx, filepath.Join(dir, "candles"), []candle.PutRequest{
			{Exchange: exchange, Series: series(symbol, w.seed, index, s.Drift)},
		})
	}
	if err != nil {
		return nil, err
	}
	if h.Registry, err = registry.Open(ctx, h.Artifacts, nil); err != nil {
		return nil, errors.Join(err, h.Candles.Close())
	}
	return h, nil
}

// search runs the trials of the setting and returns the run that is to be judged.
func (w *world) search(ctx context.Context, h *request.Host, s *setting, i int) (string, error) {
	first := 0 // the first coin of noise; an edge is a trial of its own
	rivals := s.Strategy
	if !s.isNoise() && s.Strategy != numberedName {
		first, rivals = 1, noiseName
	}
	best, ratio := 0, -1e9
	for k := first; k < s.Trials && s.Trials > 1; k++ {
		q := w.question(s, rivals, i, k)
		q.Kind = artifact.KindTrial
		a, err := answer(ctx, h, q, true)
		if err != nil {
			return "", err
		}
		if a.Report.WalkForward == nil {
			continue
		}
		if x, ok := a.Report.WalkForward.Metrics.Get("sharpe_ratio"); ok && x > ratio {
			best, ratio = k, x
		}
	}
	a, err := answer(ctx, h, w.question(s, s.Strategy, i, best), false)
	if err != nil {
		return "", err
	}
	if a.Failure != nil {
		return "", fmt.Errorf("%s: %s", s.Name, a.Failure.Message)
	}
	return a.RunID, nil
}

func answer(ctx context.Context, h *request.Host, q request.Request, compact bool) (*request.Result, error) {
	p, err := h.Prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return h.Run(ctx, p, request.Options{Compact: compact})
}

// question is that of a strategy in case i; k is the coin of noise.
func (w *world) question(s *setting, name string, i, k int) request.Request {
	q := request.Request{
		Kind: artifact.KindRun, Slug: name, FamilyID: "calibration", Plugin: w.plugin,
		Params: json.RawMessage("{}"), Symbols: []string{string(symbol)},
		Timeframe: "1d", Exchange: exchange, InitialCash: json.RawMessage(cash),
		Execution: json.RawMessage("{}"),
		Splits:    split.Scheme{Scheme: split.Default}, Holding: 1, Stress: []string{}, Seed: w.seed,
	}
	if s.Sample {
		q.Symbols, q.Timeframe, q.Exchange = []string{"BTC/USDT"}, "1h", "sample"
	}
	if s.Free {
		q.Execution = json.RawMessage(noCosts)
	}
	if name == noiseName {
		q.Params = fmt.Appendf(nil, `{"coin":"%d/%d","timeframe":%q}`, i, k, q.Timeframe)
	}
	if name == numberedName {
		q.Params = fmt.Appendf(nil, `{"market":"%d","coin":%d}`, i, numberedFirst+k*numberedApart)
	}
	if s.Row != "" {
		q.Params = rowParams(name, w.seed, caseNumber(s, i))
	}
	return q
}
