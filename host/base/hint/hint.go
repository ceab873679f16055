// Package hint finds the part of an error message that helps: the name that was probably meant, how
// a value is written, in which line of a file it stands, and what a JSON schema does not allow, by
// pointer. It is a package of its own because the host, the API and the lab write such messages alike.
package hint

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest returns the words that may have been meant: those within half of the letters, three at
// most, the nearest ones only, or those that the word begins.
func Nearest(word string, words []string) []string {
	var found []string
	best := min(3, (len(word)+1)/2)
	for _, w := range words {
		d := distance(word, w)
		if len(word) > 1 && strings.HasPrefix(w, word) {
			d = 0
		}
		switch {
		case d > best || d >= max(len(word), len(w)):
			continue
		case d < best:
			found, best = nil, d
		}
		if !slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	return found
}

// distance returns how many letters must be put in, left out or changed, or neighbours
// swapped, to make one word of the other.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// maxNames is how many names a message lists.
const maxNames = 20

// Names completes a sentence about a name that does not exist: what may have been meant and which
// names there are. The order of names is kept.
func Names(word string, names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	more := ""
	if len(names) > maxNames {
		names, more = names[:maxNames], ", ..."
	}
	list := "it has " + strings.Join(names, ", ") + more
	if alike := Nearest(word, names); len(alike) > 0 && len(names) > 1 {
		return "did you mean " + strings.Join(alike, " or ") + "? " + strings.ToUpper(list[:1]) + list[1:]
	}
	return list
}

// Form returns in words how a text that breaks a schema's pattern is written.
func Form(pattern string) string {
	switch pattern {
	case `^[^/\s:]{1,32}/[^/\s:]{1,32}$`:
		return "is not a symbol: write BASE/QUOTE, such as BTC/USDT"
	case `^[1-9][0-9]{0,3}[smhdwM]$`:
		return "is not a timeframe: write a count and a unit (s, m, h, d, w or M), such as 1h"
	case `^[a-z][a-z0-9_-]{0,62}$`:
		return "is not a name: write at most 63 of a-z, 0-9, _ and -, the first a letter"
	case `^[a-z][a-z0-9-]{0,62}$`:
		return "is not a name: write at most 63 of a-z, 0-9 and -, the first a letter"
	case `^sha256:[0-9a-f]{64}$`:
		return "is not a hash: write sha256: and 64 of 0-9 and a-f"
	case `^(0|[1-9][0-9]{0,19})$`:
		return "is not a whole number: write digits without a leading 0, as a text"
	}
	return "does not have the form that its description asks for"
}

// Position returns the line and the column, both from 1, of a byte of a text. Columns count characters.
func Position(text []byte, offset int) (line, column int) {
	before := text[:max(0, min(offset, len(text)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}
