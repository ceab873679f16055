package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/deploy"
)

// Verified reports whether the entry of the log that a document rests on is signed by the pinned key, and
// is in a tree that continues the checkpoint which this host remembers.
type Verified struct {
	OK bool `json:"ok"`
	// Reason is why not.
	Reason     string `json:"reason"`
	Entry      *Place `json:"entry"`
	Checkpoint *Head  `json:"checkpoint"`
}

// Place is an entry of the log: of a state the one that has put the revision there, of a registry its own,
// else the newest that was taken into account.
type Place struct {
	Index      int64  `json:"index"`
	Type       string `json:"type"`
	LeafSHA256 string `json:"leaf_sha256"`
}

// Head is a checkpoint. Remembered is the size of the one that it was shown to continue, null where this
// host remembers none yet: the control plane's own log key was taken then.
type Head struct {
	Origin     string `json:"origin"`
	Size       int64  `json:"size"`
	RootSHA256 string `json:"root_sha256"`
	Remembered *int64 `json:"remembered"`
}

// claim is what a document says of the entry that it rests on; "" for what it does not say.
type claim struct {
	index           int64
	revision, place string // the place as "stage/status"
	payload         string // of a registry, its SHA-256
}

// verify proves what a document rests on.
func (r *Reader) verify(ctx context.Context, text []byte, d document) Verified {
	c, err := r.claimOf(text, d)
	if err != nil {
		return Verified{Reason: err.Error()}
	}
	kept, err := r.seen()
	if err != nil {
		return Verified{Reason: "the checkpoint that this host remembers cannot be read: " + err.Error()}
	}
	by := ""
	if kept != nil {
		by = kept.Note
	}
	r.mu.Lock()
	if r.by != by || r.proven == nil || len(r.proven) > maxProven {
		r.proven, r.by = map[claim]Verified{}, by
	}
	known, ok := r.proven[c]
	r.mu.Unlock()
	if ok {
		return known
	}
	v, err := r.prove(ctx, c, kept)
	if err != nil {
		v.Reason = err.Error()
		return v
	}
	v.OK = true
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == by {
		r.proven[c] = v
	}
	return v
}

// maxProven bounds the entries that are known to be in the log, which they stay.
const maxProven = 4096

func (r *Reader) claimOf(text []byte, d document) (claim, error) {
	if d.Schema == deploy.Schema {
		reg, refused := deploy.Open(text, r.key.Public, d.FamilyID)
		if refused != nil {
			return claim{}, refused
		}
		var signed struct {
			Attestation struct{ Payload string }
		}
		_ = json.Unmarshal(text, &signed) // it was read before
		sum := digest.SHA256Hex(dsse.Base64(signed.Attestation.Payload))
		return claim{index: reg.Version - 1, payload: sum}, nil
	}
	for _, e := range slices.Backward(d.History) {
		if e.Revision == d.Revision {
			if e.To != d.Stage || !e.holds(d.Status) {
				return claim{}, fmt.Errorf(
					"it is said to be %.40s/%.40s, but the last decision led to %.40s/%.40s",
					d.Stage, d.Status, e.To, e.Status)
			}
			return claim{index: e.Seq, revision: e.Revision, place: e.To + "/" + e.Status}, nil
		}
	}
	return claim{index: *d.AsOfSeq, revision: d.Revision}, nil
}

// maxMoves is how often an entry is asked for again because the log has grown meanwhile.
const maxMoves = 4

// errGrown is for an entry and a checkpoint that are of two sizes of the log.
var errGrown = errors.New("the log grows faster than it can be followed")

func (r *Reader) prove(ctx context.Context, c claim, kept *translog.Kept) (v Verified, err error) {
	key, err := r.logKey(ctx, kept)
	if err != nil {
		return v, err
	}
	for range maxMoves {
		v, err = r.proveOnce(ctx, c, kept, key)
		if !errors.Is(err, errGrown) {
			return v, err
		}
	}
	return v, err
}

// logKey is the key of the log that this host remembers, else the one that the plane publishes.
func (r *Reader) logKey(ctx context.Context, kept *translog.Kept) (translog.LogKey, error) {
	if kept != nil {
		return translog.ParseLogKey(kept.Key)
	}
	text, err := r.client.Read(ctx, "trust", "log.vkey")
	if err != nil {
		return translog.LogKey{}, err
	}
	return translog.ParseLogKey(string(text))
}

