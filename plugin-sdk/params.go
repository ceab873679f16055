package sdk

import "strings"

// ParamError is one bad parameter.
type ParamError struct {
	// Pointer is the RFC 6901 JSON pointer inside the parameters; "" means all of them.
	Pointer string
	Message string
}

// Error names the parameter and what is wrong with it.
func (e *ParamError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

// InvalidParam is the error of a constructor that refuses a parameter, a [*ParamError].
// Several go together with errors.Join.
func InvalidParam(name, message string) error {
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return &ParamError{Pointer: pointer, Message: message}
}
