package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"time"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/lab/candidate"
)

// Candidates implements v1.Lab.
func (l *lab) Candidates(ctx context.Context) ([]v1.Candidate, error) {
	ids, err := l.packed.IDs()
	if err != nil {
		return nil, err
	}
	o, err := l.trusted()
	if err != nil {
		return nil, err
	}
	all := []v1.Candidate{}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := l.packed.Check(id, o)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a folder that is no candidate, or is being removed
		}
		if err != nil {
			return nil, err
		}
		all = append(all, candidateOf(id, c))
	}
	slices.SortStableFunc(all, func(a, b v1.Candidate) int {
		return cmp.Compare(b.RequestedAt, a.RequestedAt)
	})
	return all, nil
}

// Candidate implements v1.Lab.
func (l *lab) Candidate(_ context.Context, revision string) (*v1.CandidateDetail, error) {
	o, err := l.trusted()
	if err != nil {
		return nil, err
	}
	c, err := l.packed.Check(revision, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &library.NotFoundError{Kind: library.KindCandidate, ID: revision}
	}
	if err != nil {
		return nil, err
	}
	out := &v1.CandidateDetail{Candidate: candidateOf(revision, c), Steps: []v1.VerifiedStep{},
		NotChecked: append([]string{}, c.Report.NotChecked...)}
	if c.Document != nil {
		out.Bundle = c.Document.Canonical
	}
	if _, err := digest.CanonicalJSON(c.Receipt); err == nil {
		out.Receipt = c.Receipt
	}
	for _, s := range c.Report.Steps {
		out.Steps = append(out.Steps,
			v1.VerifiedStep{Name: s.Name, OK: s.OK, Expected: s.Expected, Found: s.Found})
	}
	return out, nil
}

// trusted is what seals are checked with: the pinned key and the log that this host remembers.
func (l *lab) trusted() (o verify.Options, err error) {
	if l.controlKey == nil {
		return o, nil
	}
	seen, err := l.seen()
	if err != nil || seen == nil {
		return o, nil // said by the operations on the control plane, and by health
	}
	key, err := translog.ParseLogKey(seen.Key)
	if err != nil {
		return o, err
	}
	o.Key = l.controlKey
	o.TrustedRoot, err = ledger.TrustedRoot(time.Unix(0, 0), key)
	return o, err
}

func candidateOf(revision string, c *candidate.Checked) v1.Candidate {
	out := v1.Candidate{CandidateRevisionID: revision, Symbols: []string{}, Timeframes: []string{},
		RunIDs: []string{}, Verification: c.Outcome, Problems: append([]string{}, c.Problems...)}
	if c.Document == nil {
		return out
	}
	b := &c.Document.Bundle
	out.CandidateID, out.FamilyID, out.Slug, out.Owner = b.Candidate.CandidateID, b.Candidate.FamilyID,
		b.Candidate.Slug, b.Candidate.Owner
	out.StrategyName = b.Strategy.Name
	out.Symbols, out.Timeframes = append(out.Symbols, b.Strategy.Symbols...),
		append(out.Timeframes, b.Strategy.Timeframes...)
	out.ParentRevisionID = b.Candidate.Lineage.ParentRevisionID
	out.ChangeClass = b.Candidate.Lineage.ChangeClass
	out.RequestedStage, out.RequestedAt, out.ExpiresAt = string(b.SealRequest.RequestedStage),
		b.SealRequest.RequestedAt, b.SealRequest.ExpiresAt
	out.RunIDs = append(out.RunIDs, runIDs(b)...)
	return out
}

func runIDs(b *bundle.Bundle) (ids []string) {
	for i := range b.Runs {
		ids = append(ids, b.Runs[i].RunID)
	}
	return ids
}

// openReader opens what people read of the control plane, nil where none is configured, with its pinned key
// in PEM.
func (s *service) openReader(cfg config) (*client.Reader, []byte, error) {
	if cfg.control.key == nil {
		return nil, nil, nil
	}
	key, err := dsse.PublicPEM(cfg.control.key)
	if err != nil {
		return nil, nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	s.closers = append(s.closers, func() error { transport.CloseIdleConnections(); return nil })
	r, err := client.NewReader(client.ReaderOptions{URL: cfg.control.url, Key: key, Seen: s.policy.Seen,
		Witnesses: cfg.control.asked,
		HTTP:      &http.Client{Transport: transport}})
	return r, key, err
}
