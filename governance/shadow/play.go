// Package shadow plays sealed revisions on candles that opened after their seal, and states
// what they did: the worker of `governance shadow`.
//
// It asks the plane what is to be played, takes the program from the artifacts by its hash, and
// drives it in lockstep (host/run): each candle is given out when the one before is answered, so
// that the program holds no later one, in a sandbox without network and files, so that it
// cannot look one up either. Its limits are held by those of a live run. What it comes to is
// signed as a shadow/v1 statement for whole UTC days, and posted to the plane, which alone draws
// conclusions (governance/promotion).
//
// Candles come from the exchange by its connector, from a store that nothing else writes to, or
// from files that somebody has imported (Options.Source); only the first count for live.
//
// A play begins at the first day anew each time: days that were stated before must come out the
// same, or nothing is stated. It imports what plays (host), governance/client and the contract;
// it keeps nothing but the candles that it has fetched.
package shadow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/govalues/decimal"
	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/exchange/wire/launch"
	strategybundle "github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Options say where revisions are played, and on which candles.
type Options struct {
	// Root holds the candles of the lab, and its runs/ and plugins/ where Artifacts is nil.
	Root string
	// Artifacts has runs/ and plugins/, as a bucket does.
	Artifacts fs.FS
	// Source is bundle.SourceExchange, or bundle.SourceImport for the candles of Root.
	Source string
	// Connectors is their folder, empty: that beside the executable. Endpoint replaces the base URL
	// of the exchange, which makes days unattested.
	Connectors, Endpoint string
	// Sandbox is require or auto.
	Sandbox string
	Now     func() time.Time
	Log     hclog.Logger
}

// Stage is the place where revisions are played: artifacts, candles and a folder for work.
type Stage struct {
	opts      Options
	work      *file.Workdir
	candles   *candle.Store // those that were searched on
	market    *candle.Store // those that came later
	marketDir string
}

// OpenStage opens the root. The caller closes it.
func OpenStage(ctx context.Context, o Options) (_ *Stage, err error) {
	if _, err := os.Stat(filepath.Join(o.Root, "data")); err != nil {
		return nil, fmt.Errorf("%s holds no candles: name the state directory of the lab with "+
			"--artifact-root", o.Root)
	}
	if err := o.findConnectors(); err != nil {
		return nil, err
	}
	s := &Stage{opts: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.work, err = file.NewWorkdir(filepath.Join(o.Root, "tmp", "shadow")); err != nil {
		return nil, err
	}
	if s.candles, err = candle.Open(ctx, o.Root); err != nil || !s.fetches() {
		s.market = s.candles
		return s, err
	}
	if s.marketDir, err = marketDir(o.Root, o.Endpoint); err == nil {
		s.market, err = candle.Open(ctx, s.marketDir)
	}
	return s, err
}

// findConnectors takes those beside the executable where candles are fetched and no others are named.
func (o *Options) findConnectors() (err error) {
	if o.Connectors != "" || o.Source != bundle.SourceExchange {
		return nil
	}
	if o.Connectors, err = launch.OwnFolder(); err != nil {
		return fmt.Errorf("the folder of the executable is not known (%w): name the connectors with "+
			"--connectors", err)
	}
	return nil
}

// Close removes the work and gives the candles back.
func (s *Stage) Close() (err error) {
	if s.market != nil && s.market != s.candles {
		err = s.market.Close()
	}
	if s.candles != nil {
		err = errors.Join(err, s.candles.Close())
	}
	if s.work != nil {
		err = errors.Join(err, s.work.Close())
	}
	return err
}

// program opens the program of a revision, its bytes checked against the bundle's hash.
func (s *Stage) program(ctx context.Context, b *bundle.Bundle) (*catalog.Catalog, error) {
	sum := b.Strategy.Plugin.SHA256
	text, err := s.artifact("plugins/" + sum)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the program sha256 %.12s… is not in %s: copy plugins/%s of the lab's "+
			"state directory there", sum, s.where(), sum)
	}
	if err != nil {
		return nil, err
	}
	if digest.SHA256Hex(text) != sum {
		return nil, fmt.Errorf("plugins/%s is not the program that was sealed", sum)
	}
	if err := s.files(sum, text); err != nil {
		return nil, err
	}
	dir, name := filepath.Join(s.work.Dir(), "programs", sum), b.Strategy.Name
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := file.Write(filepath.Join(dir, name), text, 0o700); err != nil {
		return nil, err
	}
	c, err := catalog.Open(ctx, catalog.Options{
		Dir: dir, Only: []string{name}, StateDir: s.work.Dir(), Sandbox: sandbox.Mode(s.opts.Sandbox),
		Logger: s.opts.Log,
	})
	if err != nil {
		return nil, err
	}
	list := c.Strategies()
	if len(list) != 1 || list[0].Error != nil || list[0].SHA256 != sum {
		defer c.Close()
		if len(list) == 1 && list[0].Error != nil {
			return nil, fmt.Errorf("the program cannot be used: %s", list[0].Error.Message)
		}
		return nil, errors.New("the program describes no strategy, or another one")
	}
	return c, nil
}

