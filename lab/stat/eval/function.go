package eval

import (
	"reflect"
	"slices"
	"strings"
)

// Input is one input of a function.
type Input struct {
	Name string `json:"name"`
	// Shape is "" for a scalar, [] for an array, [[]] for a matrix.
	Shape string `json:"shape,omitempty"`
	// Note is what the name and the shape do not tell.
	Note     string `json:"note,omitempty"`
	Optional bool   `json:"optional,omitempty"`
}

// String is the input as the table shows it.
func (i Input) String() string { return strings.TrimSpace(i.Name + i.Shape + " " + i.Note) }

// Function is one statistic.
type Function struct {
	// Names has the identifier. Names of earlier versions are answered and not listed.
	Names []string `json:"names"`
	// Forms are the inputs; of two forms, the first counts where its first input was given.
	Forms [][]Input `json:"forms"`
	Value string    `json:"value"`
	Doc   string    `json:"doc"`

	also []string
	// compute has a computation for each form: a value for [Answer], or an *Error.
	compute []func(given members) any
}

// define makes a function that takes its inputs as a struct, whose tags are those of bind.go.
func define[T any](name, value, doc string, compute func(in T) any) Function {
	return or(Function{Names: []string{name}, Value: value, Doc: doc}, compute)
}

// or adds a form to a function.
func or[T any](f Function, compute func(in T) any) Function {
	fields := fieldsOf(reflect.TypeFor[T]())
	form := make([]Input, len(fields))
	for i, field := range fields {
		form[i] = field.Input
	}
	f.Forms = append(f.Forms, form)
	f.compute = append(f.compute, func(given members) any {
		var in T
		if bad := bind(fields, given, reflect.ValueOf(&in).Elem()); bad != nil {
			return bad
		}
		return compute(in)
	})
	return f
}

// named adds the names of earlier versions.
func (f Function) named(also ...string) Function {
	f.also = also
	return f
}

// Answers reports whether name, listed or not, is one of the function.
func (f *Function) Answers(name string) bool {
	return slices.Contains(f.Names, name) || slices.Contains(f.also, name)
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
		bootstrapFunctions(),
		superiorFunctions(),
		permutationFunctions(),
		equityFunctions(),
		costFunctions(),
		designFunctions(),
		randomFunctions(),
		byteFunctions(),
	)
}

// answer checks the names of the inputs and runs the function, which was asked for under
// name: a value for [Answer], or an error.
func (f *Function) answer(name string, given members) (any, *Error) {
	at := 0
	if len(f.Forms) > 1 && given.find(f.Forms[0][0].Name) == nil {
		at = 1
	}
	form := f.Forms[at]
	for _, m := range given {
		if !slices.ContainsFunc(form, func(i Input) bool { return i.Name == m.name }) {
			return nil, Errorf(UnknownInput, []any{"inputs", m.name},
				"%q is not an input of %s: it takes %s", m.name, name, f.Inputs())
		}
	}
	for _, i := range form {
		if !i.Optional && given.find(i.Name) == nil {
			return nil, Errorf(MissingInput, []any{"inputs", i.Name},
				"%s is missing: %s takes %s", i.Name, name, f.Inputs())
		}
	}
	v := f.compute[at](given)
	if bad, refused := v.(*Error); refused {
		return nil, bad
	}
	return v, nil
}

// refused is the answer to an input that only the computation found to be wrong; path is the
// name of the input and the indices below it.
func refused(path []any, format string, args ...any) *Error {
	return Errorf(InvalidArgument, append([]any{"inputs"}, path...), format, args...)
}

// tooMuch is the answer to a request that would take too long.
func tooMuch(name, format string, args ...any) *Error {
	return Errorf(UnsupportedInput, []any{"inputs", name}, format, args...)
}

// at is the place of an input, or of a part of it.
func at(path ...any) []any { return path }

// each is a value for every element.
func each[T any](items []T, f func(T) any) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}
