package order

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
)

const (
	idPrefix   = "as"
	tagLength  = 6
	bodyLength = 10
	idLength   = len(idPrefix) + tagLength + bodyLength
)

var b32 = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Tag is the six characters that mark the orders of a run at the venue.
func Tag(runID string) string { return hashed("assay/run-tag\n"+runID, tagLength) }

// ClientID is the client order id of a run's order: "as", the tag, ten characters. The same
// run and number give the same id for ever, so an order can be found again after a crash.
func ClientID(runID string, seq int64) string {
	return idPrefix + Tag(runID) + hashed("assay/order\n"+runID+"\n"+strconv.FormatInt(seq, 10), bodyLength)
}

// ListID is the id of a pair whose first leg has the number seq.
func ListID(runID string, seq int64) string {
	return idPrefix + Tag(runID) + hashed("assay/list\n"+runID+"\n"+strconv.FormatInt(seq, 10), bodyLength)
}

// Ours says that an id has the form ^as[0-9a-v]{16}$: some run of this product made it.
func Ours(id string) bool {
	if len(id) != idLength || id[:len(idPrefix)] != idPrefix {
		return false
	}
	for _, c := range []byte(id[len(idPrefix):]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'v') {
			return false
		}
	}
	return true
}

// OfRun says that an id was made by the run with this tag.
func OfRun(id, tag string) bool {
	return Ours(id) && id[len(idPrefix):len(idPrefix)+tagLength] == tag
}

func hashed(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return b32.EncodeToString(sum[:])[:n]
}