// artifact reads a file below runs/ or plugins/.
func (s *Stage) artifact(name string) ([]byte, error) {
	if s.opts.Artifacts != nil {
		return fs.ReadFile(s.opts.Artifacts, name)
	}
	return os.ReadFile(filepath.Join(s.opts.Root, filepath.FromSlash(name)))
}

// where is what errors call the place of artifacts.
func (s *Stage) where() string {
	if s.opts.Artifacts != nil {
		return "--artifacts"
	}
	return s.opts.Root
}

// files copies what a bundle consists of to where it is executed from; of a program there is nothing
// besides itself.
func (s *Stage) files(sum string, text []byte) error {
	if !strategybundle.IsManifest(text) {
		return nil
	}
	m, err := strategybundle.Parse(text)
	if err != nil {
		return fmt.Errorf("plugins/%s: %w", sum, err)
	}
	programs := filepath.Join(s.work.Dir(), "plugins")
	if s.opts.Artifacts != nil {
		err := strategybundle.Receive(s.opts.Artifacts, text, filepath.Join(programs, sum), func(int64) {})
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	from := strategybundle.PlaceIn(filepath.Join(s.opts.Root, "plugins"))
	if err := m.Copy(sum, from, strategybundle.PlaceIn(programs)); err != nil {
		return fmt.Errorf("the files of the bundle sha256 %.12s… are not those that were sealed: copy the "+
			"folders that it names below plugins/bundles of the lab's state directory, or push a run of it "+
			"into the bucket of --artifacts: %w", sum, err)
	}
	return nil
}

// playRequest is one play: of [Start, End), with pins of candles where they are not the newest.
type playRequest struct {
	b          *bundle.Bundle
	rules      *artifact.Request // money and execution of the baseline
	cash       json.Number
	limits     *risk.Limits
	pins       map[market.Symbol]string
	start, end time.Time
}

// played is what a play came to, day by day from the first.
type played struct {
	days    []bundle.ShadowDay
	fills   []market.Fill
	curve   curve
	sandbox string
	short   int // candles that the warm-up lacks
}

// play drives the program over the candles of a window.
func (s *Stage) play(ctx context.Context, c *catalog.Catalog, q playRequest) (*played, error) {
	rules, err := openEnded(q.rules.Execution)
	if err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(q.rules.Seed, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the seed of the baseline: %w", err)
	}
	req := request(c, q, market.FromTime(q.start), market.FromTime(q.end))
	req.InitialCash, req.Execution = q.cash, rules
	store := s.market
	if q.pins != nil {
		store = s.candles
	}
	x, err := s.launcher(c, store).LaunchSplit(ctx, "shadow", req,
		run.Split{Seed: seed, Pins: q.pins, Limits: q.limits, Drive: run.Drive{Lockstep: true}})
	if err != nil {
		return nil, err
	}
	outcome := x.Run(ctx)
	results, in, level, short := x.Results(), x.Input(), x.Manifest().Sandbox, x.WarmupShort()
	if err := x.Close(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if outcome.Failure != nil {
		return nil, fmt.Errorf("the program failed: %s: %s", outcome.Failure.Code, outcome.Failure.Message)
	}
	cash, err := q.cash.Float64()
	if err != nil {
		return nil, err
	}
	days := daily(q.start, q.end, cash, in.Curves[0].OpenTime, in.Curves[0].Equity)
	count(days, q.start, results.Fills, results.Trades)
	account := curve{cash, slices.Clone(in.Curves[0].OpenTime), slices.Clone(in.Curves[0].Equity)}
	return &played{days: days, fills: results.Fills, curve: account, sandbox: level, short: short}, nil
}

// launcher starts plays of a program.
func (s *Stage) launcher(c *catalog.Catalog, store *candle.Store) *run.Launcher {
	return run.NewLauncher(run.Options{
		Catalog: c, Store: store, Logger: s.opts.Log, SpoolDir: s.work.Dir(), Many: true,
		Engine: artifact.Engine{Name: "governance shadow"},
	})
}

// request is a question by the rules of the baseline over a window.
func request(c *catalog.Catalog, q playRequest, from, to market.Time) runner.StartRequest {
	start, end := from.String(), to.String()
	return runner.StartRequest{
		Mode: runner.ModeBacktest, StrategyName: c.Strategies()[0].Name, StrategyParams: q.b.Strategy.Params,
		Symbols: q.b.Strategy.Symbols, Timeframe: q.rules.Timeframe, Exchange: q.rules.Exchange,
		StartDate: &start, EndDate: &end, InitialCash: json.Number(q.rules.InitialCash),
		Execution: q.rules.Execution,
	}
}

// answer plays the window of a challenge by the rules and on the candles of the baseline, as a
// replay does, without the limits of a live run.
func (s *Stage) answer(ctx context.Context, c *catalog.Catalog, q playRequest,
	asked *bundle.Challenge) (a *bundle.ChallengeAnswer, sandbox string, err error) {
	from, to, err := asked.Window(q.rules.Timeframe)
	if err != nil {
		return nil, "", err
	}
	seed, err := strconv.ParseUint(q.rules.Seed, 10, 64)
	if err != nil {
		return nil, "", fmt.Errorf("the seed of the baseline: %w", err)
	}
	whole := request(c, q, q.rules.StartDate, q.rules.EndDate)
	sum, sandbox, err := s.launcher(c, s.candles).Excerpt(ctx, "challenge", whole,
		run.Split{Seed: seed, Pins: pinsOf(q.rules)}, from, to)
	if err != nil {
		return nil, "", err
	}
	return &bundle.ChallengeAnswer{Challenge: *asked, DecisionSHA256: sum}, sandbox, nil
}

// openEnded is execution rules without an exit at the end of the candles: the days go on.
func openEnded(rules json.RawMessage) (json.RawMessage, error) {
	members := map[string]any{}
	if err := json.Unmarshal(rules, &members); err != nil {
		return nil, fmt.Errorf("the execution rules of the baseline: %w", err)
	}
	members["close_at_end"] = false
	return digest.JCS(members)
}

// daily is the net return of each UTC day of a window: the equity at its last close against
// that of the day before. A day without candles is idle.
func daily(from, to time.Time, cash float64, opens []market.Time, equity []float64) []bundle.ShadowDay {
	var list []bundle.ShadowDay
	level, i := cash, 0
	for day := from.UTC().Truncate(24 * time.Hour); day.Before(to); day = day.AddDate(0, 0, 1) {
		before, end := level, market.FromTime(day.AddDate(0, 0, 1))
		for ; i < len(opens) && opens[i] < end; i++ {
			level = equity[i]
		}
		list = append(list, bundle.ShadowDay{Date: bundle.FormatDay(day), Return: net(before, level)})
	}
	return list
}

// net is the return of an account, 0 for one without money.
func net(before, level float64) float64 {
	if !(before > 0) {
		return 0
	}
	return level/before - 1
}

// count adds the executions and round trips of each day.
func count(days []bundle.ShadowDay, from time.Time, fills []market.Fill, trades []market.Trade) {
	begin := from.UTC().Truncate(24 * time.Hour)
	at := func(t market.Time) *bundle.ShadowDay {
		i := int(t.Time().Sub(begin) / (24 * time.Hour))
		if t.Time().Before(begin) || i >= len(days) {
			return &bundle.ShadowDay{} // outside of the window
		}
		return &days[i]
	}
	for _, f := range fills {
		at(f.Time).Fills++
	}
	for _, t := range trades {
		at(t.ExitTime).Trades++
	}
}

// errLong refuses candles that are longer than the days that are stated.
var errLong = errors.New("its candles are longer than a day, and days are what is stated")

// dataset is the newest candles of a symbol with their columns, until release is called.
type dataset struct {
	candle.Dataset
	series  *market.Series
	release func() error
}

// datasets opens the newest candles of each symbol of a bundle.
func (s *Stage) datasets(ctx context.Context, rules *artifact.Request) (list []dataset, err error) {
	tf, err := timeframeOf(rules)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(list))
		}
	}()
	for _, name := range rules.Symbols {
		d, err := s.market.Lookup(ctx, rules.Exchange, market.Symbol(name), tf)
		if err != nil {
			return list, err
		}
		f, err := s.market.OpenSeries(d)
		if err != nil {
			return list, err
		}
		list = append(list, dataset{d, f.Series(), f.Close})
	}
	return list, nil
}

