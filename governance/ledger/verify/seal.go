package verify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
)

// sealed is one seal under verification; seal is nil for a bare Sigstore bundle.
type sealed struct {
	name     string
	seal     *ledger.Seal
	sigstore *ledger.Sigstore
	receipt  document // the receipt that the seal came in, or nil

	statement *statement
	head      *ledger.Checkpoint
	log       *ledger.TrustedLog
	verified  bool // the statement key signed it
}

// readReceipt takes the seal out of an ingest receipt.
func readReceipt(f File) (*sealed, error) {
	doc, err := parse(f.Data)
	if err != nil {
		return nil, err
	}
	inner := doc.object("seal")
	if inner == nil {
		return nil, errors.New("the receipt has no seal")
	}
	seal, err := ledger.ParseSeal(inner.canonical())
	if err != nil {
		return nil, err
	}
	return &sealed{name: f.Name, seal: seal, sigstore: &seal.Sigstore, receipt: doc}, nil
}

// statement is the in-toto statement of a seal.
type statement struct {
	*bundle.ParsedStatement
	predicate document
}

func readStatement(payload []byte) (*statement, error) {
	parsed, refused := bundle.ReadStatement(payload)
	if refused != nil {
		return nil, refused
	}
	predicate, err := parse(parsed.Statement.Predicate)
	if err != nil {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	return &statement{parsed, predicate}, nil
}

// checkSeal takes the steps of one seal.
func (v *verifier) checkSeal(s *sealed) {
	at := " " + s.name
	needKey := mismatch("", "a key given by --key", "none")
	err, key := needKey, v.keyOf(s)
	if key != nil {
		err = s.sigstore.CheckSignature(key)
		s.verified = err == nil
	}
	v.step("signature"+at, err)
	v.step("statement type"+at, s.checkType())
	v.step("subject"+at, v.checkSubject(s))
	v.step("predicate"+at, v.checkPredicate(s))
	if err = needKey; key != nil {
		err = s.sigstore.CheckLeaf(key)
	}
	v.step("leaf recomputed"+at, err)
	v.step("checkpoint"+at, v.checkCheckpoint(s))
	switch {
	case key == nil:
		err = needKey
	case s.head == nil:
		err = mismatch("", "a checkpoint that is verified", "none")
	default:
		err = s.sigstore.CheckInclusion(key, s.head)
	}
	v.step("inclusion"+at, err)
	if s.seal != nil {
		v.step("tlog-proof agrees"+at, v.checkProof(s, s.seal.TlogProof))
		v.step("summary agrees"+at, v.checkSummary(s))
	}
}

func (s *sealed) checkType() error {
	entry, err := s.sigstore.Entry()
	if err != nil {
		return err
	}
	if err := same("payloadType", bundle.PayloadInToto, entry.PayloadType); err != nil {
		return err
	}
	if s.statement, err = readStatement(entry.Payload); err != nil {
		return err
	}
	return same("predicateType", bundle.TypeSeal, s.statement.Statement.PredicateType)
}

// errNoStatement stands for steps that a statement which cannot be read leaves open.
var errNoStatement = errors.New("no statement that can be read")

// checkSubject reports whether the seal is about the bundle that was given, and about no
// artifact with another hash than the bundle's.
func (v *verifier) checkSubject(s *sealed) error {
	if s.statement == nil {
		return errNoStatement
	}
	subjects := s.statement.Statement.Subject
	for _, subject := range subjects {
		if sum, err := hex.DecodeString(subject.Digest["sha256"]); err != nil || len(sum) != sha256.Size {
			return mismatch("subject "+subject.Name, "a sha256", fmt.Sprintf("%q", subject.Digest["sha256"]))
		}
	}
	if v.unread {
		return mismatch("", "the bundle that was given", "a bundle that cannot be read")
	}
	if len(v.bundles) == 0 {
		return nil
	}
	c := v.about(s)
	if c == nil {
		return mismatch("", "the bundle's sha256 "+v.bundles[0].sha,
			"other subjects, the first sha256 "+subjects[0].Digest["sha256"])
	}
	sums := map[string]string{}
	for _, a := range c.artifacts {
		sums[a.name] = a.sha256
	}
	for _, subject := range subjects {
		sum := subject.Digest["sha256"]
		if want, listed := sums[subject.Name]; listed {
			if err := same("subject "+subject.Name, want, sum); err != nil {
				return err
			}
		} else if sum != c.sha {
			return mismatch("", "the bundle and artifacts that it lists", "a subject "+subject.Name)
		}
	}
	return nil
}

// about is the given bundle that the seal is about: a subject of it, or in a later part
// of a seal, whose subjects are further artifacts, the one whose core and request it
// names.
func (v *verifier) about(s *sealed) *candidate {
	if s.statement == nil {
		return nil
	}
	p := s.statement.predicate
	for _, c := range v.bundles {
		if s.statement.Names(c.sha) {
			return c
		}
		if p.count("part") > 1 && p.text("candidate_revision_id") == c.id &&
			sameObject(p, c.doc, "seal_request") {
			return c
		}
	}
	return nil
}

// sameObject reports whether two documents have the same object as a member.
func sameObject(a, b document, name string) bool {
	return bytes.Equal(a.object(name).canonical(), b.object(name).canonical())
}

// checkPredicate reports whether the seal accepts what the bundle asked for, in time, and
// whether the seal's own summary of it is the signed one.
func (v *verifier) checkPredicate(s *sealed) error {
	if s.statement == nil {
		return errNoStatement
	}
	p := s.statement.predicate
	request := p.object("seal_request")
	received, ok := p.time("received_at")
	if !ok {
		return mismatch("received_at", "a time", fmt.Sprintf("%q", p.text("received_at")))
	}
	id := p.text("candidate_revision_id")
	checks := []error{
		same("seal_request.subject_id", id, request.text("subject_id")),
		same("seal_request.requested_stage", p.text("requested_stage"), request.text("requested_stage")),
		inWindow(received, request),
	}
	if part, parts := p.count("part"), p.count("parts"); part < 1 || part > parts {
		checks = append(checks, mismatch("part", fmt.Sprintf("1 to %d", parts), fmt.Sprint(part)))
	}
	if c := v.about(s); c != nil {
		checks = append(checks, same("candidate_revision_id", c.id, id),
			same("family_id", c.doc.object("candidate").text("family_id"), p.text("family_id")),
			same("seal_request", string(c.doc.object("seal_request").canonical()),
				string(request.canonical())))
	}
	if s.seal != nil {
		var held []string
		for _, rung := range p.list("rungs") {
			held = append(held, fmt.Sprint(rung))
		}
		checks = append(checks, same("integrated_at", p.text("received_at"), s.seal.IntegratedAt),
			same("assurance", ledger.Highest(held), s.seal.Assurance),
			same("log_origin", request.text("log_origin"), s.seal.LogOrigin))
	}
	return cmp.Or(checks...)
}

// inWindow reports whether a request was in force when it was received.
func inWindow(received time.Time, request document) error {
	from, ok1 := request.time("requested_at")
	until, ok2 := request.time("expires_at")
	if !ok1 || !ok2 {
		return mismatch("seal_request", "times", "none")
	}
	if received.Before(from.Add(-bundle.MaxAhead)) || !received.Before(until) {
		return mismatch("received_at",
			fmt.Sprintf("a time from %s to %s", from.Format(time.RFC3339), until.Format(time.RFC3339)),
			received.Format(time.RFC3339))
	}
	return nil
}

// checkCheckpoint opens the checkpoint with the trusted root; the log must be the one
// that the request named, and trusted at the time of the seal.
func (v *verifier) checkCheckpoint(s *sealed) error {
	if v.logs == nil {
		return mismatch("", "a log given by --trusted-root", "none")
	}
	var err error
	if s.head, s.log, err = s.sigstore.CheckCheckpoint(v.logs...); err != nil {
		return err
	}
	if err := v.checkEarlier(s); err != nil {
		s.head = nil
		return err
	}
	if s.statement == nil {
		return nil
	}
	p := s.statement.predicate
	if at, ok := p.time("received_at"); ok && !s.log.Covers(at.Truncate(time.Second)) {
		return mismatch("", "a seal within the log key's validity", p.text("received_at"))
	}
	return same("log_origin", p.object("seal_request").text("log_origin"), s.head.Origin)
}

// checkProof compares a tlog-proof with a seal's entry.
func (v *verifier) checkProof(s *sealed, text string) error {
	switch {
	case v.key == nil:
		return mismatch("", "a key given by --key", "none")
	case s.head == nil:
		return mismatch("", "a checkpoint that is verified", "none")
	}
	return s.sigstore.CheckProof(text, v.keyOf(s), s.head, v.logs...)
}

// checkSummary compares the seal's plain fields, and those of a receipt that are about
// the bundle.
func (v *verifier) checkSummary(s *sealed) error {
	if v.key == nil || s.head == nil {
		return mismatch("", "a key and a checkpoint that is verified", "none")
	}
	if err := s.seal.CheckSummary(v.keyOf(s), s.head); err != nil {
		return err
	}
	if c := v.about(s); c != nil && s.receipt != nil {
		return cmp.Or(same("receipt candidate_revision_id", c.id, s.receipt.text("candidate_revision_id")),
			same("receipt file_sha256", c.sha, s.receipt.text("file_sha256")))
	}
	return nil
}
