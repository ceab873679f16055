package project

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/base/hint"
)

// notJSON is the fault of a text that cannot be parsed, at the place where the parser gave up.
func notJSON(text []byte, err error) Fault {
	f := Fault{Message: "is not JSON: " + err.Error()}
	var bad *jsontext.SyntacticError
	if !errors.As(err, &bad) {
		return f
	}
	offset := int(bad.ByteOffset)
	f.Line, f.Column = hint.Position(text, offset)
	f.Pointer = string(bad.JSONPointer)
	before, after := bytes.TrimSpace(text[:min(offset, len(text))]), bytes.TrimSpace(text[min(offset, len(text)):])
	switch {
	case len(after) == 0:
		f.Message = "is not JSON: the text ends too early"
	case bytes.HasSuffix(before, []byte(",")) && (after[0] == '}' || after[0] == ']'):
		f.Message = "is not JSON: there is a comma before this " + string(after[:1])
	case errors.Is(err, jsontext.ErrDuplicateName):
		f.Message = "is there twice"
	case bad.Err != nil:
		f.Message = "is not JSON: " + bad.Err.Error()
	}
	return f
}

// locate finds a member or item of a text that is JSON, or the nearest that encloses it: line and column, from 1.
func locate(text []byte, pointer string) (line, column int) {
	best, offset := -1, 0
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		t, err := d.ReadToken()
		if err != nil {
			break
		}
		kind := t.Kind()
		if kind == '}' || kind == ']' {
			continue
		}
		here := string(d.StackPointer())
		if (pointer == here || strings.HasPrefix(pointer, here+"/")) && len(here) > best {
			best, offset = len(here), int(d.InputOffset())-1
		}
	}
	if best < 0 {
		return 0, 0
	}
	return hint.Position(text, start(text, offset))
}

// start goes back from the last byte of a token to its first, as far as one line tells.
func start(text []byte, last int) int {
	if last < 0 || last >= len(text) {
		return 0
	}
	switch text[last] {
	case '{', '[':
		return last
	case '"':
		for i := last - 1; i >= 0; i-- {
			if text[i] == '"' && (i == 0 || text[i-1] != '\\') {
				return i
			}
		}
	}
	for i := last; i > 0; i-- {
		if strings.IndexByte(" \t\r\n:,[{", text[i-1]) >= 0 {
			return i
		}
	}
	return 0
}