func closeAll(list []dataset) (err error) {
	for _, d := range list {
		err = errors.Join(err, d.release())
	}
	return err
}

// closedBy is the begin of the first UTC day that is not wholly in the candles of all symbols.
func closedBy(list []dataset, now time.Time) time.Time {
	last := now.UTC().Truncate(24 * time.Hour)
	for _, d := range list {
		if end := d.End().Time().UTC().Truncate(24 * time.Hour); end.Before(last) {
			last = end
		}
	}
	return last
}

// declared is the limits of a bundle as a live run has them, and the capital as money to begin
// with.
func declared(l *bundle.Limits) (*risk.Limits, json.Number, error) {
	var bad error
	amount := func(text string) *decimal.Decimal {
		if text == "" {
			return nil
		}
		d, err := decimal.Parse(text)
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("the limit %s: %w", text, err))
		}
		return &d
	}
	entry := risk.Entry{
		MaxOrderNotional: amount(l.MaxOrderValue), MaxPositionNotional: amount(l.MaxPositionValue),
		MaxGrossNotional: amount(l.MaxCapital), MaxDailyLossAmount: amount(l.MaxDailyLoss),
		MaxDrawdown: amount(l.MaxDrawdown), OrdersPerMinute: &l.MaxOrdersPerMinute,
	}
	if l.PriceCollarBps != nil {
		d, err := decimal.NewFromFloat64(*l.PriceCollarBps / 10000)
		bad = errors.Join(bad, err)
		entry.PriceCollar = &d
	}
	if bad != nil {
		return nil, "", bad
	}
	limits := risk.Defaults(false)
	limits.MaxDrawdown, limits.MaxDailyLoss = decimal.One, decimal.One // those declared count
	limits = limits.Tighten(entry)
	return &limits, json.Number(l.MaxCapital), nil
}

// sameDays compares the days that are known with those that were played.
func sameDays(played []bundle.ShadowDay, n int64, want string) (bool, error) {
	if n > int64(len(played)) {
		return false, nil
	}
	sum, err := bundle.ShadowHistory(played[:n])
	return sum == want, err
}

// pinsOf are the candles that a run was played on.
func pinsOf(r *artifact.Request) map[market.Symbol]string {
	pins := map[market.Symbol]string{}
	for _, d := range r.Inputs.Data {
		if slices.Contains(r.Symbols, d.Symbol) || candle.IsInput(d.Symbol) {
			pins[market.Symbol(d.Symbol)] = d.SHA256
		}
	}
	return pins
}
