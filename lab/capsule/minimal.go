package capsule

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// maxReplays bounds the search for a minimal play; at most forParams of them are kept
// back for the parameters. The other 20 find the start among a million candles.
const (
	maxReplays = 30
	forParams  = 10
)

// probe reports whether a play that begins at a candle, with these parameters, fails in
// the same way. Its error ends the search.
type probe func(start int64, params json.RawMessage) (fails bool, err error)

// found is the smallest play that a search has seen fail.
type found struct {
	start    int64
	params   map[string]json.RawMessage // those that are not the default
	replays  int
	complete bool
}

// search looks for the latest start in [0, index], then for the fewest parameters that
// differ from the defaults. It supposes that a play which fails from one candle also
// fails from every earlier one; where that is wrong it still ends at a play that fails.
// ok is false if not even the whole one does.
func search(index int64, params, defaults json.RawMessage, try probe) (f found, ok bool, err error) {
	all, err := differing(params, defaults)
	if err != nil {
		return f, false, err
	}
	f.params = all
	run := func(start int64, chosen map[string]json.RawMessage) (bool, error) {
		f.replays++
		text, err := with(defaults, chosen)
		if err != nil {
			return false, err
		}
		return try(start, text)
	}
	if fails, err := run(0, all); err != nil || !fails {
		return f, false, err
	}
	if err := f.latest(index, run); err != nil {
		return f, true, err
	}
	return f, true, f.fewest(run)
}

// latest halves the distance between a start that fails and one that does not.
func (f *found) latest(index int64, run func(int64, map[string]json.RawMessage) (bool, error)) error {
	budget := maxReplays - min(len(f.params)+1, forParams)
	for not := index + 1; not-f.start > 1 && f.replays < budget; {
		middle := f.start + (not-f.start)/2
		fails, err := run(middle, f.params)
		if err != nil {
			return err
		}
		if fails {
			f.start = middle
		} else {
			not = middle
		}
	}
	return nil
}

// fewest sets all parameters to their defaults, or else one after the other.
func (f *found) fewest(run func(int64, map[string]json.RawMessage) (bool, error)) error {
	keys := slices.Sorted(maps.Keys(f.params))
	if len(keys) > 1 {
		if none, err := f.try(map[string]json.RawMessage{}, run); err != nil || none {
			f.complete = none
			return err
		}
	}
	for _, key := range keys {
		less := maps.Clone(f.params)
		delete(less, key)
		if _, err := f.try(less, run); err != nil {
			return err
		}
	}
	f.complete = f.replays < maxReplays
	return nil
}

// try keeps fewer parameters if the play fails with them.
func (f *found) try(less map[string]json.RawMessage,
	run func(int64, map[string]json.RawMessage) (bool, error)) (bool, error) {
	if f.replays >= maxReplays {
		return false, nil
	}
	fails, err := run(f.start, less)
	if err == nil && fails {
		f.params = less
	}
	return fails, err
}

// differing are the parameters that are not the default.
func differing(params, defaults json.RawMessage) (map[string]json.RawMessage, error) {
	mine, err := object(params)
	if err != nil {
		return nil, err
	}
	theirs, err := object(defaults)
	if err != nil {
		return nil, err
	}
	for key, value := range mine {
		if string(theirs[key]) == string(value) {
			delete(mine, key)
		}
	}
	return mine, nil
}

// with is the defaults but for what is chosen.
func with(defaults json.RawMessage, chosen map[string]json.RawMessage) (json.RawMessage, error) {
	all, err := object(defaults)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, chosen)
	return digest.JCS(all)
}

// object is a JSON object whose values are in canonical form.
func object(text json.RawMessage) (map[string]json.RawMessage, error) {
	canonical, err := digest.CanonicalJSON(text)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	return out, json.Unmarshal(canonical, &out)
}

// NameError reports that a program is another strategy than the capsule's.
type NameError struct{ Want, Have string }

func (e *NameError) Error() string {
	return fmt.Sprintf("the capsule is of strategy %q, the program is %q", e.Want, e.Have)
}

// Module is the import path of a program's main module; "" if the file has none.
func Module(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	return info.Main.Path
}

