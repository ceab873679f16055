package eval

import (
	"math"

	"github.com/assay-run/assay/lab/stat/cscv"
	"github.com/assay-run/assay/lab/stat/eval/line"
)

// argumentChecks runs cscv with an argument that has the fault of the first case. It
// always ends in an error.
func argumentChecks(in *line.Inputs) func() any {
	cases := in.Texts("cases")
	for i, name := range cases {
		if _, _, known := faulty(name); !known {
			in.Refuse(line.InvalidArgument, "cases", []any{i}, "%q is not one of S odd, S<2, T<2S, N<2, NaN in matrix", name)
		}
	}
	return func() any {
		for i, name := range cases {
			rows, s, _ := faulty(name)
			if _, _, err := cscv.Run(rows, s, cscv.Sharpe); err != nil {
				return line.Errorf(line.InvalidArgument, []any{"inputs", "cases", i}, "%s: %v", name, err)
			}
		}
		return refused("cases", "there is no case")
	}
}

// faulty are arguments of cscv with one fault.
func faulty(name string) (rows [][]float64, s int, known bool) {
	matrix := func(t, n int) [][]float64 {
		out := make([][]float64, t)
		for i := range out {
			out[i] = make([]float64, n)
			for k := range out[i] {
				out[i][k] = float64((i+1)*(k+2)%7) / 100
			}
		}
		return out
	}
	switch name {
	case "S odd":
		return matrix(16, 3), 3, true
	case "S<2":
		return matrix(16, 3), 0, true
	case "T<2S":
		return matrix(7, 3), 4, true
	case "N<2":
		return matrix(16, 1), 4, true
	case "NaN in matrix":
		rows = matrix(16, 3)
		rows[5][1] = math.NaN()
		return rows, 4, true
	}
	return nil, 0, false
}