func (r *Reader) proveOnce(ctx context.Context, c claim, kept *translog.Kept,
	key translog.LogKey) (v Verified, err error) {
	text, err := r.client.Read(ctx, "facts", strconv.FormatInt(c.index, 10))
	if err != nil {
		return v, fmt.Errorf("entry %d is not shown: %w", c.index, err)
	}
	var fact struct{ Seal json.RawMessage }
	if _, refused := field.Parse(text); refused != nil || json.Unmarshal(text, &fact) != nil {
		return v, fmt.Errorf("entry %d is not of the form of a control plane's", c.index)
	}
	seal, err := ledger.ParseSeal(fact.Seal)
	if err != nil {
		return v, fmt.Errorf("entry %d: %w", c.index, err)
	}
	logs := []ledger.TrustedLog{{LogKey: key}}
	known, err := r.client.known(ctx, &seal.Sigstore, r.key, r.witnesses, logs...)
	if err != nil {
		return v, fmt.Errorf("entry %d: %w", c.index, err)
	}
	if known != nil {
		logs = nil
		for _, k := range known.Ring.Logs() {
			logs = append(logs, ledger.TrustedLog{LogKey: k})
		}
		if !slices.ContainsFunc(logs, func(l ledger.TrustedLog) bool { return l.VKey() == key.VKey() }) {
			return v, fmt.Errorf("entry %d: the log key that this host remembers is none of those of the log",
				c.index)
		}
		key = known.Ring.Last().Log
	}
	head, err := included(seal, c.index, r.key, known, logs...)
	if err != nil {
		return v, fmt.Errorf("entry %d is not in the log: %w", c.index, err)
	}
	v.Checkpoint = &Head{Origin: head.Origin, Size: head.Size, RootSHA256: translog.Hex(head.Root)}
	entry, err := seal.Sigstore.Entry()
	if err != nil {
		return v, err
	}
	if v.Entry, err = c.about(entry, seal.LeafSHA256); err != nil {
		return v, err
	}
	if kept != nil {
		v.Checkpoint.Remembered = &kept.Size
		err = r.continues(ctx, kept, *head, key)
	}
	return v, err
}

// included takes the steps of the offline verifier for an entry of any kind at a place of a log. known is nil
// where key has signed the entry.
func included(seal *ledger.Seal, index int64, key *ledger.Key, known *ledger.Known,
	logs ...ledger.TrustedLog) (*ledger.Checkpoint, error) {
	s := &seal.Sigstore
	if known != nil {
		key = known.Key(index)
	}
	if err := s.CheckSignature(key); err != nil {
		return nil, err
	}
	if err := s.CheckLeaf(key); err != nil {
		return nil, err
	}
	head, _, err := s.CheckCheckpoint(logs...)
	if err != nil {
		return nil, err
	}
	if known != nil {
		if err := known.Stands(s.Note(), head); err != nil {
			return nil, err
		}
	}
	if err := s.CheckInclusion(key, head); err != nil {
		return nil, err
	}
	if err := seal.CheckSummary(key, head); err != nil {
		return nil, err
	}
	if seal.LogIndex != index {
		return nil, fmt.Errorf("it is entry %d", seal.LogIndex)
	}
	return head, nil
}

// about reports whether the entry is about what the document says of it.
func (c claim) about(entry ledger.Entry, leaf string) (*Place, error) {
	var st struct {
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
		Predicate struct {
			Revision string `json:"candidate_revision_id"`
			To       string
		}
	}
	if err := json.Unmarshal(entry.Payload, &st); err != nil {
		return nil, fmt.Errorf("entry %d is not a statement: %w", c.index, err)
	}
	place := &Place{Index: c.index, Type: dsse.PermanentType(st.PredicateType), LeafSHA256: leaf}
	names := func(is func(name, sum string) bool) bool {
		for _, s := range st.Subject {
			if is(s.Name, s.Digest.SHA256) {
				return true
			}
		}
		return false
	}
	other := fmt.Errorf("entry %d of the log is about something else than the document says", c.index)
	switch {
	case c.payload != "" && !names(func(_, sum string) bool { return sum == c.payload }),
		c.place != "" && st.Predicate.Revision != c.revision &&
			!names(func(name, _ string) bool { return name == c.revision }),
		c.place != "" && st.Predicate.To != "" && st.Predicate.To != c.place:
		return place, other
	}
	return place, nil
}

// continues reports why a checkpoint does not continue the one that this host remembers.
func (r *Reader) continues(ctx context.Context, kept *translog.Kept, head translog.Checkpoint,
	key translog.LogKey) error {
	old, err := kept.Checkpoint()
	if err != nil {
		return err
	}
	forked := func(err error) error {
		return fmt.Errorf("the log does not continue the one that this host remembers, of %d entries: %w",
			old.Size, err)
	}
	if head.Size <= old.Size {
		if err := translog.Continues(nil, old, head); err != nil {
			return forked(err)
		}
		return nil
	}
	path := []string{"log", "consistency"}
	from := url.Values{"from": {strconv.FormatInt(old.Size, 10)}}
	status, answer, err := r.client.plane.Ask(ctx, from, path...)
	text, err := r.client.judge(ctx, status, answer, err, "GET", path)
	if err != nil {
		return forked(err)
	}
	grown, err := translog.ParseExtension(string(text))
	if err != nil {
		return forked(err)
	}
	at, err := translog.OpenCheckpoint(grown.Note, key)
	switch {
	case err != nil:
		return forked(err)
	case at.Size != head.Size:
		return errGrown
	case *at != head:
		return forked(fmt.Errorf("two trees of %d leaves", head.Size))
	}
	if err := translog.Continues(grown.Hashes, old, head); err != nil {
		return forked(err)
	}
	return nil
}
