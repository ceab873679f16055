package promotion

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
)

// FactsOf are the facts of an entry, in a fixed order. The error says what the entry lacks: a
// seal without its bundle, an attestation that is not the recorded one.
func FactsOf(e *Entry) ([]Fact, error) {
	at, err := e.At()
	if err != nil {
		return nil, err
	}
	m := maker{seed: Fact{Seq: e.Seq, At: at, Revision: e.Revision()}}
	switch p := e.Predicate.(type) {
	case *LogStart:
		m.add(LogStarted, "", p)
	case *Seal:
		err = m.seal(e, p)
	case *Recorded:
		err = m.recorded(e, p)
	case *StageDecision:
		err = m.decision(p)
	case *Text:
		kind := PolicyLoaded
		if e.Type == bundle.TypeTrust {
			kind = TrustLoaded
		}
		m.add(kind, "", p)
	}
	if err == nil {
		err = m.err
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	return m.facts, nil
}

type maker struct {
	seed  Fact
	facts []Fact
	err   error
}

func (m *maker) add(kind Type, run string, fields any) {
	f := m.seed
	f.Type, f.Run, f.Fields = kind, run, fields
	f, err := f.identify()
	if err != nil && m.err == nil {
		m.err = err
	}
	m.facts = append(m.facts, f)
}

func (m *maker) seal(e *Entry, s *Seal) error {
	if s.Part > 1 {
		return nil // names further artifacts of what part 1 has accepted
	}
	if e.Document == nil {
		return fmt.Errorf("the bundle of the seal is missing")
	}
	b := &e.Document.Bundle
	if b.CandidateRevisionID != s.CandidateRevisionID || len(e.Subject) == 0 || e.Subject[0].Digest["sha256"] != e.Document.FileSHA256 {
		return fmt.Errorf("the bundle is not the one that was sealed")
	}
	for i, x := range s.Evidence {
		if len(s.Evidence) != len(b.Runs) || x.RunID != b.Runs[i].RunID {
			return fmt.Errorf("the evidence of the seal is not of the runs of its bundle")
		}
	}
	m.add(BundleIngested, "", &Ingested{
		FileSHA256: e.Document.FileSHA256, DeployableID: bundle.DeployableID(b.Strategy), Rungs: s.Rungs, SealRequest: b.SealRequest,
		Candidate: b.Candidate, Strategy: b.Strategy, Engine: b.Engine, Data: b.Data, Trials: b.Trials,
		Limitations: b.KnownLimitations, Extensions: b.Extensions, Evidence: s.Evidence,
	})
	for i := range b.Runs {
		m.add(RunLinked, b.Runs[i].RunID, &b.Runs[i])
	}
	for i := range b.Artifacts {
		m.add(ArtifactListed, b.Artifacts[i].RunID, &b.Artifacts[i])
	}
	m.add(LimitsDeclared, "", &b.Limits)
	m.add(LineageComputed, "", &Lineage{
		DeployableID: bundle.DeployableID(b.Strategy), ParentRevisionID: b.Candidate.Lineage.ParentRevisionID,
		DeclaredChangeClass: b.Candidate.Lineage.ChangeClass,
	})
	return nil
}

func (m *maker) recorded(e *Entry, p *Recorded) error {
	if m.seed.Revision == "" {
		return fmt.Errorf("the attestation is about no revision")
	}
	m.add(AttestationAdded, "", p)
	if e.Said == nil || e.Said.Statement.PredicateType != p.Type {
		return fmt.Errorf("the recorded attestation is missing, or is another one")
	}
	if c := e.Said.Common; c != nil && c.CandidateRevisionID != m.seed.Revision {
		return fmt.Errorf("the attestation is about another revision")
	}
	by := By{PAESHA256: p.PAESHA256, KeyID: p.KeyID, Principal: p.Principal, Roles: p.Roles}
	switch said := e.Said.Predicate.(type) {
	case *bundle.Replay:
		m.add(ReplayVerified, "", &Replay{by, *said})
	case *bundle.Approval:
		m.add(ApprovalGranted, "", &Approval{by, *said})
	case *bundle.Waiver:
		m.add(WaiverGranted, "", &Waiver{by, *said})
	case *bundle.Drill:
		m.add(DrillRecorded, said.RunID, &Drill{by, *said})
	case *bundle.Incident:
		kind := IncidentClosed
		if said.Event == "open" {
			kind = IncidentOpened
		}
		m.add(kind, "", &Incident{by, *said})
	case *bundle.Suspension:
		kind := RevisionSuspended
		if said.ToStage != "" {
			kind = RevisionDemoted
		}
		m.add(kind, "", &Suspension{by, *said})
	case *bundle.Ending:
		kind := RevisionRejected
		if p.Type == bundle.TypeRetirement {
			kind = RevisionRetired
		}
		m.add(kind, "", &Ending{by, *said})
	case nil:
		if p.Type == bundle.TypeBundle {
			m.add(BundleSigned, "", &Signature{by, files(e.Said.Statement.Subject)})
		}
	}
	return nil
}

// files are the digests of subjects, sorted, each once.
func files(subjects []bundle.Subject) []string {
	list := make([]string, 0, len(subjects))
	for _, s := range subjects {
		list = append(list, s.Digest["sha256"])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// decision says which stage was left and entered; a change of status only is a fact of
// its own.
func (m *maker) decision(d *StageDecision) error {
	if m.seed.Revision == "" {
		return fmt.Errorf("the decision is about no revision")
	}
	to, err := ParsePlace(d.To)
	if err != nil {
		return err
	}
	if d.From == nil {
		m.add(StageEntered, "", d)
		return nil
	}
	from, err := ParsePlace(*d.From)
	switch {
	case err != nil:
		return err
	case d.Cause == CauseSuperseded:
		m.add(RevisionReplaced, "", d)
	case d.Cause == CauseResumed:
		m.add(RevisionResumed, "", d)
	default:
		if from.Stage != to.Stage {
			m.add(StageLeft, "", d)
		}
		m.add(StageEntered, "", d)
	}
	return nil
}
