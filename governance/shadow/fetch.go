package shadow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/exchange/wire/launch"
	"github.com/assay-run/assay/host/fetch"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// fetchFolder holds the candles that the worker has fetched, below the root: in a state
	// directory of their own, so that no file that somebody imports is among them. Each endpoint
	// has one, too.
	fetchFolder = "shadow"
	// history is how many candles before the first day are fetched at first. Where the warm-up of
	// a program takes more, so many times more are.
	history, histories = 1000, 6
)

// marketDir is the state directory of what is fetched from an endpoint.
func marketDir(root, endpoint string) (string, error) {
	if endpoint == "" {
		return filepath.Join(root, fetchFolder, "exchange"), nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("the endpoint %q is not an address like http://127.0.0.1:8080", endpoint)
	}
	return filepath.Join(root, fetchFolder, strings.ReplaceAll(u.Host, ":", "_")), nil
}

// fetches reports whether candles come from the exchange.
func (s *Stage) fetches() bool { return s.opts.Source == bundle.SourceExchange }

// bring fetches candles of all symbols that open in [from, to), but for those that are there.
func (s *Stage) bring(ctx context.Context, rules *artifact.Request, from, to time.Time) error {
	tf, err := timeframeOf(rules)
	if err != nil || !s.fetches() {
		return err
	}
	return s.bringWindow(ctx, rules, from.Add(-history*tf.Approx()), to)
}

