// Package fetch brings candles from an exchange into the candle store, through the exchange's
// connector and over the same wire as live trading.
//
// Run asks page by page. A page is a file of the folder <state_dir>/data/fetch/<key> that is on
// the disk before the next one is asked for, so that a fetch that was stopped, or killed, goes on
// after its last page when it is started again. When all pages are there, they become one dataset
// in one step, by the rules of an import (package importer): candles that are stored already and
// differ are refused unless the request says which to take. A dataset that is replaced stays for
// the runs that name it.
//
// Only closed candles arrive, since a connector gives no others. What the exchange says of its
// limits is obeyed: the connector keeps its budget, and a throttle or a ban is waited out.
//
// Every dataset that was fetched says how (candle.Fetched). The hash of a page is over the answer
// as the connector gave it, not over the exchange's own bytes: the connector's hash stands beside.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// Folder is the folder of unfinished fetches below data of a state directory.
	Folder = "fetch"
	// Overlap is how many of the newest stored candles an update asks for again.
	Overlap = 100

	pageCandles = 1000
	attempts    = 5 // of a page that the exchange does not answer
	longestWait = 5 * time.Minute
)

// Never is the end of a request that has none: it takes what is closed.
var Never = market.FromTime(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))

// Request is which candles to fetch.
type Request struct {
	// Exchange is under which name they are stored.
	Exchange  string
	Symbol    market.Symbol
	Timeframe market.Timeframe
	// From and To bound the open times; To is exclusive, Never takes what is closed.
	From, To market.Time
	// Duplicates is which of a stored and a fetched candle of one time counts where they differ:
	// first (the stored one), last, or empty to refuse.
	Duplicates string
	// Progress is called after every page with how much of the time asked for is there, in
	// candles, and with the total; nil: not.
	Progress func(done, total int64)
	// Waiting is called before a wait that the exchange asked for; nil: not.
	Waiting func(time.Duration)
	// Now is the clock that pages are stamped by; nil: time.Now.
	Now func() time.Time
}

// StoppedError reports that the exchange gave no more, and that the pages so far are kept.
type StoppedError struct {
	Pages int
	Cause error
}

// Error says how to go on.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("stopped after %d pages, which are kept: %v; the same command goes on from there",
		e.Pages, e.Cause)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// BusyError reports that another process writes this dataset.
type BusyError struct{ Series string }

// Error says what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is being fetched by another process: wait for its end", e.Series)
}

// page is one file: an answer and how it came.
type page struct {
	Version     int          `json:"version"`
	RequestedAt market.Time  `json:"requested_at"`
	Connector   Origin       `json:"connector"`
	Candles     [][6]float64 `json:"candles"` // open time in milliseconds, open, high, low, close, volume
}

// maxMilliseconds is the largest open time: a float64 holds every one below exactly.
const maxMilliseconds = 1 << 52

const pageVersion = 1

// decodePage reads a page. Candles ascend.
func decodePage(text []byte) (p page, err error) {
	if err := json.Unmarshal(text, &p); err != nil {
		return p, err
	}
	if p.Version != pageVersion {
		return p, fmt.Errorf("its version is %d, not %d", p.Version, pageVersion)
	}
	if len(p.Candles) == 0 {
		return p, errors.New("it has no candles")
	}
	last := -1.0
	for _, c := range p.Candles {
		if c[0] != float64(int64(c[0])) || c[0] <= last || c[0] > maxMilliseconds {
			return p, errors.New("its times do not ascend")
		}
		last = c[0]
	}
	return p, nil
}

func (p page) last() market.Time { return market.Time(p.Candles[len(p.Candles)-1][0]) }

// csv is the page as the importer reads it.
func (p page) csv() []byte {
	b := []byte(candle.CSVHeader)
	for _, c := range p.Candles {
		b = candle.AppendCSV(b, market.Candle{OpenTime: market.Time(c[0]), Open: c[1], High: c[2], Low: c[3],
			Close: c[4], Volume: c[5]})
	}
	return b
}

