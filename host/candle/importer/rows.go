package importer

import (
	"bytes"
	"fmt"
)

// rows reads the lines of a block into the table. Nothing is allocated per row.
func (r *run) rows(block []byte) error {
	r.table.grow(bytes.Count(block, []byte("\n")) + 1)
	for len(block) > 0 {
		line := block
		if end := bytes.IndexByte(block, '\n'); end >= 0 {
			line, block = block[:end], block[end+1:]
		} else {
			block = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if err := r.row(line); err != nil {
			return err
		}
		r.src.line++
	}
	return nil
}

// row reads one line.
func (r *run) row(line []byte) error {
	l := &r.layout
	want := l.last() + 1
	cells := split(r.cells[:0], line, r.comma, want)
	if len(cells) < want {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		r.report.RowsRead++
		return r.fail(BadNumber, line, fmt.Sprintf("the row has %d columns, %d are needed", len(cells), want))
	}
	r.report.RowsRead++
	o, os := parseNumber(cells[l.Open])
	h, hs := parseNumber(cells[l.High])
	w, ws := parseNumber(cells[l.Low])
	c, cs := parseNumber(cells[l.Close])
	v, vs := 0.0, good
	if l.Volume >= 0 {
		v, vs = parseNumber(cells[l.Volume])
	}
	worst := max(os, hs, ws, cs)
	if worst == bad || vs == bad {
		return r.fail(BadNumber, line, "a price or volume is not a number")
	}
	if worst == missing {
		r.report.Skipped++
		return nil
	}
	at, u, code := parseMoment(cells[l.Time], r.opts.Zone)
	if code != "" {
		return r.fail(code, line, timeMessage(code, cells[l.Time]))
	}
	if !(o > 0 && h > 0 && w > 0 && c > 0) || v < 0 {
		return r.fail(BadNumber, line, "prices must be above zero and volumes not below")
	}
	if vs == missing {
		r.noVolume++
	}
	r.counts[u]++
	r.table.add(at, o, h, w, c, v+0, originOf(r.index, r.src.line)) // + 0 makes -0 a plain zero
	return nil
}

// fail keeps a fault of the current line. The first fault decides the code; the file
// is read on for more of that kind only until there are enough.
func (r *run) fail(code Code, line []byte, message string) error {
	if r.refusal == nil {
		r.refusal = refuse(code, "%s", message)
	}
	if r.refusal.Code == code && r.refusal.add(r.src.name, r.src.line, string(line)) {
		return errEnough
	}
	return nil
}

func timeMessage(code Code, cell []byte) string {
	switch text := shorten(string(cell)); code {
	case TimeNotInteger:
		return fmt.Sprintf("the time %s is not an integer: digits are lost, export the file again with whole numbers", text)
	case TimeOutOfRange:
		return fmt.Sprintf("the time %s is not in the years 1970 to 2100 (integers are s, ms, us or ns since 1970; write dates as 2024-01-31)", text)
	case TimezoneRequired:
		return fmt.Sprintf("the time %s has no offset: give --tz, for example --tz UTC", text)
	default:
		return fmt.Sprintf("%q is not a time", text)
	}
}

// split appends up to want cells of a line to cells. Quotes around a cell go, two
// inside are one.
func split(cells [][]byte, line []byte, comma byte, want int) [][]byte {
	from := 0
	for i, b := range line {
		if b == comma {
			if cells = append(cells, line[from:i]); len(cells) == want {
				return cells
			}
			from = i + 1
		} else if b == '"' && i == from {
			return splitQuoted(cells, line[from:], comma, want)
		}
	}
	return append(cells, line[from:])
}

// splitQuoted is split from a cell that begins with a quote.
func splitQuoted(cells [][]byte, rest []byte, comma byte, want int) [][]byte {
	for len(cells) < want {
		var cell []byte
		if len(rest) > 0 && rest[0] == '"' {
			cell, rest = unquote(rest[1:])
		}
		end := bytes.IndexByte(rest, comma)
		if end < 0 {
			return append(cells, append(cell, rest...))
		}
		cells = append(cells, append(cell, rest[:end]...))
		rest = rest[end+1:]
	}
	return cells
}

// unquote reads to the closing quote; what follows is the rest.
func unquote(s []byte) (cell, rest []byte) {
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			cell = append(cell, s[i])
			continue
		}
		if i+1 == len(s) || s[i+1] != '"' {
			return cell, s[i+1:]
		}
		cell = append(cell, '"')
		i++
	}
	return cell, nil
}
