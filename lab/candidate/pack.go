// Package candidate packs evidence into a candidate bundle, submits it to a control plane,
// and repeats what others have packed.
//
// [Pack] starts from one run, the baseline, finds what belongs to it in the registry, hashes
// every file again, and keeps the bundle in <state_dir>/candidates/<revision>/, whole or not at
// all. The core of a bundle comes from rows and files, never from the clock: packing twice
// gives one id. [Submit] posts it and keeps the answer once that is verified. [Replay] executes
// the pinned requests of a bundle again and compares by hash.
package candidate

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

// DefaultValid is how long a seal request is valid by default;
// bundle.MaxValidity is the longest.
const DefaultValid = 30 * 24 * time.Hour

// DefaultOrigin is the name of a control plane's log unless it was given another one.
const DefaultOrigin = "governance.local"

// ParseValid reads how long a request is valid: a duration such as 12h, or days such as 30d.
func ParseValid(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < time.Second || d > bundle.MaxValidity {
		return 0, fmt.Errorf("%q is not a duration such as 12h or 30d, from 1s to 90d", text)
	}
	return d, nil
}

// Options of one pack. What is empty takes what the revision that is packed again has, else
// the default.
type Options struct {
	Slug string
	// RunID is the baseline; empty takes the newest plan's selected run, else the newest.
	RunID string
	// Again is a revision to pack again with what was run since; nil for none.
	Again *bundle.Document
	// Stage is asked for: paper if empty. Family is that of the baseline if empty.
	Stage         bundle.Stage
	Owner, Family string
	// Title and Description are for people.
	Title, Description string
	// Limits is the content of --limits, nil for none.
	Limits []byte
	// Valid is DefaultValid if zero.
	Valid time.Duration
	// LogOrigin is the log that is asked to accept the bundle.
	LogOrigin string
	// Author is who packs: requested_by, and the author of the look at the test. Owner if
	// empty; Pack refuses where neither is given.
	Author string
	// Key signs the bundle; nil leaves it unsigned.
	Key crypto.Signer
	Now func() time.Time
}

// Packed is a candidate as it is kept now.
type Packed struct {
	*bundle.Document
	Dir string
	// Reused reports that candidate_bundle.json was there and still holds: it was left alone.
	Reused bool
	// Envelope is the signature over the bundle, nil without one.
	Envelope *dsse.Envelope
	// Skipped are failed paper and live runs, which are no evidence.
	Skipped []string
	// Refuted are the falsifications in it that refute the candidate.
	Refuted    []Refutation
	candidates *Store
}

// Pack makes the bundle of a candidate and keeps it. The error is an *request.Error
// RUN_NOT_FOUND or RUN_NOT_PACKABLE, or an *artifact.MismatchError when a file of a run has
// changed. The locked test of the runs is revealed, which is noted once for each.
func Pack(ctx context.Context, h *request.Host, o Options) (*Packed, error) {
	// Owner and requester may not approve: under a name that no key has they could.
	if o.Author = cmp.Or(o.Author, o.Owner); o.Author == "" {
		return nil, refuse(request.CodeUsage, "--owner",
			"the candidate needs an owner: give --owner or set USER")
	}
	store := NewStore(h.StateDir)
	lock, err := store.lock()
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Release() }() // the process's end would do it, too
	p := &packer{host: h, candidates: store, Options: o}
	found, err := p.evidence(ctx)
	if err != nil {
		return nil, err
	}
	core, err := p.core(ctx, found)
	if err != nil {
		return nil, err
	}
	out, err := p.settle(core)
	if err != nil {
		return nil, err
	}
	out.Skipped, out.Refuted = found.skipped, refutations(found)
	return out, nil
}

// Refutation is a falsification that refutes what it attacks, with the gates that failed.
type Refutation struct {
	RunID string   `json:"run_id"`
	Tests []string `json:"tests"`
}