// work is one fetch under way.
type work struct {
	dir     string
	key     string
	req     Request
	source  *Source
	pages   []candle.FetchedPage
	inputs  []importer.Input
	first   market.Time // request
	last    market.Time
	next    market.Time // open time that comes next
	pausing func(context.Context, time.Duration) error
}

// Run fetches candles and stores them as the current dataset of their series, joined with the
// one before. Errors: *BusyError, *StoppedError, and those of an import.
func Run(ctx context.Context, store *candle.Store, stateDir string, s *Source,
	req Request) (candle.Dataset, error) {
	if err := candle.CheckExchange(req.Exchange); err != nil {
		return candle.Dataset{}, err
	}
	series := candle.SeriesKey(req.Exchange, req.Symbol, req.Timeframe)
	root := filepath.Join(stateDir, "data", Folder)
	lock, err := file.LockState(root, series+".lock")
	if errors.Is(err, file.ErrHeld) {
		return candle.Dataset{}, &BusyError{series}
	}
	if err != nil {
		return candle.Dataset{}, err
	}
	defer lock.Release()
	key := fmt.Sprintf("%s-%d", series, int64(req.From))
	if req.To != Never {
		key += fmt.Sprintf("-%d", int64(req.To))
	}
	if req.Now == nil {
		req.Now = time.Now
	}
	w := &work{dir: filepath.Join(root, key), key: key, req: req, source: s, next: req.From, pausing: pause}
	if err := w.resume(); err != nil {
		return candle.Dataset{}, err
	}
	if err := w.fetch(ctx); err != nil {
		return candle.Dataset{}, err
	}
	d, err := w.store(ctx, store)
	if err != nil {
		return d, err
	}
	return d, os.RemoveAll(w.dir)
}

// Current is the current dataset of the series of a request that was not resampled; false: there
// is none.
func Current(ctx context.Context, s *candle.Store, req Request) (candle.Dataset, bool, error) {
	all, err := s.List(ctx)
	if err != nil {
		return candle.Dataset{}, false, err
	}
	at := slices.IndexFunc(all, func(d candle.Dataset) bool {
		return d.Current && d.DerivedFrom == "" && d.Exchange == req.Exchange && d.Symbol == req.Symbol &&
			d.Timeframe == req.Timeframe
	})
	if at < 0 {
		return candle.Dataset{}, false, nil
	}
	return all[at], true, nil
}

// Update fetches what a stored dataset lacks at its end: it asks again for its last candles, and
// for all after them.
func Update(ctx context.Context, store *candle.Store, stateDir string, s *Source, d candle.Dataset,
	req Request) (candle.Dataset, error) {
	f, err := store.OpenSeries(d)
	if err != nil {
		return candle.Dataset{}, err
	}
	c := f.Series()
	req.From, req.To = c.Time[max(0, c.Len()-Overlap)], Never
	if err := f.Close(); err != nil {
		return candle.Dataset{}, err
	}
	return Run(ctx, store, stateDir, s, req)
}

// resume reads the pages that are there.
func (w *work) resume() error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(w.dir, e.Name())
		if strings.HasPrefix(e.Name(), file.TempPrefix) {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p, err := decodePage(text)
		if err == nil && (e.Name() != pageName(len(w.pages)+1) || market.Time(p.Candles[0][0]) < w.next) {
			err = errors.New("it does not follow the page before")
		}
		if err == nil && p.Connector.Endpoint != w.source.Endpoint {
			err = fmt.Errorf("it came from the endpoint %q, not %q", p.Connector.Endpoint, w.source.Endpoint)
		}
		if err != nil {
			return fmt.Errorf("the page %s cannot be read: %w; remove its folder to fetch anew", path, err)
		}
		w.add(e.Name(), text, p)
	}
	return nil
}

func pageName(n int) string { return fmt.Sprintf("%06d.json", n) }

