package control

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
)

// receipt is ingest-receipt/v1: what became of a post.
type receipt struct {
	Schema              string           `json:"schema"`
	CandidateRevisionID string           `json:"candidate_revision_id"`
	FileSHA256          string           `json:"file_sha256"`
	Duplicate           bool             `json:"duplicate"`
	Assurance           string           `json:"assurance"`
	Rungs               []string         `json:"rungs"`
	Facts               []store.FactName `json:"facts"`       // without artifact_listed
	FactsTotal          int              `json:"facts_total"` // with them
	Seal                *ledger.Seal     `json:"seal"`
	State               standing         `json:"promotion_state"`
	PendingExperiments  int              `json:"pending_experiments"`
	Warnings            []warning        `json:"warnings"`
}

type standing struct {
	Stage       bundle.Stage     `json:"stage"`
	StageStatus promotion.Status `json:"stage_status"`
	Href        string           `json:"href"`
}

// warning is something that does not refuse a post, but that its sender should know.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
}

const schemaReceipt = "ingest-receipt/v1"

// receipt is the answer to a post: 201 when the log grew, 200 when nothing of it was new.
// It leaves only after the log is on disk.
func (s *submission) receipt(r *request, out *store.Outcome) (*answer, error) {
	rec := &receipt{
		Schema: schemaReceipt, CandidateRevisionID: s.id, FileSHA256: s.post.FileSHA256, Duplicate: len(out.Entries) == 0,
		Facts: []store.FactName{}, Warnings: []warning{},
	}
	if err := s.facts(r, rec, out); err != nil {
		return nil, err
	}
	entry, err := s.sealed(r, out)
	if err != nil {
		return nil, err
	}
	view := out.View
	err = s.p.store.Look(func(w *promotion.World, log ledger.View) error {
		if rec.Duplicate {
			view = log
		}
		return rec.state(w, s)
	})
	if err != nil {
		return nil, err
	}
	if rec.Seal, err = view.Seal(s.seal, entry); err != nil {
		return nil, err
	}
	s.warnRest(rec.Rungs)
	rec.Warnings = append(rec.Warnings, s.warnings...)
	rec.State.Href = r.Prefix + "/promotion-state/" + bundle.SubjectRevision + "/" + s.id
	a := &answer{status: http.StatusOK, body: rec, location: rec.State.Href}
	if !rec.Duplicate {
		a.status = http.StatusCreated
	}
	return a, nil
}

// facts are those that the post has made, or that it made when it was new.
func (s *submission) facts(r *request, rec *receipt, out *store.Outcome) error {
	all := make([]store.FactName, 0, len(out.Facts))
	for _, f := range out.Facts {
		all = append(all, store.FactName{Seq: f.Seq, Type: f.Type, ID: f.ID, Run: f.Run})
	}
	if rec.Duplicate {
		if !s.fresh && len(s.list) == 0 {
			s.seal, _ = s.p.store.Submission(s.post.FileSHA256)
		}
		for _, seq := range append([]int64{s.seal}, s.added...) {
			more, err := s.p.store.FactNames(r.Context(), seq)
			if err != nil {
				return err
			}
			all = append(all, more...)
		}
	}
	rec.FactsTotal = len(all)
	for _, f := range all {
		if f.Type != promotion.ArtifactListed {
			rec.Facts = append(rec.Facts, f)
		}
	}
	return nil
}

// sealed is the entry that accepts the file.
func (s *submission) sealed(r *request, out *store.Outcome) (ledger.Entry, error) {
	if i := s.seal - out.First; len(out.Entries) > 0 && i >= 0 && i < int64(len(out.Entries)) {
		return out.Entries[i], nil
	}
	return s.p.store.Signed(r.Context(), s.seal)
}

func (rec *receipt) state(w *promotion.World, s *submission) error {
	now := s.p.opts.Now()
	state, refused := w.State(bundle.SubjectRevision, s.id, now)
	if refused != nil {
		return refused
	}
	pending, refused := w.Experiments(bundle.SubjectRevision, s.id, "", now)
	if refused != nil {
		return refused
	}
	rec.Assurance, rec.Rungs, rec.PendingExperiments = state.Assurance, state.Rungs, pending.Count
	rec.State.Stage, rec.State.StageStatus = state.Stage, state.StageStatus
	if _, differs := w.ChangeClass(s.id); differs {
		s.warn("CHANGE_CLASS_DIFFERS", "by what is in the log the change is "+state.ChangeClass, s.post.Pointer("/candidate/lineage/change_class"))
	}
	return nil
}

// warnRest warns of files that were not there and of statements that count for nothing.
func (s *submission) warnRest(rungs []string) {
	for _, i := range s.artifacts.missing {
		s.warn("ARTIFACT_NOT_FOUND", "this file is not there, its hash was not verified", s.post.Pointer("/artifacts/"+strconv.Itoa(i)))
	}
	if !slices.Contains(rungs, bundle.RungVerified) {
		s.warn("EVIDENCE_NOT_READ", "not all files were read that numbers are worked out of, and no gate passes "+
			"on declared ones: put runs/ below the artifact root, then submit again by lab candidate pack",
			s.post.Pointer("/runs"))
	}
	warned := map[string]bool{}
	for i := range s.list {
		if a := &s.list[i]; !a.Said.Known() && !warned[a.Pointer] {
			warned[a.Pointer] = true
			s.warn("UNKNOWN_PREDICATE_TYPE", "a statement of this type is kept, but counts for nothing", a.Pointer)
		}
	}
}