func refutations(e *collected) []Refutation {
	list := []Refutation{}
	for _, x := range e.items {
		if f := x.found.Falsification; f != nil && f.Overall == "fail" {
			list = append(list, Refutation{x.meta.RunID, f.Failed()})
		}
	}
	return list
}

type packer struct {
	Options
	host       *request.Host
	candidates *Store
}

// evidence finds and reveals the runs.
func (p *packer) evidence(ctx context.Context) (*collected, error) {
	c := &collector{h: p.host, slug: p.Slug}
	var pinned *bundle.Bundle
	runID := p.RunID
	if p.Again != nil {
		pinned = &p.Again.Bundle
		if pinned.Candidate.Slug != p.Slug {
			return nil, refuse(request.CodeRunNotFound, "--candidate", "%s is of %s, not of %s",
				pinned.CandidateRevisionID, pinned.Candidate.Slug, p.Slug)
		}
		base, err := Baseline(pinned)
		if err != nil {
			return nil, err
		}
		runID = base.RunID
	}
	row, err := c.base(ctx, runID)
	if err != nil {
		return nil, err
	}
	found, err := c.collect(ctx, row, pinned)
	if err != nil {
		return nil, err
	}
	return found, c.reveal(ctx, found.items, p.Author)
}

// Baseline is the run that a revision stands on: its first with that role.
func Baseline(b *bundle.Bundle) (bundle.Run, error) {
	for _, r := range b.Runs {
		if r.Role == bundle.RoleBaseline {
			return r, nil
		}
	}
	return bundle.Run{},
		refuse(codeNotPackable, "--candidate", "%s has no baseline run", b.CandidateRevisionID)
}

// core is the bundle without lineage and seal request.
func (p *packer) core(ctx context.Context, e *collected) (bundle.Bundle, error) {
	m := e.base.meta
	ledger, err := selection.ReadTrials(ctx, p.host.Registry, p.host.Artifacts, m.RunID)
	if err != nil {
		return bundle.Bundle{}, err
	}
	s := subject{family: p.Family, owner: p.Owner, title: p.Title, description: p.Description}
	if s.manifest, err = manifestOf(p.host.StateDir, m.Plugin.SHA256); err != nil {
		return bundle.Bundle{}, err
	}
	if p.Again != nil {
		before := p.Again.Bundle.Candidate
		s.family, s.owner = cmp.Or(s.family, before.FamilyID), cmp.Or(s.owner, before.Owner)
		s.title, s.description, s.limits = before.Title, before.Description, p.Again.Bundle.Limits
	} else if s.limits, err = defaultLimits(e.base.request.InitialCash, m.Symbols); err != nil {
		return bundle.Bundle{}, err
	}
	s.family, s.owner = cmp.Or(s.family, m.FamilyID), cmp.Or(s.owner, p.Author)
	if p.Limits != nil {
		if s.limits, err = LimitsOver(s.limits, p.Limits); err != nil {
			return bundle.Bundle{}, err
		}
	}
	return compose(e, s, ledger, ledger.Digest())
}

// settle gives the core its lineage and request, and keeps it unless that was done.
func (p *packer) settle(core bundle.Bundle) (*Packed, error) {
	core.SealRequest = p.request()
	known, err := p.candidates.ofCandidate(core.Candidate.CandidateID)
	if err != nil {
		return nil, err
	}
	doc, old, err := p.seal(core, known)
	if err != nil {
		return nil, err
	}
	out := &Packed{
		Document: doc, Dir: p.candidates.Dir(doc.Bundle.CandidateRevisionID), candidates: p.candidates,
	}
	if old != nil && p.holds(old) {
		out.Document, out.Reused = old, true
	}
	return out, p.store(out)
}