// bringWindow fetches candles of all symbols that open in [from, to), and none for a warm-up.
func (s *Stage) bringWindow(ctx context.Context, rules *artifact.Request, from, to time.Time) error {
	tf, err := timeframeOf(rules)
	if err != nil {
		return err
	}
	for _, name := range rules.Symbols {
		err := s.bringSeries(ctx, fetch.Request{
			Exchange: rules.Exchange, Symbol: market.Symbol(name), Timeframe: tf, Now: s.opts.Now,
			From: market.FromTime(from), To: market.FromTime(to),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timeframeOf is the timeframe of a request, of a day at most.
func timeframeOf(rules *artifact.Request) (market.Timeframe, error) {
	tf, err := market.ParseTimeframe(rules.Timeframe)
	if err == nil && tf.Approx() > 24*time.Hour {
		err = errLong
	}
	return tf, err
}

// bringSeries fetches what a series lacks of a request: before its begin and after its end, so that
// no candle is asked for twice.
func (s *Stage) bringSeries(ctx context.Context, req fetch.Request) error {
	req.From = max(req.From, 0)
	have, ok, err := fetch.Current(ctx, s.market, req)
	if err != nil {
		return err
	}
	parts := []fetch.Request{req}
	if ok {
		before, after := req, req
		before.To, after.From = have.Start(), have.End() // a series has no hole
		parts = slices.DeleteFunc([]fetch.Request{before, after},
			func(r fetch.Request) bool { return r.From >= r.To })
	}
	if len(parts) == 0 {
		return nil
	}
	source, err := fetch.Open(ctx, fetch.Options{
		Dir: s.opts.Connectors, StateDir: s.opts.Root, Connector: req.Exchange, Endpoint: s.opts.Endpoint,
		Listed: true, Symbol: req.Symbol, Timeframe: req.Timeframe, Sandbox: sandbox.Mode(s.opts.Sandbox),
		Logger: s.opts.Log.Named("connectors"),
	})
	if missing := new(launch.NotFoundError); errors.As(err, &missing) {
		return fmt.Errorf("there is no connector %s in %s: name the folder with --connectors; "+
			"--source import takes candles of files, which count for no gate of live", req.Exchange,
			s.opts.Connectors)
	}
	if err != nil {
		return fmt.Errorf("fetch %s from %s: %w", req.Symbol, req.Exchange, err)
	}
	defer source.Close()
	for _, part := range parts {
		_, err := fetch.Run(ctx, s.market, s.marketDir, source, part)
		if none := new(importer.Error); errors.As(err, &none) && none.Code == importer.NoRows {
			continue // the exchange has no more
		}
		if err != nil {
			return fmt.Errorf("fetch %s from %s: %w", req.Symbol, req.Exchange, err)
		}
	}
	return nil
}

// playNew plays a window on the newest candles. Where the warm-up lacks some and the exchange has
// them, it fetches them and plays again.
func (p *player) playNew(ctx context.Context, q playRequest) (*played, error) {
	s := p.w.Stage
	got, err := s.play(ctx, p.c, q)
	for n := 0; err == nil && got.short > 0 && s.fetches() && n < histories; n++ {
		var more bool
		if more, err = s.earlier(ctx, q.rules, got.short); err != nil || !more {
			break
		}
		got, err = s.play(ctx, p.c, q)
	}
	return got, err
}

// earlier fetches more candles before those that are there, and reports whether there were any.
func (s *Stage) earlier(ctx context.Context, rules *artifact.Request, n int) (more bool, err error) {
	tf, err := timeframeOf(rules)
	if err != nil {
		return false, err
	}
	for _, name := range rules.Symbols {
		req := fetch.Request{Exchange: rules.Exchange, Symbol: market.Symbol(name), Timeframe: tf,
			Now: s.opts.Now}
		old, ok, err := fetch.Current(ctx, s.market, req)
		if err != nil || !ok {
			return false, err
		}
		req.From, req.To = old.Start().Add(-time.Duration(n+history)*tf.Approx()), old.Start()
		if err := s.bringSeries(ctx, req); err != nil {
			return false, err
		}
		now, _, err := fetch.Current(ctx, s.market, req)
		if err != nil {
			return false, err
		}
		more = more || now.Start() < old.Start()
	}
	return more, nil
}

// answers are those of the exchange that hold candles of the datasets from a time on, and before
// another one. What each fetch has left is dropped once no revision waits for its days.
func (p *player) answers(ctx context.Context, data []dataset,
	from, to time.Time) ([]bundle.ShadowFetch, error) {
	s := p.w.Stage
	if !s.fetches() {
		return nil, nil
	}
	list := []bundle.ShadowFetch{}
	for i := range data {
		line, err := s.line(ctx, data[i].Dataset)
		if err != nil {
			return nil, err
		}
		needed := 0
		for n, d := range line {
			f := d.Report.Fetched
			for _, page := range f.Pages {
				end := d.Timeframe.Next(page.Last)
				if end.Time().After(p.oldest) {
					needed = n
				}
				if end.Time().After(from) && page.First.Time().Before(to) {
					list = append(list, fetchOf(d, page))
				}
			}
		}
		for n := len(line) - 1; n > needed; n-- {
			if _, err := s.market.Drop(ctx, line[n].SHA256); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(list, byTime)
	return list, nil
}

func byTime(a, b bundle.ShadowFetch) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Symbol, b.Symbol))
}

// pages are the answers of the exchange that hold candles of the datasets from a time on, and before
// another one.
func (s *Stage) pages(ctx context.Context, data []dataset, from, to time.Time) ([]bundle.ShadowFetch, error) {
	list := []bundle.ShadowFetch{}
	for i := range data {
		line, err := s.line(ctx, data[i].Dataset)
		if err != nil {
			return nil, err
		}
		for _, d := range line {
			for _, page := range d.Report.Fetched.Pages {
				if d.Timeframe.Next(page.Last).Time().After(from) && page.First.Time().Before(to) {
					list = append(list, fetchOf(d, page))
				}
			}
		}
	}
	slices.SortFunc(list, byTime)
	return list, nil
}

// fetchOf is one answer of the exchange.
func fetchOf(d candle.Dataset, page candle.FetchedPage) bundle.ShadowFetch {
	f := d.Report.Fetched
	return bundle.ShadowFetch{
		Symbol: string(d.Symbol), From: bundle.FormatTime(page.First.Time()),
		To: bundle.FormatTime(d.Timeframe.Next(page.Last).Time()), Rows: int64(page.Rows), Page: page.SHA256,
		RequestedAt: bundle.FormatTime(page.RequestedAt.Time()), Connector: f.Connector,
		Version: f.ConnectorVersion, SHA256: page.ConnectorSHA256, Endpoint: f.Endpoint,
	}
}

// line is a dataset and those that it was fetched onto, newest first, as far as they are there.
func (s *Stage) line(ctx context.Context, d candle.Dataset) (list []candle.Dataset, err error) {
	for d.Report.Fetched != nil {
		list = append(list, d)
		onto := d.Report.Fetched.Onto
		if onto == "" {
			break
		}
		d, err = s.market.Pinned(ctx, d.Exchange, d.Symbol, d.Timeframe, onto)
		if gone := new(candle.NotFoundError); errors.As(err, &gone) {
			break // dropped
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// fetchedAt is when the last of the answers came that hold candles of a day; ok is false where
// there is none.
func fetchedAt(list []bundle.ShadowFetch, day time.Time) (at time.Time, ok bool) {
	from, to := bundle.FormatTime(day), bundle.FormatTime(day.AddDate(0, 0, 1))
	last := ""
	for _, f := range list { // times in this form compare as their texts do
		if f.To > from && f.From < to {
			last = max(last, f.RequestedAt)
		}
	}
	at, err := time.Parse(time.RFC3339, last)
	return at, err == nil
}
