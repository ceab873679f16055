// Package holdout decides which candles are of one market, and from when on they are held out.
//
// A hold-out belongs to a market, not to a dataset or a name: datasets with 90 % equal rows
// of time and close are one market. It begins with the last fifth of the first dataset of a
// market and has no end, so that candles which come later are held out. It moves
// forward only, over candles that were looked at: what was not shown stays held out.
//
// The rows are in the registry of runs, which notes every look beside them. The package
// imports candle and registry; lab, service and tests ask it before they show anything.
package holdout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Codes of refusals.
const (
	// CodeBackwards refuses a begin before the present one, once something was shown.
	CodeBackwards = "HOLDOUT_BACKWARDS"
	// CodeUnseen refuses a begin behind candles that no command has shown.
	CodeUnseen = "HOLDOUT_UNSEEN"
	// CodeBeyond refuses a begin after the last candle.
	CodeBeyond = "HOLDOUT_BEYOND"
)

// RefusedError is why a hold-out may not begin where it was asked to.
type RefusedError struct{ Code, Message string }

// Error is the message.
func (e *RefusedError) Error() string { return e.Message }

// The rule by which two datasets are of one market.
const (
	// leastShared is how many candles of both there must be in the time that they share, fewer
	// only where a dataset has no more.
	leastShared = 30
	// sameShare is the share of equal ones in tenths.
	sameShare = 9
)

// Author is who sets a hold-out where no person did.
const Author = "default"

// Ledger knows the markets of a candle store by the registry of its state directory.
type Ledger struct {
	Candles  *candle.Store
	Registry *registry.Registry
}

// Know notes the market of every stored dataset that has none, and gives a new market its
// hold-out. A dataset whose file is gone or damaged is left for later.
func (l Ledger) Know(ctx context.Context) error {
	known, err := l.Registry.Markets().Candles(ctx)
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, k := range known {
		have[k.SHA256] = true
	}
	all, err := l.Candles.List(ctx)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(all), func(d candle.Dataset) bool { return have[d.SHA256] })
	slices.SortFunc(fresh, func(a, b candle.Dataset) int {
		return cmp.Or(strings.Compare(a.DerivedFrom, b.DerivedFrom), cmp.Compare(a.CreatedAt, b.CreatedAt),
			strings.Compare(a.ID, b.ID))
	})
	for _, d := range fresh {
		if have[d.SHA256] {
			continue // the same candles under another name
		}
		have[d.SHA256] = true
		row, from, err := l.describe(d, all, known)
		var corrupt *candlefile.CorruptError
		if errors.As(err, &corrupt) {
			continue
		}
		if err != nil {
			return err
		}
		if err := l.Registry.Markets().Add(ctx, row, from, Author); err != nil {
			return err
		}
		known = append(known, row)
	}
	return nil
}

