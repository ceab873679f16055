package promotion_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/hosttest/ring"
)

var update = flag.Bool("update", false, "write the golden files again")

// places are how a revision comes to each state that it can be in.
var places = []struct {
	name string
	come func(p *plane) string
}{
	{"research/pending", func(p *plane) string {
		return p.submit(p.good(target(bundle.Research)), signature("packer"))
	}},
	{"paper/active", func(p *plane) string { return p.submit(p.proven(), signature("packer")) }},
	{"canary/active", func(p *plane) string { return p.canary() }},
	{"live/active", func(p *plane) string { return p.live() }},
	{"research/suspended", func(p *plane) string {
		id := p.submit(p.good(target(bundle.Research)))
		p.say(id, suspension("", false))
		return id
	}},
	{"paper/suspended", func(p *plane) string {
		id := p.submit(p.proven(), signature("packer"))
		p.say(id, suspension("", false))
		return id
	}},
	{"canary/suspended", func(p *plane) string {
		id := p.canary()
		p.say(id, suspension("", false))
		return id
	}},
	{"live/suspended", func(p *plane) string { id := p.live(); p.say(id, suspension("", true)); return id }},
	{"paper/superseded", func(p *plane) string {
		id := p.submit(p.proven())
		p.submit(p.good(params(`{"fast":11}`)), signature("packer"))
		return id
	}},
	{"canary/superseded", func(p *plane) string {
		id := p.canary()
		p.canary(params(`{"fast":11}`))
		return id
	}},
	{"live/superseded", func(p *plane) string { id := p.live(); p.live(params(`{"fast":11}`)); return id }},
	{"paper/rejected", func(p *plane) string {
		id := p.submit(p.proven())
		p.say(id, rejection())
		return id
	}},
	{"retired/retired", func(p *plane) string { id := p.live(); p.say(id, retirement()); return id }},
}

// events are what can happen to a revision.
var events = []struct {
	name   string
	happen func(p *plane, id string)
}{
	{"submitted again for live", func(p *plane, id string) { p.again(id, bundle.Live) }},
	{"suspension", func(p *plane, id string) { p.say(id, suspension("", false)) }},
	{"suspension to research", func(p *plane, id string) { p.say(id, suspension(bundle.Research, false)) }},
	{"suspension to paper", func(p *plane, id string) { p.say(id, suspension(bundle.Paper, true)) }},
	{"suspension to canary", func(p *plane, id string) { p.say(id, suspension(bundle.Canary, false)) }},
	{"critical incident", func(p *plane, id string) {
		p.say(id, incident("host-1", "i-1", "open", "critical"))
	}},
	{"warning opened", func(p *plane, id string) { p.say(id, incident("otto", "i-1", "open", "warning")) }},
	{"warning opened and closed", func(p *plane, id string) {
		p.say(id, incident("otto", "i-1", "open", "warning"))
		p.say(id, incident("otto", "i-1", "close", ""))
	}},
	{"resumed by one", func(p *plane, id string) {
		if p.state(id).SuspensionID != nil {
			p.say(id, p.resume("rita", "risk", id))
		}
	}},
	{"resumed by two", func(p *plane, id string) {
		if p.state(id).SuspensionID != nil {
			p.say(id, p.resume("rita", "risk", id), p.resume("anna", "approver", id))
		}
	}},
	{"approved by two for the next stage", func(p *plane, id string) {
		if next := p.state(id).NextStage; next != nil && *next != "paper" {
			s := bundle.Stage(*next)
			p.say(id, p.replay("replayer", id), drill("otto", "pass"))
			p.say(id, p.approve("rita", "risk", id, s), p.approve("ruth", "approver", id, s))
		}
	}},
	{"rival enters its stage", func(p *plane, id string) {
		switch p.state(id).Stage {
		case bundle.Canary:
			p.canary(params(`{"fast":12}`))
		case bundle.Live:
			p.live(params(`{"fast":12}`))
		default:
			p.submit(p.good(params(`{"fast":12}`)), signature("packer"))
		}
	}},
	{"child with more evidence", func(p *plane, id string) {
		p.submit(p.proven(version("1.0.1"), child(id, bundle.ChangeNonMaterial)), signature("packer"))
	}},
	{"drill failed", func(p *plane, id string) { p.say(id, drill("otto", "fail")) }},
	{"replay", func(p *plane, id string) { p.say(id, p.replay("replayer", id)) }},
	{"rejection", func(p *plane, id string) { p.say(id, rejection()) }},
	{"retirement", func(p *plane, id string) { p.say(id, retirement()) }},
	{"400 days", func(p *plane, id string) {
		p.idle(400 * day)
		p.settle()
	}},
}

// TestTransitions is every state x event. The table is a text for people to review.
func TestTransitions(t *testing.T) {
	ring.Undetected(t, "it computes in one goroutine")
	var text strings.Builder
	for _, place := range places {
		for _, event := range events {
			p := trusted(t)
			id := place.come(p)
			before := p.state(id)
			if got := string(before.Stage) + "/" + string(p.base(id)); got != place.name {
				t.Fatalf("%s: stands at %s", place.name, got)
			}
			p.idle(day / 24)
			event.happen(p, id)
			fmt.Fprintf(&text, "%-18s | %-34s | %s/%s\n", place.name, event.name, p.state(id).Stage,
				p.base(id))
		}
	}
	golden(t, "transitions.txt", text.String())
}

// base is the status without what is derived.
func (p *plane) base(id string) string {
	switch s := p.state(id); s.StageStatus {
	case "eligible", "expired":
		if s.Stage == bundle.Research {
			return "pending"
		}
		return "active"
	default:
		return string(s.StageStatus)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, x, y)
		}
	}
}
