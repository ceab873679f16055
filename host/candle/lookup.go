package candle

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Lookup finds the candles of a symbol: the current dataset of exactly this
// timeframe, else one resampled from the largest stored timeframe below that divides
// it, which is stored as a dataset of its own. A *NotFoundError says what is missing.
func (s *Store) Lookup(ctx context.Context, exchange string, symbol market.Symbol, tf market.Timeframe) (Dataset, error) {
	d, exact, err := s.find(ctx, exchange, symbol, tf)
	if err != nil || exact {
		return d, err
	}
	s.resampling.Lock()
	defer s.resampling.Unlock()
	if d, exact, err = s.find(ctx, exchange, symbol, tf); err != nil || exact {
		return d, err
	}
	return s.resample(ctx, d, tf)
}

// Offers says whether Lookup would find candles, without resampling any.
func (s *Store) Offers(ctx context.Context, exchange string, symbol market.Symbol, tf market.Timeframe) error {
	_, _, err := s.find(ctx, exchange, symbol, tf)
	return err
}

// Pinned finds a dataset, current or not, by the hash of its file.
func (s *Store) Pinned(ctx context.Context, exchange string, symbol market.Symbol, tf market.Timeframe, sha256 string) (Dataset, error) {
	pinned := func(d *Dataset) bool {
		return d.Exchange == exchange && d.Symbol == symbol && d.Timeframe == tf && d.SHA256 == sha256
	}
	list, err := s.query(ctx, pinned, `SELECT `+datasetColumns+` FROM datasets
		WHERE exchange = ? AND symbol = ? AND timeframe = ? AND sha256 = ?`, exchange, symbol, tf.String(), sha256)
	if err != nil {
		return Dataset{}, err
	}
	if len(list) == 0 {
		return Dataset{}, &NotFoundError{What: "dataset", Value: sha256, Reason: fmt.Sprintf("%s %s on %s has no version with this hash", symbol, tf, exchange)}
	}
	return list[0], nil
}

// current is the current datasets of a symbol.
func (s *Store) current(ctx context.Context, exchange string, symbol market.Symbol) ([]Dataset, error) {
	keep := func(d *Dataset) bool { return d.Exchange == exchange && d.Symbol == symbol && d.Current }
	return s.query(ctx, keep, `SELECT `+datasetColumns+` FROM datasets
		WHERE exchange = ? AND symbol = ? AND current = 1`, exchange, symbol)
}

// find gives the dataset of the timeframe (exact), or the one to resample it from.
// Only imported ones are resampled, so that the result does not depend on what was
// asked for before.
func (s *Store) find(ctx context.Context, exchange string, symbol market.Symbol, tf market.Timeframe) (d Dataset, exact bool, err error) {
	list, err := s.current(ctx, exchange, symbol)
	if err != nil {
		return d, false, err
	}
	if len(list) == 0 {
		return d, false, s.notFound(ctx, exchange, symbol)
	}
	var derived, source Dataset
	var have []market.Timeframe
	for _, c := range list {
		switch {
		case c.Timeframe == tf && c.DerivedFrom == "":
			return c, true, nil
		case c.Timeframe == tf:
			derived = c
		case c.DerivedFrom == "":
			have = append(have, c.Timeframe)
			if divides(c.Timeframe, tf) && (source.Rows == 0 || c.Timeframe.Approx() > source.Timeframe.Approx()) {
				source = c
			}
		}
	}
	switch {
	case source.Rows == 0:
		return d, false, &NotFoundError{
			What: "timeframe", Value: tf.String(), Have: names(have),
			Reason: fmt.Sprintf("there are no candles of %s on %s that could be merged into %s", symbol, exchange, tf),
		}
	case derived.DerivedFrom == source.SHA256:
		return derived, true, nil
	}
	return source, false, nil
}

// notFound says whether it is the exchange or the symbol that is missing.
func (s *Store) notFound(ctx context.Context, exchange string, symbol market.Symbol) error {
	all, err := s.Exchanges(ctx)
	if err != nil {
		return err
	}
	e := &NotFoundError{What: "exchange", Value: exchange}
	for _, x := range all {
		if x.ID == exchange {
			return &NotFoundError{What: "symbol", Value: string(symbol), Have: names(x.Symbols)}
		}
		e.Have = append(e.Have, x.ID)
	}
	return e
}

func names[T any](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// Exchange is what is stored of one exchange. What can be resampled from it is not listed.
type Exchange struct {
	ID         string             `json:"id"`
	Symbols    []market.Symbol    `json:"symbols"`
	Timeframes []market.Timeframe `json:"timeframes"`
	// DateRange by symbol and timeframe.
	DateRange map[market.Symbol]map[string]Range `json:"date_range"`
}

// Range is from the open of the first candle to the close of the last.
type Range struct {
	Start   market.Time `json:"start"`
	End     market.Time `json:"end"`
	Candles int         `json:"candles"`
}

// Exchanges lists what is stored, by exchange.
func (s *Store) Exchanges(ctx context.Context) ([]Exchange, error) {
	imported := func(d *Dataset) bool { return d.Current && d.DerivedFrom == "" }
	list, err := s.query(ctx, imported, `SELECT `+datasetColumns+` FROM datasets WHERE current = 1 AND derived_from = ''`)
	if err != nil {
		return nil, err
	}
	sortDatasets(list)
	out := []Exchange{}
	for _, d := range list {
		if len(out) == 0 || out[len(out)-1].ID != d.Exchange {
			out = append(out, Exchange{ID: d.Exchange, DateRange: map[market.Symbol]map[string]Range{}})
		}
		x := &out[len(out)-1]
		if x.DateRange[d.Symbol] == nil {
			x.DateRange[d.Symbol] = map[string]Range{}
			x.Symbols = append(x.Symbols, d.Symbol)
		}
		x.DateRange[d.Symbol][d.Timeframe.String()] = Range{Start: d.Start(), End: d.End(), Candles: d.Rows}
		if !slices.Contains(x.Timeframes, d.Timeframe) {
			x.Timeframes = append(x.Timeframes, d.Timeframe)
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Timeframes, compareTimeframes)
	}
	return out, nil
}

func compareTimeframes(a, b market.Timeframe) int {
	return cmp.Or(cmp.Compare(a.Approx(), b.Approx()), cmp.Compare(a.String(), b.String()))
}

func sortDatasets(list []Dataset) {
	slices.SortFunc(list, func(a, b Dataset) int {
		return cmp.Or(
			cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.Symbol, b.Symbol), compareTimeframes(a.Timeframe, b.Timeframe),
			cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.SHA256, b.SHA256))
	})
}
