package control

import (
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/field"
)

// people are what the log knows of those who may say something of a revision.
type people struct {
	trust      *bundle.Trust
	excluded   []string // from its approvals
	interested []string // in what is said of its days and drills
	alone      bool     // there is one person
}

func (s *submission) peopleOf(w *promotion.World) people {
	return people{w.Trust(), w.Excluded(s.id), promotion.Interested(w, s.id), w.Policy().Solo}
}

func (p people) equal(o people) bool {
	return p.trust == o.trust && p.alone == o.alone && slices.Equal(p.excluded, o.excluded) &&
		slices.Equal(p.interested, o.interested)
}

// checkShadows holds what is new of shadows and of answers to challenges against what the log
// expects.
func (s *submission) checkShadows(w *promotion.World) error {
	for i := range s.list {
		if s.list[i].Known {
			continue
		}
		at := s.list[i].Pointer + "/payload"
		var answer *bundle.ChallengeAnswer
		switch p := s.list[i].Parsed.Predicate.(type) {
		case *bundle.Shadow:
			if refused := promotion.CheckShadow(w, s.id, p, at, s.p.opts.Now()); refused != nil {
				return refused
			}
			answer = p.Challenge
		case *bundle.Replay:
			answer = p.Challenge
			by := s.list[i].Principal
			if refused := promotion.CheckBound(w, s.id, by, answer, at); refused != nil {
				return refused
			}
		default:
			if refused := checkSecond(w, s.id, &s.list[i], at); refused != nil {
				return refused
			}
		}
		if refused := promotion.CheckChallenge(w, s.id, answer, at); refused != nil {
			return refused
		}
	}
	return nil
}

// checkSecond holds what a second key says of what others have said: about the candles of their days, or
// their answer to a challenge.
func checkSecond(w *promotion.World, id string, a *bundle.Attestation, at string) *bundle.Error {
	switch p := a.Parsed.Predicate.(type) {
	case *bundle.Dispute:
		return promotion.CheckDispute(w, id, a.KeyID, p, at)
	case *bundle.Commitment:
		return promotion.CheckCommitment(w, id, a.KeyID, p, at)
	case *bundle.Reveal:
		return promotion.CheckReveal(w, id, a.KeyID, p, at)
	}
	return nil
}

// getShadowChunks is what a second fetcher can check, from a day on.
func (p *Plane) getShadowChunks(r *request) (*edge.Answer, error) {
	since := r.Params[0]
	if _, ok := bundle.Day(since); !ok {
		return nil, field.Refuse(field.InvalidField, "", "since: write a day such as 2026-01-31")
	}
	list, err := look(p, func(w *promotion.World, _ ledger.View) *promotion.ShadowChunks {
		return promotion.ListShadowChunks(w, since)
	})
	return encoded(list, err)
}

// getShadowWork is what a worker of shadows has to play.
func (p *Plane) getShadowWork(*request) (*edge.Answer, error) {
	var work *promotion.ShadowWork
	err := p.store.Look(func(w *promotion.World, _ ledger.View) (err error) {
		work, err = promotion.ListShadowWork(w)
		return err
	})
	return encoded(work, err)
}