// Program is where the copy of a plugin with this hash is.
func Program(stateDir, sha256 string) string { return filepath.Join(stateDir, "plugins", sha256) }

// plugin is a program that can be played.
type plugin struct {
	catalog *catalog.Catalog
	module  string
	close   func() error
}

// identity is what is left of a request that a replay needs.
type identity struct {
	name, timeframe, exchange string
	symbols                   []string
	inputs                    []artifact.DataRef
	cash                      json.Number
}

// nameForm keeps a strategy's name that becomes the name of a file.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// identify reads the request of a capsule, which may come from anywhere.
func identify(c *Capsule) (identity, error) {
	var r artifact.Request
	if err := json.Unmarshal(c.Inputs.Request, &r); err != nil {
		return identity{}, &FormatError{Pointer: "/inputs/request", Reason: err.Error()}
	}
	switch {
	case !nameForm.MatchString(r.StrategyName):
		return identity{},
			&FormatError{Pointer: "/inputs/request/strategy_name", Reason: "is not the name of a strategy"}
	case len(r.Symbols) == 0 || len(c.Inputs.Data) != len(r.Symbols):
		return identity{}, &FormatError{Pointer: "/inputs/data", Reason: "is not one dataset per symbol"}
	case c.Inputs.Plugin == nil:
		return identity{}, &FormatError{Pointer: "/inputs/plugin", Reason: "is missing"}
	}
	return identity{inputs: inputRefs(c.Inputs.Request), name: r.StrategyName, timeframe: r.Timeframe,
		exchange: r.Exchange, symbols: r.Symbols, cash: json.Number(r.InitialCash)}, nil
}

// plugin opens the program that was named, or the copy that the state directory has.
func (h *Host) plugin(ctx context.Context, c *Capsule, program string, r *Result,
	missing *MissingError) (*plugin, error) {
	id, err := identify(c)
	if err != nil {
		return nil, err
	}
	out := &plugin{close: func() error { return nil }}
	path := program
	if path == "" {
		path = Program(h.StateDir, c.Inputs.Plugin.SHA256)
	}
	if bundle.IsFolder(path) {
		path = filepath.Join(path, bundle.ManifestFile)
	}
	sum, err := digest.File(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && program == "", err == nil && program == "" &&
		sum != c.Inputs.Plugin.SHA256:
		missing.What = append(missing.What,
			fmt.Sprintf("the plugin %s with the SHA-256 %s: name a program with --plugin", id.name,
				c.Inputs.Plugin.SHA256))
		return out, nil
	case err != nil:
		return nil, &MissingError{[]string{fmt.Sprintf("the plugin: %v", err)}}
	case sum != c.Inputs.Plugin.SHA256:
		r.Remarks = append(r.Remarks,
			fmt.Sprintf("the plugin differs: it is %.12s, the capsule has %.12s", sum,
				c.Inputs.Plugin.SHA256))
	}
	remove := func() error { return nil }
	if program == "" {
		// A program that looks at its own name finds the strategy's, not a hash.
		if path, remove, err = named(filepath.Join(h.StateDir, "tmp"), id.name, path); err != nil {
			return nil, err
		}
	}
	out.catalog, err = catalog.Open(ctx, catalog.Options{
		Dir: filepath.Dir(path), Only: []string{filepath.Base(path)}, StateDir: h.StateDir,
		Sandbox: h.Sandbox, Logger: h.Logger.Named("catalog"),
	})
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	out.module = Module(path)
	out.close = func() error { out.catalog.Close(); return remove() }
	_, err = out.catalog.Lookup(id.name)
	var other *catalog.NotFoundError
	var broken *catalog.UnavailableError
	switch {
	case errors.As(err, &other) && len(other.Available) == 1:
		err = &NameError{Want: id.name, Have: other.Available[0]}
	case errors.As(err, &other), errors.As(err, &broken):
		err = &MissingError{[]string{fmt.Sprintf("a plugin that can be used: %v", err)}}
	}
	if err != nil {
		return nil, errors.Join(err, out.close())
	}
	return out, nil
}

