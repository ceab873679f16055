package verify

import (
	"fmt"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/translog"
)

// checkChain follows the changes of keys that were given from the key of the options.
func (v *verifier) checkChain() {
	if v.chain == nil || len(v.chain.Changes) == 0 {
		return
	}
	err := error(mismatch("", "a key given by --key and a log given by --trusted-root", "not both"))
	if v.key != nil && v.logs != nil {
		v.known, err = v.chain.Keys(v.key, v.opts.Witnesses, v.logs...)
	}
	v.step("changes of keys", err)
}

// keyOf is the key that signs at the place of a seal: that of the options, or one that changes of keys lead
// to.
func (v *verifier) keyOf(s *sealed) *ledger.Key {
	if v.known == nil {
		return v.key
	}
	index, err := s.sigstore.Index()
	if err != nil {
		return v.key
	}
	return v.known.Key(index)
}

// checkEarlier reports why the checkpoint of a seal may be of another tree than that of the newest log key:
// one that an earlier key has signed stands where a proof leads on from it.
func (v *verifier) checkEarlier(s *sealed) error {
	if v.known == nil {
		return nil
	}
	if v.known.Ring.NoteKey(s.head.Size).VKey() != s.log.VKey() && *s.head != v.known.Head {
		return mismatch("log key at that size", v.known.Ring.NoteKey(s.head.Size).VKey(), s.log.VKey())
	}
	err := v.known.Stands(s.sigstore.Note(), s.head)
	if err == nil {
		return nil
	}
	for _, g := range v.grown {
		head, _, err := ledger.OpenTrusted(g.Note, v.logs)
		if err == nil && v.known.Stands(g.Note, head) == nil && g.Old == s.head.Size &&
			translog.Continues(g.Hashes, *s.head, *head) == nil {
			return nil
		}
	}
	return mismatch("", fmt.Sprintf("the answer to /log/consistency?from=%d among the files, since keys "+
		"have changed behind it", s.head.Size), "none")
}
