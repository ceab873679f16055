package schema

import (
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// blanks is what \s stands for in ECMA-262, inside a class. Go's \s knows ASCII only.
const blanks = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// pattern is a regular expression with the blanks of ECMA-262, which JSON Schema
// refers to. It shows itself as it was written.
type pattern struct {
	*regexp.Regexp
	written string
}

// String implements fmt.Stringer.
func (p pattern) String() string { return p.written }

func compilePattern(written string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(withBlanks(written))
	if err != nil {
		return nil, err
	}
	return pattern{re, written}, nil
}

// withBlanks writes \s, and outside of classes \S, as classes of their own.
func withBlanks(p string) string {
	var out strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			i++
			switch {
			case p[i] == 's' && class:
				out.WriteString(blanks)
			case p[i] == 's':
				out.WriteString("[" + blanks + "]")
			case p[i] == 'S' && !class:
				out.WriteString("[^" + blanks + "]")
			default:
				out.WriteString(p[i-1 : i+1])
			}
			continue
		case p[i] == '[':
			class = true
		case p[i] == ']':
			class = false
		}
		out.WriteByte(p[i])
	}
	return out.String()
}