// describe is the row of a dataset, with the begin of the hold-out if its market is new.
func (l Ledger) describe(d candle.Dataset, all []candle.Dataset,
	known []registry.Candles) (row registry.Candles, from market.Time, err error) {
	row = registry.Candles{
		SHA256: d.SHA256, Market: "market-" + d.SHA256[:12], Exchange: d.Exchange, Symbol: string(d.Symbol),
		Timeframe: d.Timeframe.String(), Step: d.Timeframe.Approx().Milliseconds(), Rows: d.Rows,
		From: d.Start(), To: d.End(),
	}
	file, err := l.Candles.OpenSeries(d)
	if err != nil {
		return row, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	own := file.Series()
	from = Begin(own)
	for _, k := range known {
		if k.SHA256 == d.DerivedFrom {
			row.Market = k.Market
			return row, from, nil
		}
	}
	for _, k := range known {
		same, err := l.same(&row, own, k, all)
		if err != nil {
			return row, 0, err
		}
		if same {
			row.Market = k.Market
			return row, from, nil
		}
	}
	return row, from, nil
}

// same reports whether a dataset is of the market of a known one: by its rows, or by its name
// where they share no time.
func (l Ledger) same(row *registry.Candles, own *market.Series, k registry.Candles,
	all []candle.Dataset) (bool, error) {
	if row.To <= k.From || k.To <= row.From {
		return row.Exchange == k.Exchange && row.Symbol == k.Symbol, nil
	}
	at := slices.IndexFunc(all, func(d candle.Dataset) bool { return d.SHA256 == k.SHA256 })
	if at < 0 {
		return false, nil
	}
	file, err := l.Candles.OpenSeries(all[at])
	var corrupt *candlefile.CorruptError
	if errors.As(err, &corrupt) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	same := Same(own, file.Series())
	return same, file.Close()
}

// Same reports whether two series are of one market: in the time that they share, nine of
// ten candles of the one that has fewer there have the time of close and the close of one of
// the other.
func Same(a, b *market.Series) bool {
	if a.Len() == 0 || b.Len() == 0 {
		return false
	}
	low := max(closeOf(a, 0), closeOf(b, 0))
	high := min(closeOf(a, a.Len()-1), closeOf(b, b.Len()-1))
	var inA, inB, equal int
	i, j := 0, 0
	for i < a.Len() || j < b.Len() {
		ta, tb := market.Time(1<<62), market.Time(1<<62)
		if i < a.Len() {
			ta = closeOf(a, i)
		}
		if j < b.Len() {
			tb = closeOf(b, j)
		}
		at := min(ta, tb)
		shared := at >= low && at <= high
		if shared && ta == tb && a.Close[i] == b.Close[j] {
			equal++
		}
		if ta == at {
			i++
			if shared {
				inA++
			}
		}
		if tb == at {
			j++
			if shared {
				inB++
			}
		}
	}
	fewer := min(inA, inB)
	enough := fewer >= leastShared || fewer > 0 && fewer == min(a.Len(), b.Len())
	return enough && equal*10 >= fewer*sameShare
}

// Covered reports whether one of these datasets tells as much of the market of d as d itself: it is
// of the same market and timeframe by its rows, and has a candle wherever d has one. The hold-out
// of the market then loses nothing with d.
func (l Ledger) Covered(ctx context.Context, d candle.Dataset, by []candle.Dataset) (_ bool, err error) {
	markets, err := l.Known(ctx)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(markets, func(s *Standing) bool { return s.Has(d.SHA256) })
	if at < 0 {
		return false, nil
	}
	file, err := l.Candles.OpenSeries(d)
	if _, corrupt := errors.AsType[*candlefile.CorruptError](err); corrupt {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, k := range by {
		if k.SHA256 == d.SHA256 || k.Timeframe != d.Timeframe || !markets[at].Has(k.SHA256) {
			continue
		}
		other, err := l.Candles.OpenSeries(k)
		if _, corrupt := errors.AsType[*candlefile.CorruptError](err); corrupt {
			continue
		}
		if err != nil {
			return false, err
		}
		covered := contains(other.Series(), file.Series()) && Same(file.Series(), other.Series())
		if err := other.Close(); err != nil || covered {
			return covered, err
		}
	}
	return false, nil
}

// contains reports whether a series has every time of another one.
func contains(s, part *market.Series) bool {
	i := 0
	for _, at := range part.Time {
		for i < s.Len() && s.Time[i] < at {
			i++
		}
		if i == s.Len() || s.Time[i] != at {
			return false
		}
	}
	return true
}

func closeOf(s *market.Series, i int) market.Time { return s.Timeframe.Next(s.Time[i]) }

// Begin is where the hold-out of a new market begins: with the last fifth of its candles, for
// those below a day at the next midnight UTC, so that candles of other lengths made from these
// divide at the same time.
func Begin(s *market.Series) market.Time {
	from := s.Time[s.Len()*4/5]
	day := market.Time(24 * time.Hour / time.Millisecond)
	if midnight := (from + day - 1) / day * day; midnight < s.Time[s.Len()-1] {
		return midnight
	}
	return from
}

// Standing is a market with its hold-out.
type Standing struct {
	Market string `json:"market"`
	// Names are the exchanges and symbols under which its candles were stored.
	Names []string    `json:"names"`
	From  market.Time `json:"from"`
	// To is the close of the newest candle that is stored, SetAt and SetBy who put From there.
	To    market.Time `json:"to"`
	SetAt string      `json:"set_at"`
	SetBy string      `json:"set_by"`
	// Looks are those at (From, To], oldest first.
	Looks []registry.Look `json:"looks"`

	sums []string
}

func (s *Standing) called(name string) {
	if !slices.Contains(s.Names, name) {
		s.Names = append(s.Names, name)
	}
}

// Has reports whether the dataset with a hash is of the market.
func (s *Standing) Has(sha256 string) bool { return slices.Contains(s.sums, sha256) }

// List gives every market, in the order in which they became known, those of new datasets too.
func (l Ledger) List(ctx context.Context) ([]*Standing, error) {
	if err := l.Know(ctx); err != nil {
		return nil, err
	}
	return l.Known(ctx)
}

// Known gives the markets that Know has noted.
func (l Ledger) Known(ctx context.Context) ([]*Standing, error) {
	known, err := l.Registry.Markets().Candles(ctx)
	if err != nil {
		return nil, err
	}
	holdouts, err := l.Registry.Markets().Holdouts(ctx)
	if err != nil {
		return nil, err
	}
	looks, err := l.Registry.Markets().Looks(ctx)
	if err != nil {
		return nil, err
	}
	all, err := l.Candles.List(ctx)
	if err != nil {
		return nil, err
	}
	var list []*Standing
	of := map[string]*Standing{}
	for _, k := range known {
		s := of[k.Market]
		if s == nil {
			h := holdouts[k.Market]
			s = &Standing{Market: k.Market, From: h.From, SetAt: h.At, SetBy: h.Author,
				Looks: []registry.Look{}}
			of[k.Market], list = s, append(list, s)
		}
		s.called(k.Exchange + " " + k.Symbol)
		s.To, s.sums = max(s.To, k.To), append(s.sums, k.SHA256)
	}
	for _, d := range all { // equal candles may have several names
		for _, s := range list {
			if s.Has(d.SHA256) {
				s.called(d.Exchange + " " + string(d.Symbol))
			}
		}
	}
	for _, look := range looks {
		if s := of[look.Market]; s != nil && look.To > s.From {
			s.Looks = append(s.Looks, look)
		}
	}
	return list, nil
}

// Dataset is a stored dataset with its market, nil where Know has not noted one.
type Dataset struct {
	candle.Dataset
	Market *Standing
}

// HeldOut is where the hold-out of the market begins, 0 where none is known.
func (d Dataset) HeldOut() market.Time {
	if d.Market == nil {
		return 0
	}
	return d.Market.From
}

// Datasets gives every stored dataset, in the order of candle.Store.List.
func (l Ledger) Datasets(ctx context.Context) ([]Dataset, error) {
	markets, err := l.Known(ctx)
	if err != nil {
		return nil, err
	}
	all, err := l.Candles.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Dataset, len(all))
	for i, d := range all {
		out[i].Dataset = d
		if at := slices.IndexFunc(markets, func(s *Standing) bool { return s.Has(d.SHA256) }); at >= 0 {
			out[i].Market = markets[at]
		}
	}
	return out, nil
}

// Move puts the begin of a market's hold-out to from. Forward it goes over candles that were
// looked at, and to an earlier time only while no candle of the market was shown at all. The
// error is a *RefusedError where it may not.
func (l Ledger) Move(ctx context.Context, s *Standing, from market.Time, author string) error {
	switch {
	case from == s.From:
		return nil
	case from > s.To:
		return &RefusedError{CodeBeyond, fmt.Sprintf(
			"the candles of %s end at %s: the hold-out cannot begin behind them", s.Names[0], s.To)}
	case from > s.From:
		unseen, err := l.unseen(ctx, s, from)
		if err != nil {
			return err
		}
		if unseen != 0 {
			return &RefusedError{CodeUnseen, fmt.Sprintf("the candle of %s that closes at %s was not "+
				"looked at by any command: what is unseen stays held out", s.Names[0], unseen)}
		}
	default:
		shown, err := l.Registry.Markets().Shown(ctx, s.Market)
		if err != nil {
			return err
		}
		if shown {
			return &RefusedError{CodeBackwards, fmt.Sprintf("candles of %s were shown already: its "+
				"hold-out, from %s on, can only move forward, over candles that were looked at",
				s.Names[0], s.From)}
		}
	}
	was := registry.Holdout{Market: s.Market, From: s.From}
	return l.Registry.Markets().Move(ctx, was, from, author)
}

// unseen is the close of the first candle behind the begin of a hold-out and up to a time that
// no look covers, 0 if there is none.
func (l Ledger) unseen(ctx context.Context, s *Standing, to market.Time) (market.Time, error) {
	all, err := l.Candles.List(ctx)
	if err != nil {
		return 0, err
	}
	seen := func(at market.Time) bool {
		return slices.ContainsFunc(s.Looks, func(k registry.Look) bool { return at > k.From && at <= k.To })
	}
	first := market.Time(0)
	done := map[string]bool{}
	for _, d := range all {
		if !s.Has(d.SHA256) || done[d.SHA256] {
			continue
		}
		done[d.SHA256] = true
		file, err := l.Candles.OpenSeries(d)
		if err != nil {
			return 0, err
		}
		series := file.Series()
		for i := range series.Len() {
			at := closeOf(series, i)
			if at <= s.From || at > to || first != 0 && at >= first {
				continue
			}
			if !seen(at) {
				first = at
				break
			}
		}
		if err := file.Close(); err != nil {
			return 0, err
		}
	}
	return first, nil
}
