package request

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Replayer makes replays elsewhere.
type Replayer interface {
	// Replay returns how a replay of a request went there. An *Error whose code Refuses knows is the refusal
	// of the strategy.
	Replay(ctx context.Context, p *Prepared, r Replay) (*Replayed, error)
}

// SameReplay reports whether two replays went alike; where they were made is nothing of it.
func SameReplay(a, b *Replayed) (bool, error) {
	one, err := a.Pack()
	two, other := b.Pack()
	return bytes.Equal(one[replayedName], two[replayedName]) && bytes.Equal(one[linesName], two[linesName]),
		errors.Join(err, other)
}

// PerformReplay makes a replay for another host and returns it as files.
func PerformReplay(ctx context.Context, h *Host, p *Prepared, r Replay) (files map[string][]byte, err error) {
	err = h.Replay(ctx, p, []Replay{r}, ReplayOptions{Workers: 1, Plain: true,
		Done: func(_ int, out *Replayed) error {
			files, err = out.Pack()
			return err
		}})
	return files, err
}

// Market is a request on candles whose files are in a folder under their hashes: what Host.On is for those
// of a store. The folder dir must be empty. Close both: the request first, then its Store.
func Market(ctx context.Context, h *Host, p *Prepared, blobs, dir string,
	candles []CandleSupply) (*Prepared, error) {
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		return nil, err
	}
	store, err := equipCandles(ctx, Equipment{Dir: dir, Blobs: blobs},
		&Supplies{Request: p.Request, Candles: candles})
	if err != nil {
		return nil, err
	}
	symbols := make([]string, len(candles))
	for i, c := range candles {
		symbols[i] = string(c.Symbol)
	}
	out, err := h.On(ctx, p, store, symbols)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return out, nil
}

// CandlesOf are the candles of a request with the path of each file by its hash.
func CandlesOf(ctx context.Context, p *Prepared) (list []CandleSupply, files map[string]string, err error) {
	sets, err := p.Datasets(ctx)
	if err != nil {
		return nil, nil, err
	}
	files = map[string]string{}
	for _, d := range sets {
		files[d.SHA256] = p.candles.Path(d.SHA256)
		list = append(list, CandleSupply{Symbol: d.Symbol, SHA256: d.SHA256, Calendar: d.Calendar,
			PriceStep: d.PriceStep, VolumeUnit: d.VolumeUnit})
	}
	return list, files, nil
}

// The files of a replay that is made elsewhere. What may differ between two machines is in the one of that
// name, as in a run.
const (
	replayedName    = "replay.json"
	linesName       = "decisions.jsonl"
	whereaboutsName = "metadata.json"

	replayedSchema = "replayed/v1"
)

// replayedFile is replay.json.
type replayedFile struct {
	Schema  string        `json:"schema"`
	Failure *failureFile  `json:"failure"`
	Lead    int64         `json:"lead"`
	Short   int           `json:"short"`
	Metrics metric.Values `json:"metrics"`
	Results *resultsFile  `json:"results"`
	Books   *booksFile    `json:"books"`
	// Series are the points that were published by their label, nil where none were asked for.
	Series   map[string]pointsFile `json:"series"`
	Complete bool                  `json:"complete"`
}

type failureFile struct {
	Code       string      `json:"code"`
	CandleTime market.Time `json:"candle_time"`
}

type resultsFile struct {
	DecisionHash string `json:"decision_hash"`
	InitialCash  string `json:"initial_cash"`
	FinalValue   string `json:"final_value"`
	Trades       int    `json:"trades"`
}

type booksFile struct {
	Fills     []market.Fill  `json:"fills"`
	Trades    []market.Trade `json:"trades"`
	Timeframe string         `json:"timeframe"`
	Calendar  string         `json:"calendar"`
	Curves    []curveFile    `json:"curves"`
	Closed    []market.Trade `json:"closed"`
	Totals    metric.Totals  `json:"totals"`
}

// curveFile is a curve. Its columns are words of eight bytes, little-endian: times in milliseconds, numbers
// by their bits, as some of them are infinite.
type curveFile struct {
	OpenTime  []byte       `json:"open_time"`
	CloseTime []byte       `json:"close_time"`
	Equity    []byte       `json:"equity"`
	Exposure  []byte       `json:"exposure"`
	Closes    []closesFile `json:"closes"`
}

type closesFile struct {
	Symbol market.Symbol `json:"symbol"`
	First  float64       `json:"first"`
	Last   float64       `json:"last"`
}

type pointsFile struct {
	Time   []byte `json:"time"`
	Values []byte `json:"values"`
}

type whereabouts struct {
	Sandbox string `json:"sandbox"`
}

