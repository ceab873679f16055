package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Version is that of the form in which entries and the rows of their transaction are written. An entry that does
// not say one is of version 1, which stored the Go field names of package market and numbers for its enumerations.
const Version = 2

// kindRows is the kind of the entry that vouches for the other rows of its transaction.
const kindRows = "rows"

// genesis is the prev of the first entry.
var genesis = strings.Repeat("0", 2*sha256.Size)

var (
	kindForm  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	runIDForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
)

// body is what the column body of log holds.
type body struct {
	At    int64           `json:"at"`
	Data  json.RawMessage `json:"data,omitempty"`
	Kind  string          `json:"kind"`
	N     int64           `json:"n"`
	Rows  map[string]int  `json:"rows,omitempty"`
	Run   string          `json:"run,omitempty"` // digest of the row of runs, when it was written
	RunID string          `json:"run_id"`
	SHA   string          `json:"sha256,omitempty"` // digest of the counted rows
	V     int             `json:"v,omitempty"`      // Version; 0 for 1
}

// encode is the canonical JSON. It is put together by hand because every commit needs
// one; the test compares it with digest.JCS. Kind and RunID have no character to escape.
func (b *body) encode() string {
	out := make([]byte, 0, 256+len(b.Data))
	out = strconv.AppendInt(append(out, `{"at":`...), b.At, 10)
	if b.Data != nil {
		out = append(append(out, `,"data":`...), b.Data...)
	}
	out = append(append(out, `,"kind":"`...), b.Kind...)
	out = strconv.AppendInt(append(out, `","n":`...), b.N, 10)
	if len(b.Rows) > 0 {
		out = append(out, `,"rows":{`...)
		sep := ""
		for _, name := range sortedTables {
			if n := b.Rows[name]; n > 0 {
				out = append(append(append(out, sep...), '"'), name...)
				out = strconv.AppendInt(append(out, `":`...), int64(n), 10)
				sep = ","
			}
		}
		out = append(out, '}')
	}
	if b.Run != "" {
		out = append(append(append(out, `,"run":"`...), b.Run...), '"')
	}
	out = append(append(append(out, `,"run_id":"`...), b.RunID...), '"')
	if b.SHA != "" {
		out = append(append(append(out, `,"sha256":"`...), b.SHA...), '"')
	}
	if b.V != 0 {
		out = strconv.AppendInt(append(out, `,"v":`...), int64(b.V), 10)
	}
	return string(append(out, '}'))
}

// sortedTables are the digested tables as canonical JSON orders them.
var sortedTables = []string{"candles", "equity", "fills", "intents", "order_events"}

// decodeBody reads what encode writes and nothing else: a text has one reading, and a
// reading one text.
func decodeBody(text string) (*body, error) {
	b := &body{}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(b); err != nil {
		return nil, fmt.Errorf("body of a log entry: %w", err)
	}
	if !kindForm.MatchString(b.Kind) || !runIDForm.MatchString(b.RunID) || b.N < 1 {
		return nil, errors.New("body of a log entry: kind, n or run_id is missing or malformed")
	}
	if (b.Kind == kindRows) == (b.Data != nil) || (b.Kind != kindRows && (b.Rows != nil || b.Run != "" || b.SHA != "")) {
		return nil, errors.New("body of a log entry: data and rows exclude each other")
	}
	if b.V == 1 || b.V < 0 || b.V > Version {
		return nil, fmt.Errorf("body of a log entry: version %d, want at most %d", b.V, Version)
	}
	if b.Data != nil {
		if data, err := digest.CanonicalJSON(b.Data); err != nil || !bytes.Equal(data, b.Data) {
			return nil, errors.New("body of a log entry: data is not canonical")
		}
	}
	if b.encode() != text {
		return nil, errors.New("body of a log entry: not canonical")
	}
	return b, nil
}

// canonical is the canonical JSON of any value. Text that is no UTF-8, as a venue may
// send it, is mended and not refused.
func canonical(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return digest.CanonicalJSON(text)
}

// chain is the hash of an entry.
func chain(prev, body string) string {
	sum := sha256.New()
	sum.Write([]byte(prev))
	sum.Write([]byte{'\n'})
	sum.Write([]byte(body))
	return hex.EncodeToString(sum.Sum(nil))
}

// entryBody checks an entry and gives its body without run and number.
func entryBody(e Entry, now market.Time) (*body, error) {
	if !kindForm.MatchString(e.Kind) || e.Kind == kindRows {
		return nil, &InvalidError{"entry.kind", "use a word of letters, digits, dots, dashes and underscores; rows is taken"}
	}
	data, err := canonical(e.Data)
	if err != nil {
		return nil, &InvalidError{"entry.data", err.Error()}
	}
	at := e.At
	if at == 0 {
		at = now
	}
	return &body{At: int64(at), Data: data, Kind: e.Kind, V: Version}, nil
}
