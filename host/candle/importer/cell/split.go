package cell

import "bytes"

// Split appends up to want cells of a line to cells. Quotes around a cell go, two
// inside are one.
func Split(cells [][]byte, line []byte, comma byte, want int) [][]byte {
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

// splitQuoted is Split from a cell that begins with a quote.
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

// Comma is the delimiter that a line uses most: comma, semicolon or tab.
func Comma(line string) byte {
	best, most := byte(','), 0
	quoted := false
	counts := map[byte]int{}
	for i := range len(line) {
		if line[i] == '"' {
			quoted = !quoted
		}
		if !quoted {
			counts[line[i]]++
		}
	}
	for _, c := range []byte{',', ';', '\t'} {
		if counts[c] > most {
			best, most = c, counts[c]
		}
	}
	return best
}
