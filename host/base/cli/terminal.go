package cli

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// Writer keeps text that others wrote (a strategy's error, a tag, a file name) from driving the terminal it
// is printed on: moving the cursor, changing the title, hiding what follows. It passes text on with every
// character that a terminal would obey written as an escape: control characters but line feed and tab, the
// C1 controls, what turns the direction of writing, and bytes that are not UTF-8. A character may come in two
// writes. It is not safe for concurrent use where what is behind it is not.
type Writer struct {
	out  io.Writer
	rest []byte // the beginning of a character
}

// NewWriter returns a Writer before out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write implements io.Writer. The count is of text.
func (w *Writer) Write(text []byte) (int, error) {
	all := append(w.rest, text...)
	clean := make([]byte, 0, len(all))
	for len(all) > 0 {
		if !utf8.FullRune(all) {
			break
		}
		r, size := utf8.DecodeRune(all)
		switch {
		case r == utf8.RuneError && size == 1:
			clean = fmt.Appendf(clean, `\x%02x`, all[0])
		case obeyed(r):
			clean = fmt.Appendf(clean, `\u%04x`, r)
		default:
			clean = append(clean, all[:size]...)
		}
		all = all[size:]
	}
	w.rest = append([]byte(nil), all...)
	if _, err := w.out.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}

// obeyed reports whether terminals act on a character instead of showing it.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0x200e && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}
