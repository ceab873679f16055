package ledger

import (
	"errors"
	"sort"

	"github.com/assay-run/assay/host/base/translog"
)

// Epoch is the keys of a log from an entry on.
type Epoch struct {
	From      int64
	Statement *Key
	Log       LogKey
}

// Ring is the keys that a log has had, in their order; the first epoch is from entry 0.
type Ring []Epoch

// At are the keys that sign the entry of an index.
func (r Ring) At(index int64) *Epoch {
	i := sort.Search(len(r), func(i int) bool { return r[i].From > index })
	return &r[max(i-1, 0)]
}

// NoteKey is the key that signs the checkpoint of a size: that of its last entry, so that the checkpoint
// that ends with a change of keys is signed by the old one.
func (r Ring) NoteKey(size int64) LogKey { return r.At(max(size-1, 0)).Log }

// Last are the keys that sign the next entry.
func (r Ring) Last() *Epoch { return &r[len(r)-1] }

// Logs are all log keys, the oldest first.
func (r Ring) Logs() []LogKey {
	list := make([]LogKey, len(r))
	for i := range r {
		list[i] = r[i].Log
	}
	return list
}

// Rotate is the ring behind the entry of an index that changes the keys. The error reports that the entry
// is not about the keys of its place.
func (r Ring) Rotate(index int64, change *translog.Rotation) (Ring, error) {
	last := r.Last()
	if change.Origin != last.Log.Origin || change.Old.Log != last.Log.VKey() ||
		change.Old.Statement != string(last.Statement.PEM()) {
		return r, errors.New("the change of keys names others than those of the log")
	}
	public, log, err := change.Keys()
	if err != nil {
		return r, err
	}
	key, err := NewKey(public)
	if err != nil {
		return r, err
	}
	return append(r[:len(r):len(r)], Epoch{index + 1, key, log}), nil
}