// Pack is a replay as files, without its capsule.
func (r *Replayed) Pack() (map[string][]byte, error) {
	f := replayedFile{Schema: replayedSchema, Lead: r.Lead, Short: r.Short, Metrics: r.Metrics,
		Complete: r.Published.Complete}
	if r.Failure != nil {
		f.Failure = &failureFile{r.Failure.Code, r.Failure.CandleTime}
	}
	if x := r.Results; x != nil {
		f.Results = &resultsFile{x.DecisionHash, x.InitialCash, x.FinalValue, r.Trades}
	}
	if r.Books {
		f.Books = &booksFile{Fills: r.Results.Fills, Trades: r.Results.Trades,
			Timeframe: r.Input.Timeframe.String(), Calendar: r.Input.Calendar, Closed: r.Input.Trades,
			Totals: r.Input.Totals}
		for _, c := range r.Input.Curves {
			f.Books.Curves = append(f.Books.Curves, packCurve(c))
		}
	}
	for label, p := range r.Published.Series {
		if f.Series == nil {
			f.Series = map[string]pointsFile{}
		}
		f.Series[label] = pointsFile{packTimes(p.Time), packFloats(p.Values)}
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	where, err := json.Marshal(whereabouts{r.Sandbox})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{replayedName: text, whereaboutsName: where, linesName: r.Lines}, nil
}

func packCurve(c metric.Curve) curveFile {
	f := curveFile{OpenTime: packTimes(c.OpenTime), CloseTime: packTimes(c.CloseTime),
		Equity: packFloats(c.Equity), Exposure: packFloats(c.Exposure)}
	for _, x := range c.Closes {
		f.Closes = append(f.Closes, closesFile(x))
	}
	return f
}

// UnpackReplayed reads what Pack has written.
func UnpackReplayed(files map[string][]byte) (*Replayed, error) {
	var f replayedFile
	var where whereabouts
	if err := errors.Join(json.Unmarshal(files[replayedName], &f),
		json.Unmarshal(files[whereaboutsName], &where)); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if f.Schema != replayedSchema {
		return nil, fmt.Errorf("replay: /schema is %.40q, not %s", f.Schema, replayedSchema)
	}
	r := &Replayed{Lead: f.Lead, Short: f.Short, Metrics: f.Metrics, Sandbox: where.Sandbox}
	if lines := files[linesName]; len(lines) > 0 {
		r.Lines = lines
	}
	if f.Failure != nil {
		r.Failure = &artifact.Failure{Code: f.Failure.Code, CandleTime: f.Failure.CandleTime}
	}
	if x := f.Results; x != nil {
		r.Results = &artifact.Results{DecisionHash: x.DecisionHash, InitialCash: x.InitialCash,
			FinalValue: x.FinalValue}
		r.Trades = x.Trades
	}
	if f.Failure == nil && f.Results == nil || f.Books != nil && f.Results == nil || r.Trades < 0 {
		return nil, errors.New("replay: /results: it has neither ended nor failed")
	}
	err := f.books(r)
	if err == nil {
		err = f.series(r)
	}
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return r, nil
}

// books reads the books.
func (f *replayedFile) books(r *Replayed) error {
	if f.Books == nil {
		return nil
	}
	b := f.Books
	tf, err := market.ParseTimeframe(b.Timeframe)
	if err != nil {
		return fmt.Errorf("/books/timeframe: %w", err)
	}
	r.Books, r.Results.Fills, r.Results.Trades = true, b.Fills, b.Trades
	r.Input = metric.Input{Timeframe: tf, Calendar: b.Calendar, Trades: b.Closed, Totals: b.Totals}
	for i, c := range b.Curves {
		curve, err := c.unpack()
		if err != nil {
			return fmt.Errorf("/books/curves/%d: %w", i, err)
		}
		r.Input.Curves = append(r.Input.Curves, curve)
	}
	return nil
}

func (f curveFile) unpack() (c metric.Curve, err error) {
	var bad [4]error
	c.OpenTime, bad[0] = unpackTimes(f.OpenTime)
	c.CloseTime, bad[1] = unpackTimes(f.CloseTime)
	c.Equity, bad[2] = unpackFloats(f.Equity)
	c.Exposure, bad[3] = unpackFloats(f.Exposure)
	if err := errors.Join(bad[:]...); err != nil {
		return c, err
	}
	n := len(c.CloseTime)
	if len(c.OpenTime) != n || len(c.Equity) != n || len(c.Exposure) != n || !slices.IsSorted(c.CloseTime) {
		return c, errors.New("its columns are not the steps of one curve")
	}
	for _, x := range f.Closes {
		c.Closes = append(c.Closes, metric.Closes(x))
	}
	return c, nil
}

// series reads what was published.
func (f *replayedFile) series(r *Replayed) error {
	r.Published.Complete = f.Complete
	for label, p := range f.Series {
		var points run.Points
		var badTime, badValues error
		points.Time, badTime = unpackTimes(p.Time)
		points.Values, badValues = unpackFloats(p.Values)
		if err := errors.Join(badTime, badValues); err != nil || len(points.Time) != len(points.Values) {
			return errors.Join(fmt.Errorf("/series: %.80q has not a value at each of its times", label), err)
		}
		if r.Published.Series == nil {
			r.Published.Series = map[string]run.Points{}
		}
		r.Published.Series[label] = points
	}
	return nil
}

func packTimes(list []market.Time) []byte {
	return packWords(list, func(t market.Time) uint64 { return uint64(t) })
}

func packFloats(list []float64) []byte { return packWords(list, math.Float64bits) }

func unpackTimes(b []byte) ([]market.Time, error) {
	return unpackWords(b, func(w uint64) market.Time { return market.Time(w) })
}

func unpackFloats(b []byte) ([]float64, error) { return unpackWords(b, math.Float64frombits) }

func packWords[T any](list []T, word func(T) uint64) []byte {
	b := make([]byte, 0, 8*len(list))
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, word(x))
	}
	return b
}

func unpackWords[T any](b []byte, value func(uint64) T) ([]T, error) {
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("%d bytes are no column", len(b))
	}
	list := make([]T, len(b)/8)
	for i := range list {
		list[i] = value(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list, nil
}
