package candle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// inputPrefix begins what stands for an input where datasets are named by their symbols. No symbol
// has a colon.
const inputPrefix = "input:"

// InputSymbol is what stands for an input among the symbols of pins and hashes.
func InputSymbol(name string) market.Symbol { return market.Symbol(inputPrefix + name) }

// IsInput reports whether what stands among symbols is an input.
func IsInput(symbol string) bool { return strings.HasPrefix(symbol, inputPrefix) }

// InputID names a stored input for people: input-<name>-<12 hex of sha256>.
func InputID(name, sha256 string) string { return fmt.Sprintf("input-%s-%.12s", name, sha256) }

// Inputs are the stored series beside the candles: immutable files that are named by their hash,
// <state_dir>/data/inputs/<sha256>.csv, and for each name the record of which is current.
type Inputs struct{ dir string }

// Inputs are those beside the candles of the store.
func (s *Store) Inputs() *Inputs {
	return &Inputs{filepath.Join(filepath.Dir(s.windows.dir), "inputs")}
}

// StoredInput is which rows an input has now, and where they came from.
type StoredInput struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"`
	// First and Last are the earliest and the latest time of a row; zero in records of before.
	First market.Time `json:"first,omitempty"`
	Last  market.Time `json:"last,omitempty"`
	// FirstKnown and LastKnown are when the first and the last row became known.
	FirstKnown market.Time `json:"first_known"`
	LastKnown  market.Time `json:"last_known"`
	// KnownDelay is the option of a file that did not say when values became known; "" where it did.
	KnownDelay string              `json:"known_delay"`
	Merged     bool                `json:"merged"`
	File       importer.FileReport `json:"file"`
	CreatedAt  market.Time         `json:"created_at"`
}

// InputImport is a file to store as an input.
type InputImport struct {
	Name    string
	File    importer.Input
	Options importer.InputOptions
	// Merge joins the rows with those that the input has.
	Merge bool
	// DryRun does everything but store.
	DryRun bool
}

// Import reads a file and makes it the rows of an input. A refusal is a *importer.Error, an
// impossible option a *importer.OptionError; nothing is stored then.
func (i *Inputs) Import(ctx context.Context, req InputImport) (in StoredInput, err error) {
	if !market.ValidInputName(req.Name) {
		return in, &importer.OptionError{Flag: "--input",
			Message: fmt.Sprintf("%.80q is not ^[a-z][a-z0-9_-]{0,62}$", req.Name)}
	}
	rows, report, err := importer.ReadInput(req.File, req.Options)
	if err != nil {
		return in, err
	}
	in = StoredInput{Name: req.Name, File: report, CreatedAt: market.FromTime(time.Now())}
	if d := req.Options.KnownDelay; d != nil {
		in.KnownDelay = d.String()
	}
	if !req.DryRun {
		if err := os.MkdirAll(i.dir, 0o700); err != nil {
			return in, err
		}
		lock, err := file.LockDir(i.dir) // what is joined stays current until the whole is
		if err != nil {
			return in, err
		}
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	if req.Merge {
		if rows, in.Merged, err = i.merge(req.Name, rows); err != nil {
			return in, err
		}
	}
	if err := ctx.Err(); err != nil {
		return in, context.Cause(ctx)
	}
	var text bytes.Buffer
	if err := importer.WriteInput(&text, rows); err != nil {
		return in, err
	}
	in.SHA256, in.Rows = digest.SHA256Hex(text.Bytes()), len(rows)
	in.FirstKnown, in.LastKnown = rows[0].Known, rows[len(rows)-1].Known
	in.First = rows[0].Time
	for _, r := range rows {
		in.First, in.Last = min(in.First, r.Time), max(in.Last, r.Time)
	}
	if req.DryRun {
		return in, nil
	}
	record, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return in, err
	}
	if err := file.Write(i.path(in.SHA256), text.Bytes(), 0o444); err != nil {
		return in, err
	}
	return in, file.Write(i.record(in.Name), append(record, '\n'), 0o600)
}

