package line

import (
	"fmt"
	"strings"
)

// Code says what is wrong with a request.
type Code string

// The codes.
const (
	// InvalidJSON: the line is not one strict JSON object.
	InvalidJSON     Code = "INVALID_JSON"
	UnknownFunction Code = "UNKNOWN_FUNCTION"
	MissingInput    Code = "MISSING_INPUT"
	UnknownInput    Code = "UNKNOWN_INPUT"
	// InvalidArgument: an input has the wrong type or is outside the domain.
	InvalidArgument Code = "INVALID_ARGUMENT"
	// UnsupportedInput: a request that makes sense and is not computed here.
	UnsupportedInput Code = "UNSUPPORTED_INPUT"
)

// Error is the answer to a request that cannot be computed. Pointer is the JSON pointer
// into the line of what is wrong, "" for the whole of it.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
}

// Error is the code with the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an Error for a place in the line, given as the names and indices that
// lead to it.
func Errorf(code Code, path []any, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...), pointer(path)}
}

func pointer(path []any) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(escape(fmt.Sprint(step)))
	}
	return b.String()
}

// escape is a name in a JSON pointer (RFC 6901).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