// add counts a page that is on the disk.
func (w *work) add(name string, text []byte, p page) {
	sum := sha256.Sum256(text)
	if w.pages == nil {
		w.first = p.RequestedAt
	}
	w.last, w.next = p.RequestedAt, w.req.Timeframe.Next(p.last())
	w.pages = append(w.pages, candle.FetchedPage{
		SHA256: hex.EncodeToString(sum[:]), First: market.Time(p.Candles[0][0]), Last: p.last(),
		Rows: len(p.Candles), RequestedAt: p.RequestedAt, ConnectorSHA256: p.Connector.SHA256,
	})
	w.inputs = append(w.inputs, importer.Bytes(name, p.csv()))
}

// fetch asks until nothing comes any more.
func (w *work) fetch(ctx context.Context) error {
	for w.next < w.req.To {
		asked := market.FromTime(w.req.Now())
		rows, err := w.ask(ctx)
		if err != nil {
			return &StoppedError{len(w.pages), err}
		}
		if len(rows) == 0 {
			break
		}
		p := page{Version: pageVersion, RequestedAt: asked, Connector: w.source.Origin}
		for _, c := range rows {
			p.Candles = append(p.Candles,
				[6]float64{float64(c.OpenTime), c.Open, c.High, c.Low, c.Close, c.Volume})
		}
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if _, err := decodePage(text); err != nil || rows[0].OpenTime < w.next {
			return &StoppedError{len(w.pages), errors.New("the connector's candles do not ascend")}
		}
		name := pageName(len(w.pages) + 1)
		if err := file.Write(filepath.Join(w.dir, name), text, 0o600); err != nil {
			return err
		}
		w.add(name, text, p)
		if w.req.Progress != nil {
			end := min(w.req.To, market.FromTime(w.req.Now()))
			step := w.req.Timeframe.Approx().Milliseconds()
			w.req.Progress(int64(w.next-w.req.From)/step, max(int64(end-w.req.From)/step, 1))
		}
	}
	return nil
}

// ask gets one page. A wait that the exchange asks for is waited out if it is short enough; a request
// without an answer, which changes nothing there, is made again a few times.
func (w *work) ask(ctx context.Context) ([]market.Candle, error) {
	for n := 1; ; n++ {
		rows, err := w.source.connection.Candles(ctx, exchange.CandleQuery{Symbol: w.req.Symbol, From: w.next,
			To: w.req.To, Limit: pageCandles})
		if err == nil {
			return rows, nil
		}
		wait := time.Duration(n) * time.Second
		if e := new(exchange.Error); errors.As(err, &e) {
			if e.Result.Outcome == exchange.Rejected {
				return nil, err
			}
			wait = max(wait, time.Duration(e.Result.RetryAfterMS)*time.Millisecond)
		}
		if n == attempts || wait > longestWait || w.source.connection.IsGone() {
			return nil, err
		}
		if w.req.Waiting != nil {
			w.req.Waiting(wait)
		}
		if err := w.pausing(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// store makes a dataset of the pages.
func (w *work) store(ctx context.Context, store *candle.Store) (candle.Dataset, error) {
	if len(w.pages) == 0 {
		_ = os.Remove(w.dir) // an empty folder harms nobody
		return candle.Dataset{}, importer.Refuse(importer.NoRows,
			"the exchange has no closed candle of %s %s in that time: is the symbol listed there, "+
				"and --from before --to?", w.req.Symbol, w.req.Timeframe)
	}
	o := w.source.Origin
	return store.Import(ctx, candle.ImportRequest{
		Exchange: w.req.Exchange, Files: w.inputs, Merge: true,
		Options: importer.Options{Symbol: w.req.Symbol, Timeframe: w.req.Timeframe,
			Profile: "by_name", Duplicates: w.req.Duplicates},
		Fetched: &candle.Fetched{Key: w.key, Connector: o.Connector, ConnectorVersion: o.Version,
			ConnectorSHA256: o.SHA256, Endpoint: o.Endpoint, FirstRequest: w.first, LastRequest: w.last,
			Pages: w.pages},
	})
}
