package wire

import (
	"encoding/binary"
	"fmt"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// inputRows is how many rows of inputs a Dataset has at most: some 1.5 MiB of them.
const inputRows = 1 << 16

// InputNames are the names of inputs; nil of none.
func InputNames(list []sdk.Input) (names []string) {
	for _, in := range list {
		names = append(names, in.Name)
	}
	return names
}

// InputAges are how old the newest values of inputs may be.
func InputAges(list []sdk.Input) (ages []market.InputAge) {
	for _, in := range list {
		ages = append(ages, market.InputAge{Name: in.Name, Max: in.MaxAge})
	}
	return ages
}

// InputsFromProto converts and checks the inputs of a description.
func InputsFromProto(p *strategypb.Spec) (list []sdk.Input, err error) {
	for i, in := range p.GetInputs() {
		age := in.GetMaxAge()
		if age < 0 || age > int64(1<<63-1)/int64(time.Millisecond) {
			return nil, wrong(at("inputs", i)+".max_age", "%d milliseconds are no age", age)
		}
		list = append(list,
			sdk.Input{Name: in.GetName(), MaxAge: time.Duration(age) * time.Millisecond})
	}
	if err := sdk.CheckInputs(list); err != nil {
		return nil, wrong("inputs", "%v", err)
	}
	return list, nil
}

// InputsToProto converts rows by input. Inputs without a row are left out.
func InputsToProto(rows [][]market.InputRow) (list []*strategypb.InputRows) {
	for i, rows := range rows {
		if len(rows) > 0 {
			list = append(list, inputToProto(i, rows))
		}
	}
	return list
}

func inputToProto(input int, rows []market.InputRow) *strategypb.InputRows {
	size := len(rows) * valueBytes
	room := make([]byte, 3*size)
	p := &strategypb.InputRows{Input: int32(input), Time: room[:size], Known: room[size : 2*size],
		Value: room[2*size:]}
	for k, r := range rows {
		binary.LittleEndian.PutUint64(p.Time[k*valueBytes:], uint64(r.Time))
		binary.LittleEndian.PutUint64(p.Known[k*valueBytes:], uint64(r.Known))
		putFloat(p.Value[k*valueBytes:], r.Value)
	}
	return p
}

// readInput converts rows of one of so many inputs.
func readInput(p *strategypb.InputRows, inputs int) (input int, rows []market.InputRow, err error) {
	n := len(p.GetTime()) / valueBytes
	switch size := n * valueBytes; {
	case p.GetInput() < 0 || int(p.GetInput()) >= inputs:
		return 0, nil, wrong("input", "index %d is not one of the run's %d inputs", p.GetInput(), inputs)
	case n > inputRows:
		return 0, nil, wrong("time", "%d rows, at most %d are allowed", n, inputRows)
	case len(p.GetTime()) != size || len(p.GetKnown()) != size || len(p.GetValue()) != size:
		return 0, nil, wrong("time", "the columns have %d, %d and %d bytes", len(p.GetTime()),
			len(p.GetKnown()), len(p.GetValue()))
	case !allFinite(p.GetValue()):
		return 0, nil, wrong("value", "a value is not a finite number")
	}
	rows = make([]market.InputRow, n)
	for k := range rows {
		rows[k] = market.InputRow{
			Time:  market.Time(binary.LittleEndian.Uint64(p.Time[k*valueBytes:])),
			Known: market.Time(binary.LittleEndian.Uint64(p.Known[k*valueBytes:])),
			Value: floatAt(p.Value, k),
		}
	}
	return int(p.GetInput()), rows, nil
}

// readInputs reads what became known at a step. What is known later is a fault of the host.
func (s *Step) readInputs(c *codec, list []*strategypb.InputRows) {
	s.Inputs = nil
	for i, p := range list {
		input, rows, err := readInput(p, sdk.MaxInputs)
		if err != nil {
			if c.err == nil {
				c.err = under(at("inputs", i), err)
			}
			return
		}
		for k, r := range rows {
			if r.Known > s.CloseTime {
				c.in("inputs", i)
				c.wrong(at("known", k), "%s is after the step's close at %s", r.Known, s.CloseTime)
				return
			}
		}
		for len(s.Inputs) <= input {
			s.Inputs = append(s.Inputs, nil)
		}
		s.Inputs[input] = append(s.Inputs[input], rows...)
	}
}

// InputDatasets are the messages that hand over rows by input before the candles of a
// co-simulation.
func InputDatasets(rows [][]market.InputRow) (list []*strategypb.Dataset) {
	for i, rows := range rows {
		for len(rows) > 0 {
			n := min(len(rows), inputRows)
			list = append(list,
				&strategypb.Dataset{Inputs: []*strategypb.InputRows{inputToProto(i, rows[:n])}})
			rows = rows[n:]
		}
	}
	return list
}

// InputsReader puts the rows of those messages together.
type InputsReader struct {
	Rows [][]market.InputRow // by input
}

// NewInputsReader reads the rows of so many inputs.
func NewInputsReader(inputs int) *InputsReader {
	return &InputsReader{make([][]market.InputRow, inputs)}
}

// Load checks the rows of the next message, which must follow those before.
func (r *InputsReader) Load(p *strategypb.Dataset) error {
	for i, part := range p.GetInputs() {
		field := fmt.Sprintf("dataset.inputs[%d]", i)
		input, rows, err := readInput(part, len(r.Rows))
		if err != nil {
			return under(field, err)
		}
		all := r.Rows[input]
		for k, row := range rows {
			if n := len(all); n > 0 && market.CompareInputRows(all[n-1], row) >= 0 {
				return wrong(at(field+".known", k), "rows must ascend by known and time")
			}
			all = append(all, row)
		}
		r.Rows[input] = all
	}
	return nil
}