func (i *Inputs) merge(name string, rows []market.InputRow) (_ []market.InputRow, merged bool, err error) {
	current, err := i.Current(name)
	if none := (*NotFoundError)(nil); errors.As(err, &none) {
		return rows, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	stored, err := i.Open(current.SHA256)
	if err != nil {
		return nil, false, err
	}
	rows, err = importer.JoinInputs(stored, rows)
	return rows, true, err
}

func (i *Inputs) path(sha256 string) string { return filepath.Join(i.dir, sha256+".csv") }
func (i *Inputs) record(name string) string { return filepath.Join(i.dir, name+".json") }

// Current is what an input has now. A *NotFoundError names the inputs that there are.
func (i *Inputs) Current(name string) (in StoredInput, err error) {
	text, err := os.ReadFile(i.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		none := &NotFoundError{What: "input", Value: name,
			Reason: "lab data import --input " + name + " stores it"}
		list, err := i.List()
		for _, known := range list {
			none.Have = append(none.Have, known.Name)
		}
		return in, errors.Join(none, err)
	}
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err == nil && (in.Name != name || !field.IsSHA256(in.SHA256)) {
		err = errors.New("is not a record of this input")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: import the input again", i.record(name), err)
	}
	return in, err
}

// GrowInput returns the rows of next besides those of before that were known until a time, and reports
// whether next has all of these unchanged. Both ascend by market.CompareInputRows.
func GrowInput(before, next []market.InputRow, until market.Time) (rest []market.InputRow, ok bool) {
	known := before[:sort.Search(len(before), func(i int) bool { return before[i].Known > until })]
	for _, r := range next {
		if len(known) > 0 && r == known[0] {
			known = known[1:]
			continue
		}
		rest = append(rest, r)
	}
	return rest, len(known) == 0
}

// List are all inputs by name. The error is about those that cannot be read, which it leaves out.
func (i *Inputs) List() ([]StoredInput, error) {
	entries, err := os.ReadDir(i.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list, err := []StoredInput{}, error(nil)
	for _, e := range entries { // by name
		if name, is := strings.CutSuffix(e.Name(), ".json"); is && market.ValidInputName(name) {
			in, damaged := i.Current(name)
			if damaged != nil {
				err = errors.Join(err, damaged)
				continue
			}
			list = append(list, in)
		}
	}
	return list, err
}

// InputFile is stored rows of whatever input.
type InputFile struct{ SHA256, Path string }

// Files are all stored rows, of now and of before.
func (i *Inputs) Files() (list []InputFile, err error) {
	entries, err := os.ReadDir(i.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if sum, is := strings.CutSuffix(e.Name(), ".csv"); is && field.IsSHA256(sum) {
			list = append(list, InputFile{sum, i.path(sum)})
		}
	}
	return list, err
}

// Drop removes rows that no input has now, unless an import has just made them current.
func (i *Inputs) Drop(sha256 string) (err error) {
	lock, err := file.LockDir(i.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	current, err := i.List()
	if err != nil || slices.ContainsFunc(current, func(in StoredInput) bool { return in.SHA256 == sha256 }) {
		return err
	}
	return os.Remove(i.path(sha256))
}

// Open reads the rows with this hash, ascending by market.CompareInputRows.
func (i *Inputs) Open(sha256 string) ([]market.InputRow, error) {
	path := i.path(sha256)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the rows sha256:%.12s… are not stored any more: import the file again",
			sha256)
	case err != nil:
		return nil, err
	case digest.SHA256Hex(text) != sha256:
		return nil, fmt.Errorf("%s is not what it was: import the file again", path)
	}
	rows, _, err := importer.ReadInput(importer.Bytes(filepath.Base(path), text), importer.InputOptions{})
	return rows, err
}
