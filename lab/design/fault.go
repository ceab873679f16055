package design

import (
	"errors"
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
)

// FieldError is one bad value of a space, a constraint or a design. Pointer is RFC 6901,
// below the value that was read; several go together with errors.Join.
type FieldError struct{ Pointer, Message string }

// Error says what is wrong with which field.
func (e *FieldError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + " " + e.Message
}

// FieldErrors lists every FieldError inside err, in order; nil if there is none.
func FieldErrors(err error) []*FieldError {
	switch e := err.(type) {
	case nil:
		return nil
	case *FieldError:
		return []*FieldError{e}
	case interface{ Unwrap() []error }:
		var list []*FieldError
		for _, inner := range e.Unwrap() {
			list = append(list, FieldErrors(inner)...)
		}
		return list
	}
	return FieldErrors(errors.Unwrap(err))
}

// Below is the error with every pointer below another place.
func Below(place string, err error) error {
	var errs []error
	for _, f := range FieldErrors(err) {
		errs = append(errs, &FieldError{place + f.Pointer, f.Message})
	}
	if err != nil && errs == nil {
		return err
	}
	return errors.Join(errs...)
}

// Escape is a name as a token of a JSON pointer.
func Escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func bad(pointer, format string, args ...any) error {
	return &FieldError{pointer, fmt.Sprintf(format, args...)}
}

// canonical is strict reading: no duplicate names, no number that float64 would change.
func canonical(text []byte) ([]byte, error) {
	out, err := digest.CanonicalJSON(text)
	var broken *digest.JSONError
	if errors.As(err, &broken) {
		return nil, &FieldError{broken.Pointer, broken.Reason}
	}
	return out, err
}
