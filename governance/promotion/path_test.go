package promotion_test

import (
	"testing"

	"github.com/assay-run/assay/governance/bundle"
)

func TestTheWayToLive(t *testing.T) {
	p := trusted(t)
	id := p.submit(p.proven(), signature("packer"))
	p.stands(id, "paper/active")
	p.say(id, p.replay("replayer", id))
	p.stands(id, "paper/active")
	p.say(id, drill("otto", "pass"))
	p.stands(id, "paper/eligible")
	p.say(id, p.approve("rita", "risk", id, bundle.Canary))
	p.stands(id, "paper/eligible")
	p.say(id, p.approve("anna", "approver", id, bundle.Canary))
	p.stands(id, "canary/eligible")
	p.say(id, p.approve("rita", "risk", id, bundle.Live), p.approve("ruth", "approver", id, bundle.Live))
	p.stands(id, "live/active")
}
