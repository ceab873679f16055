package promotion

import (
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/field"
)

// The refusals of reads that are not in the bundle's list.
const (
	SubjectNotFound bundle.Code = "SUBJECT_NOT_FOUND"
	FamilyNotFound  bundle.Code = "FAMILY_NOT_FOUND"
)

// Head is what the bodies about a subject have in common. AsOfSeq is the newest entry
// that was looked at, AsOf the moment that the body is worked out for, RFC 3339.
type Head struct {
	Schema      string `json:"schema"`
	SubjectType string `json:"subject_type"`
	SubjectID   string `json:"subject_id"`
	AsOfSeq     int64  `json:"as_of_seq"`
	AsOf        string `json:"as_of"`
}

func (w *World) head(schema, subjectType, subjectID string, at time.Time) Head {
	return Head{schema, subjectType, subjectID, w.seq, stamp(at)}
}

// subject are the revisions of a subject, by first submission; never none.
func (w *World) subject(kind, id string) ([]*revision, *bundle.Error) {
	var list []*revision
	switch kind {
	case bundle.SubjectRevision, bundle.SubjectCandidate, bundle.SubjectFamily, bundle.SubjectStrategy:
	default:
		return nil, field.Refuse(field.InvalidSubjectType, "", "subject type: one of candidate_revision, candidate, family, strategy")
	}
	if kind == bundle.SubjectRevision && !field.IsRevision(id) || !field.IsIdentifier(id) {
		return nil, field.Refuse(field.InvalidIdentifier, "", "this is no id of a %s", strings.ReplaceAll(kind, "_", " "))
	}
	switch kind {
	case bundle.SubjectRevision:
		if r, ok := w.revisions[id]; ok {
			list = []*revision{r}
		}
	case bundle.SubjectCandidate:
		list = w.byCandidate[id]
	case bundle.SubjectFamily:
		list = w.byFamily[id]
	case bundle.SubjectStrategy:
		list = w.byStrategy[id]
	}
	if len(list) == 0 {
		return nil, field.Refuse(SubjectNotFound, "", "nothing with this id is in the log")
	}
	return list, nil
}

func readStage(s string) (bundle.Stage, *bundle.Error) {
	if !slices.Contains(bundle.PromotionStages(), bundle.Stage(s)) {
		return "", field.Refuse(field.InvalidStage, "", "stage: one of research, paper, canary, live")
	}
	return bundle.Stage(s), nil
}

// newest is the newest revision that has not ended, else the newest.
func newest(list []*revision) *revision {
	for _, r := range slices.Backward(list) {
		if !r.Status.Terminal() {
			return r
		}
	}
	return list[len(list)-1]
}

// leading is the revision that an aggregate tells of: the highest that is active, the
// later one of two; else the newest.
func leading(list []*revision) *revision {
	var best *revision
	for _, r := range list {
		if !r.active() {
			continue
		}
		higher := best == nil || bundle.Rank(r.Stage) > bundle.Rank(best.Stage)
		if higher || r.Stage == best.Stage && r.enteredSeq > best.enteredSeq {
			best = r
		}
	}
	if best == nil {
		return newest(list)
	}
	return best
}
