package ledger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
)

func encode64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// decode64 reads standard base64 in its only form: the decoder of the library ignores
// line ends and the bits that padding leaves over, which would let one value be written
// in several ways.
func decode64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("not base64")
	}
	if encode64(b) != s {
		return nil, errors.New("not canonical base64")
	}
	return b, nil
}

// decodeHash reads a hash of 32 bytes in strict base64.
func decodeHash(s string) (tlog.Hash, error) {
	b, err := decode64(s)
	if err != nil {
		return tlog.Hash{}, err
	}
	if len(b) != tlog.HashSize {
		return tlog.Hash{}, fmt.Errorf("%d bytes, not a hash of %d", len(b), tlog.HashSize)
	}
	return tlog.Hash(b), nil
}

// parseHex reads a hash in lower-case hex.
func parseHex(s string) (tlog.Hash, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != tlog.HashSize || hex.EncodeToString(b) != s {
		return tlog.Hash{}, errors.New("not a SHA-256 in lower-case hex")
	}
	return tlog.Hash(b), nil
}

// Hex is a hash as seals and tables write it.
func Hex(h tlog.Hash) string { return hex.EncodeToString(h[:]) }

// parseSize reads a count: decimal digits without sign and leading zeroes, below 2^63.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a count in plain decimals", s)
	}
	return n, nil
}

// decodeExact reads one JSON document into v and demands that v is all of it: the text
// is read strictly, and its canonical form is what v marshals to, so that nothing is
// missing, added, null or written in another type.
func decodeExact(text []byte, v any) error {
	tree, refused := field.Parse(text)
	if refused != nil {
		return refused
	}
	canonical := digest.Tree(tree)
	if err := json.Unmarshal(canonical, v, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	again, err := digest.JCS(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, canonical) {
		return fmt.Errorf("the document is not of the form that is expected: %s", firstDifference(again, canonical))
	}
	return nil
}

// firstDifference shows where two texts part.
func firstDifference(want, got []byte) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	from := max(0, i-20)
	return fmt.Sprintf("at byte %d expected %q, found %q", i, cut(want[from:]), cut(got[from:]))
}

func cut(b []byte) string { return string(b[:min(len(b), 48)]) }