// named puts the program under a name into a folder of its own.
func named(dir, name, program string) (path string, remove func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	temp, err := os.MkdirTemp(dir, "replay-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(temp) }
	path = filepath.Join(temp, name)
	if os.Link(program, path) == nil { // not every file system can
		return path, remove, nil
	}
	src, err := os.Open(program)
	if err == nil {
		defer src.Close()
		err = file.WriteFrom(path, 0o500, func(w io.Writer) error {
			_, err := io.Copy(w, src)
			return err
		})
	}
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return path, remove, nil
}

// candles finds the store to play from: the host's if it has every file of the run,
// else one made of the slice.
func (h *Host) candles(ctx context.Context, p *production, r *Result,
	missing *MissingError) (*candle.Store, error) {
	c := p.capsule
	id, err := identify(c)
	if err != nil {
		return nil, err
	}
	p.stage = &Stage{
		Base: runner.StartRequest{
			Mode: runner.ModeBacktest, StrategyName: id.name, Symbols: id.symbols, Timeframe: id.timeframe,
			Exchange: id.exchange, InitialCash: id.cash,
		},
		Pins: map[market.Symbol]string{},
	}
	inputs, err := h.inputs(ctx, p, id.inputs, r, missing)
	if err != nil {
		return nil, err
	}
	defer func() { maps.Copy(p.stage.Pins, inputs) }() // those of the slice are of its candles
	absent := h.absent(ctx, c, id.exchange, p.stage.Pins)
	if len(absent) == 0 {
		p.whole, r.Candles = !p.short, FromStore
		return h.Candles, nil
	}
	if c.DataSlice == nil || !c.DataSlice.Inline || len(c.DataSlice.Series) != len(c.Inputs.Data) {
		missing.What = append(missing.What, absent...)
		return nil, nil
	}
	store, pins, remove, err := unpack(ctx, filepath.Join(h.StateDir, "tmp"), c.DataSlice)
	if err != nil {
		return nil, fmt.Errorf("the candles of the capsule: %w", err)
	}
	p.closers = append(p.closers, remove, store.Close)
	p.stage.Base.Exchange, p.stage.Pins, r.Candles = sliceExchange, pins, FromSlice
	return store, p.fit(r)
}

// absent are the datasets of the run that the store does not have; pins gets the others.
func (h *Host) absent(ctx context.Context, c *Capsule, exchange string,
	pins map[market.Symbol]string) []string {
	var absent []string
	for _, d := range c.Inputs.Data {
		pins[market.Symbol(d.Symbol)] = d.SHA256
		tf, err := market.ParseTimeframe(d.Timeframe)
		var stored candle.Dataset
		if err == nil {
			stored, err = h.Candles.Pinned(ctx, exchange, market.Symbol(d.Symbol), tf, d.SHA256)
		}
		var file *candlefile.File
		if err == nil {
			file, err = h.Candles.OpenSeries(stored)
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			absent = append(absent,
				fmt.Sprintf("%s candles of %s with the SHA-256 %s", d.Timeframe, d.Symbol, d.SHA256))
		}
	}
	return absent
}

// fit moves the window of the take into the slice: to where the run's began if that is
// in it, else to the minimal start, else behind the warm-up.
func (p *production) fit(r *Result) error {
	c, first := p.capsule, p.capsule.DataSlice.Series[0]
	p.take.End = nil
	begin := market.Time(0)
	if p.take.Start != nil {
		var err error
		if begin, err = market.ParseTime(*p.take.Start); err != nil {
			return &FormatError{Pointer: "/replay/take/start", Reason: err.Error()}
		}
	}
	warmup := c.DataSlice.Warmup
	// Fewer than were wanted are all that there were before the failure.
	all := int64(first.Rows) < warmup+SliceLead+1 || c.DataSlice.FromIndex <= -warmup
	switch {
	case begin >= first.Start && all:
		p.whole = !p.short
		return nil
	case c.Minimal != nil && c.Minimal.StartTime >= first.Start:
		begin = c.Minimal.StartTime
	default:
		begin = first.Candles[max(0, min(int(warmup), len(first.Candles)-1))].OpenTime
	}
	start := begin.String()
	p.take.Start = &start
	r.Remarks = append(r.Remarks, "the candles are those of the capsule: the play begins at "+start)
	return nil
}
