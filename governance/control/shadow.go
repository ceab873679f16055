package control

import (
	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/edge"
)

// checkShadows holds what is new of shadows and of answers to challenges against what the log
// expects.
func (s *submission) checkShadows(w *promotion.World) error {
	for i := range s.list {
		if s.list[i].Known {
			continue
		}
		at := s.list[i].Pointer + "/payload"
		var answer *bundle.ChallengeAnswer
		switch said := s.list[i].Said.Predicate.(type) {
		case *bundle.Shadow:
			if refused := promotion.CheckShadow(w, s.id, said, at, s.p.opts.Now()); refused != nil {
				return refused
			}
			answer = said.Challenge
		case *bundle.Replay:
			answer = said.Challenge
		}
		if refused := promotion.CheckChallenge(w, s.id, answer, at); refused != nil {
			return refused
		}
	}
	return nil
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
