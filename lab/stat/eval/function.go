package eval

import (
	"slices"
	"strings"

	"github.com/assay-run/assay/lab/stat/eval/line"
)

// Input is one input of a function.
type Input struct {
	Name string `json:"name"`
	// Shape is "" for a scalar, [] for an array, [[]] for a matrix.
	Shape string `json:"shape,omitempty"`
	// Note is what the name and the shape do not say.
	Note     string `json:"note,omitempty"`
	Optional bool   `json:"optional,omitempty"`
}

// String is the input as the table shows it.
func (i Input) String() string { return strings.TrimSpace(i.Name + i.Shape + " " + i.Note) }

// Function is one statistic under one or more names.
type Function struct {
	Names []string `json:"names"`
	// Forms are the inputs; where there are several forms, one is chosen by whether the
	// first input of the first was given.
	Forms [][]Input `json:"forms"`
	Value string    `json:"value"`
	Doc   string    `json:"doc"`

	// bind reads the inputs and returns the computation, which runs only if all fitted.
	// An input that was not given is read by no one.
	bind func(in *line.Inputs) func() any
}

// Inputs are the inputs as the table shows them.
func (f *Function) Inputs() string {
	var forms []string
	for _, form := range f.Forms {
		var names []string
		for _, i := range form {
			names = append(names, i.String())
		}
		forms = append(forms, strings.Join(names, ", "))
	}
	return strings.Join(forms, "; or ")
}

// All is the table, in the order in which it is shown.
func All() []Function {
	return slices.Concat(
		returnFunctions(),
		errorFunctions(),
		probabilityFunctions(),
		deflateFunctions(),
		nullFunctions(),
		discoveryFunctions(),
		multipleFunctions(),
		overfittingFunctions(),
		splitFunctions(),
		resampleFunctions(),
		tradeFunctions(),
		designFunctions(),
		randomFunctions(),
		byteFunctions(),
	)
}

// compute checks the names of the inputs and runs the function: a value for line.Answer,
// or an error.
func (f *Function) compute(in *line.Inputs) (any, *line.Error) {
	form := f.Forms[0]
	if len(f.Forms) > 1 && !in.Has(form[0].Name) {
		form = f.Forms[1]
	}
	for _, name := range in.Names() {
		if !slices.ContainsFunc(form, func(i Input) bool { return i.Name == name }) {
			return nil, line.Errorf(line.UnknownInput, []any{"inputs", name}, "%q is not an input of %s: it takes %s", name, f.Names[0], f.Inputs())
		}
	}
	for _, i := range form {
		if !i.Optional && !in.Has(i.Name) {
			return nil, line.Errorf(line.MissingInput, []any{"inputs", i.Name}, "%s is missing: %s takes %s", i.Name, f.Names[0], f.Inputs())
		}
	}
	run := f.bind(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	v := run()
	if err, bad := v.(*line.Error); bad {
		return nil, err
	}
	return v, nil
}

// names is a form whose inputs are written like in the table: "returns[]", "rows[[sr, T]]".
func names(inputs ...string) []Input {
	var out []Input
	for _, text := range inputs {
		name, rest, _ := strings.Cut(text, " ")
		if at := strings.IndexAny(text, "[{"); at >= 0 && at < len(name) {
			end := strings.LastIndexAny(text, "]}") + 1
			out = append(out, Input{Name: text[:at], Shape: text[at:end], Note: strings.TrimSpace(text[end:])})
			continue
		}
		out = append(out, Input{Name: name, Note: rest})
	}
	return out
}

// form is the only form of a function.
func form(inputs ...string) [][]Input { return [][]Input{names(inputs...)} }

// refused is the answer to an input that only the computation found to be wrong.
func refused(name, format string, args ...any) *line.Error {
	return line.Errorf(line.InvalidArgument, []any{"inputs", name}, format, args...)
}

// tooMuch is the answer to a request that would take too long.
func tooMuch(name, format string, args ...any) *line.Error {
	return line.Errorf(line.UnsupportedInput, []any{"inputs", name}, format, args...)
}