// seal completes a core. old is the revision that it is already: one that differs in
// nothing but the lineage, which then stays.
func (p *packer) seal(core bundle.Bundle, known []*bundle.Document) (doc, old *bundle.Document, err error) {
	tip := last(known)
	for _, k := range known {
		same := core
		same.Candidate.Lineage = k.Bundle.Candidate.Lineage
		if doc, err = sealed(same); err != nil {
			return nil, nil, err
		}
		if doc.Bundle.CandidateRevisionID != k.Bundle.CandidateRevisionID {
			continue
		}
		if p.Stage == "" || p.LogOrigin == "" { // no other was asked for
			same.SealRequest.RequestedStage = cmp.Or(p.Stage, k.Bundle.SealRequest.RequestedStage)
			same.SealRequest.LogOrigin = cmp.Or(p.LogOrigin, k.Bundle.SealRequest.LogOrigin)
			doc, err = sealed(same)
		}
		return doc, k, err
	}
	lineage(&core, tip)
	doc, err = sealed(core)
	return doc, nil, err
}

// sealed turns the contract's refusals into the lab's.
func sealed(b bundle.Bundle) (*bundle.Document, error) {
	doc, err := bundle.Seal(b)
	var refused *bundle.Error
	if errors.As(err, &refused) {
		return nil, notPackable(refused)
	}
	return doc, err
}

// notPackable reports which option mends a refusal, where one does.
func notPackable(e *bundle.Error) error {
	out := request.Errorf(codeNotPackable, "the bundle would be refused: %s", e.Error()).
		With("pointer", e.Pointer, "reason", string(e.Code))
	for prefix, flag := range map[string]string{"/limits": "--limits", "/candidate/owner": "--owner",
		"/candidate/family_id": "--family", "/seal_request/log_origin": "--log-origin"} {
		if rest, ok := bytes.CutPrefix([]byte(e.Pointer), []byte(prefix)); ok &&
			(len(rest) == 0 || rest[0] == '/') {
			out.Code, out.Details["flag"] = request.CodeUsage, flag
		}
	}
	return out
}

func (p *packer) request() bundle.SealRequest {
	now := p.Now()
	return bundle.SealRequest{
		RequestedStage: cmp.Or(p.Stage, bundle.Paper), RequestedBy: p.Author,
		RequestedAt: bundle.FormatTime(now),
		ExpiresAt:   bundle.FormatTime(now.Add(cmp.Or(p.Valid, DefaultValid))),
		LogOrigin:   cmp.Or(p.LogOrigin, DefaultOrigin),
	}
}

// holds reports whether the request of a kept bundle is what is asked for, in force, and not one
// that a plane has taken without reading the files: that needs a new one.
func (p *packer) holds(old *bundle.Document) bool {
	s := old.Bundle.SealRequest
	until, err := time.Parse(time.RFC3339, s.ExpiresAt)
	return err == nil && p.Now().Before(until) && !p.candidates.unread(old.Bundle.CandidateRevisionID) &&
		(p.Stage == "" || s.RequestedStage == p.Stage) &&
		(p.LogOrigin == "" || s.LogOrigin == p.LogOrigin)
}

// store writes what is not there: bundle and signature.
func (p *packer) store(out *Packed) error {
	var envelope []byte
	if p.Key != nil {
		signed, err := out.Attest(bundle.TypeBundle,
			map[string]any{"candidate_revision_id": out.Bundle.CandidateRevisionID}, p.Key)
		if err != nil {
			return err
		}
		if envelope, err = digest.JCS(signed); err != nil {
			return err
		}
		out.Envelope = &signed
	}
	if !out.Reused {
		return p.candidates.keep(out.Document, envelope)
	}
	path := filepath.Join(out.Dir, EnvelopeName)
	have, err := os.ReadFile(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case envelope != nil && !bytes.Equal(have, envelope):
		return put(out.Dir, EnvelopeName, envelope)
	case envelope == nil && err == nil: // signed before
		signed, refused := bundle.DecodeEnvelope(have)
		if refused != nil {
			return request.Errorf(request.CodeArtifactMismatch,
				"%s is no signature any more: remove it, and pack with --sign-key", path)
		}
		out.Envelope = &signed.Envelope
	}
	return nil
}
