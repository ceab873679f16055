package run

import (
	"errors"
	"sort"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Input is a stored series beside the candles that a run reads: the whole of it, as a dataset
// without timeframe whose window is from when its first row became known to when its last did.
type Input struct {
	artifact.Dataset
	rows []market.InputRow
}

// Rows are its rows, ascending by market.CompareInputRows. They must not be written.
func (in *Input) Rows() []market.InputRow { return in.rows }

// FindInput opens the rows of an input with a hash, those that it has now if there is none.
func FindInput(store *candle.Inputs, name, sha256 string) (in Input, err error) {
	if sha256 == "" {
		current, err := store.Current(name)
		if err != nil {
			return in, err
		}
		sha256 = current.SHA256
	}
	if in.rows, err = store.Open(sha256); err != nil {
		return in, err
	}
	in.Dataset = artifact.Dataset{
		Symbol: string(candle.InputSymbol(name)), SHA256: sha256, ID: candle.InputID(name, sha256),
		Rows: int64(len(in.rows)), Start: in.rows[0].Known, End: in.rows[len(in.rows)-1].Known,
	}
	return in, nil
}

// resolveInputs opens the inputs that the strategy reads, in its order.
func (l *Launcher) resolveInputs(p *plan) (list []Input, err error) {
	for _, declared := range p.Strategy.Inputs {
		sum := p.split.Pins[candle.InputSymbol(declared.Name)]
		known, ok := l.inputs.Load(declared.Name + sum)
		in, _ := known.(Input)
		if !ok || sum == "" {
			if in, err = p.FindInput(l.Inputs, declared.Name, sum); err != nil {
				return nil, err
			}
		}
		if sum != "" {
			l.inputs.Store(declared.Name+sum, in)
		}
		if to := p.split.MoveInputs; to != nil {
			in = in.moved(to)
		}
		list = append(list, in)
	}
	return list, nil
}

// FindInput opens an input that the strategy reads, see the function FindInput. A refusal is a
// *RequestError.
func (p *Plan) FindInput(store *candle.Inputs, name, sha256 string) (Input, error) {
	in, err := FindInput(store, name, sha256)
	none, missing := errors.AsType[*candle.NotFoundError](err)
	switch {
	case missing:
		return in, startRefusal(err, "input_missing", []string{},
			"Strategy %q reads the input %s, which is not stored: import it with "+
				"lab data import --input %[2]s. Stored are %v.",
			p.Strategy.Name, name, nonNil(none.Have))
	case err != nil:
		return in, hostFault(err, "unreadable", "The stored rows of the input %s cannot be read: %v.", name,
			err)
	}
	return in, nil
}

// moved is the input with its rows at other times, in the same order.
func (in Input) moved(to func(market.Time) market.Time) Input {
	rows := make([]market.InputRow, len(in.rows))
	for i, r := range in.rows {
		rows[i] = market.InputRow{Time: to(r.Time), Known: to(r.Known), Value: r.Value}
	}
	in.rows, in.Start, in.End = rows, to(in.Start), to(in.End)
	return in
}

// InputReaders hands out rows that are all there beforehand, see [Lockstep.ReadInputs].
func InputReaders(rows [][]market.InputRow) func(market.Time) [][]market.InputRow {
	readers, next := make([]*market.InputReader, len(rows)), make([][]market.InputRow, len(rows))
	for i := range rows {
		readers[i] = market.NewInputReader(rows[i])
	}
	return func(t market.Time) [][]market.InputRow {
		for i, r := range readers {
			next[i] = r.Until(t)
		}
		return next
	}
}

// inputRows are the rows of the inputs that become known by the last close of the run: no process
// of a strategy gets a later one.
func (d *runData) inputRows() [][]market.InputRow {
	if len(d.inputs) == 0 {
		return nil
	}
	last := market.Time(0)
	for _, s := range d.sources {
		last = max(last, s.end())
	}
	list := make([][]market.InputRow, len(d.inputs))
	for i, in := range d.inputs {
		list[i] = in.rows[:sort.Search(len(in.rows), func(k int) bool { return in.rows[k].Known > last })]
	}
	return list
}
