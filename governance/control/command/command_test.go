package command_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/command"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
)

// desk is a plane with people at it, each with a key file.
type desk struct {
	t    *testing.T
	p    *planetest.Plane
	keys string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := newDeskAt(t, filepath.Join(t.TempDir(), "g"))
	t.Cleanup(d.close)
	return d
}

// newDeskAt is a desk whose plane has this folder; its caller closes it.
func newDeskAt(t *testing.T, dir string) *desk {
	t.Helper()
	d := openDesk(t, dir, t.TempDir())
	for _, name := range []string{"rita", "anna", "ruth", "otto", "host", "packer", planetest.Owner} {
		if err := dsse.WriteKey(d.key(name), planetest.Key(name)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *desk) key(name string) string { return filepath.Join(d.keys, name+".key") }

// run runs a command line with an answer to what it asks.
func run(t *testing.T, now func() time.Time, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = command.Run(context.Background(), args, command.World{
		Env: func(string) (string, bool) {
			return "", false
		}, In: strings.NewReader(in), Out: &o, Err: &e, Now: now, Version: "1",
	})
	return code, o.String(), e.String()
}

// as runs a command as somebody, which must end with this code.
func (d *desk) as(who string, want int, args ...string) string {
	d.t.Helper()
	args = append(args, "--control-url", d.p.URL, "--key", d.key(who), "--yes")
	code, out, errs := run(d.t, d.p.Now, "", args...)
	if code != want {
		d.t.Fatalf("%v as %s: exit %d, want %d\n%s%s", args, who, code, want, out, errs)
	}
	return out + errs
}

func (d *desk) stands(id, want string) {
	d.t.Helper()
	var s promotion.State
	a, err := d.p.Get("/promotion-state/candidate_revision/" + id)
	if err == nil {
		err = a.Decode(&s)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	if got := string(s.Stage) + "/" + string(s.StageStatus); got != want {
		d.t.Fatalf("stands at %s, want %s", got, want)
	}
}

// entry is the registry's entry for what the revision runs.
func (d *desk) entry() promotion.RegistryEntry {
	d.t.Helper()
	var r promotion.Registry
	a, err := d.p.Get("/deployable-registry/sma-cross")
	if err == nil {
		err = a.Decode(&r)
	}
	if err != nil || len(r.Entries) != 1 {
		d.t.Fatalf("%v %s", err, a.Body)
	}
	return r.Entries[0]
}

func (d *desk) submit(said ...planetest.Statement) string {
	d.t.Helper()
	now := d.p.Now()
	doc := planetest.Good(now, planetest.WithSoaks(now))
	if a, err := d.p.SubmitReplayed(doc, said...); err != nil || a.Status != http.StatusCreated {
		d.t.Fatalf("%v %s", err, a.Body)
	}
	return doc.Bundle.CandidateRevisionID
}

// TestToLiveAndBack takes a revision through all stages by what people sign, and ends it.
func TestToLiveAndBack(t *testing.T) {
	d := newDesk(t)
	id := d.submit()
	d.stands(id, "paper/active")
	host := t.TempDir()
	record := planetest.Killed(&planetest.Good(d.p.Now()).Bundle, "drill-1", d.p.Now().Add(-time.Hour))
	if err := planetest.Put(host,
		map[string][]byte{"runs/drill-1/metadata.json": []byte(record)}); err != nil {
		t.Fatal(err)
	}
	d.as("otto", 0, "incident", id, "--drill", "kill_switch", "--run", "drill-1", "--result", "pass",
		"--run-state-dir", host)
	d.stands(id, "paper/eligible")

	out := d.as("rita", 0, "approve", id, "--stage", "canary", "--role", "risk")
	for _, want := range []string{"plan for canary: pass", "assurance.signed", "approvals missing: 2",
		"plan_digest sha256:"} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan shows no %q:\n%s", want, out)
		}
	}
	d.as("rita", 0, "approve", id, "--stage", "canary", "--role", "risk") // one person is one person
	d.stands(id, "paper/eligible")
	d.as("anna", 0, "approve", id, "--stage", "canary", "--role", "approver")
	d.stands(id, "canary/eligible")
	if e := d.entry(); e.Status != "active" || e.Stage != bundle.Canary || e.Limits.MaxCapital != "1000" {
		t.Errorf("%+v", e)
	}
	d.as("anna", 0, "approve", id, "--stage", "live", "--role", "approver")
	d.as("ruth", 0, "approve", id, "--stage", "live", "--role", "risk")
	d.stands(id, "live/active")

	// Anyone stops, two let it go on.
	d.as("packer", 0, "suspend", id, "--kill", "--reason", "odd fills")
	d.stands(id, "live/suspended")
	if e := d.entry(); e.Status != "suspended" || !e.Kill {
		t.Errorf("%+v", e)
	}
	// the role is that of her key
	if out := d.as("rita", 0, "approve", id, "--resume"); !strings.Contains(out,
		"resumption approvals missing: 2") {
		t.Errorf("%s", out)
	}
	d.stands(id, "live/suspended")
	d.as("otto", 1, "approve", id, "--resume") // an operator has no role for it
	out = d.as("anna", 0, "approve", id, "--resume", "--role", "approver")
	if !strings.Contains(out, "resumption approved by rita (risk)") ||
		!strings.Contains(out, "resumption approvals missing: 1") {
		t.Errorf("%s", out)
	}
	d.stands(id, "live/active")

	d.as("host", 0, "incident", id, "--open", "inc-1", "--severity", "critical")
	d.stands(id, "live/suspended")
	if out := d.as("host", 1, "incident", id, "--close", "inc-1"); !strings.Contains(out, "has only the role "+
		"host, which does not sign this (role, /attestations/0/payload); sign with another key") {
		t.Error(out)
	}
	d.as("otto", 0, "incident", id, "--close", "inc-1")
	d.as("rita", 0, "approve", id, "--resume", "--role", "risk")
	d.as("anna", 0, "approve", id, "--resume", "--role", "approver")
	d.stands(id, "live/active")

	d.as("host", 0, "suspend", id, "--to", "paper", "--reason", "too large")
	if e := d.entry(); e.Status != "revoked" || e.Stage != bundle.Paper {
		t.Errorf("%+v", e)
	}
	d.as("otto", 0, "retire", id, "--reason", "done")
	d.stands(id, "retired/retired")
	d.as("rita", 0, "reject", id, "--reason", "too late") // kept, and changes nothing
	d.stands(id, "retired/retired")
}

func TestWaiver(t *testing.T) {
	d := newDesk(t)
	id := d.submit()
	d.as("rita", 2, "approve", id, "--stage", "canary", "--waive", "drill.kill_switch")
	out := d.as("rita", 0, "approve", id, "--stage", "canary", "--waive", "drill.kill_switch", "--reason",
		"tomorrow")
	if !strings.Contains(out, "paper/eligible") {
		t.Errorf("%s", out)
	}
	d.as("rita", 1, "approve", id, "--stage", "canary", "--waive", "drill.kill_switch", "--reason", "x",
		"--valid", "8d")
	d.p.Advance(7*24*time.Hour + time.Minute)
	d.stands(id, "paper/active")
}

func TestRefusals(t *testing.T) {
	d := newDesk(t)
	id := d.submit()
	size := d.p.Store.Size()
	d.as(planetest.Owner, 1, "approve", id, "--stage", "canary", "--role", "risk")
	d.as("packer", 1, "approve", id, "--stage", "canary", "--role", "approver") // the key has no such role
	d.as("otto", 1, "approve", id, "--stage", "canary", "--role", "risk")
	d.as("packer", 1, "reject", id, "--reason", "no")
	d.as("rita", 1, "approve", id, "--resume", "--role", "risk") // nothing to resume from
	d.as("rita", 1, "approve", "cr-"+strings.Repeat("0", 64), "--stage", "canary", "--role", "risk")
	for _, args := range [][]string{
		{"approve", "x", "--stage", "canary", "--role", "risk"}, {"approve", id},
		{"approve", id, "--stage", "canary"}, {"reject", id},
		{"incident", id}, {"incident", id, "--open", "a", "--close", "b"}, {"incident", id, "--open", "a"},
		{"incident", id, "--drill", "other"},
		{"suspend", id, "--reason", "x", "--valid", "soon"},
		{"suspend", id, "--to", "nowhere", "--reason", "x"},
		{"approve", id, "--stage", "canary", "--role", "risk", "--nothing"}, {"nothing"},
	} {
		d.as("rita", 2, args...)
	}
	// Whoever does not say yes signs nothing.
	code, out, _ := run(t, d.p.Now, "n\n", "approve", id, "--stage", "canary", "--role", "risk",
		"--control-url", d.p.URL, "--key", d.key("rita"))
	if code != 1 || !strings.Contains(out, "[y/N]") {
		t.Errorf("exit %d: %s", code, out)
	}
	if d.p.Store.Size() != size {
		t.Error("the log grew")
	}
	code, out, _ = run(t, d.p.Now, "y\n", "approve", id, "--stage", "canary", "--role", "risk",
		"--control-url", d.p.URL, "--key", d.key("rita"))
	if code != 0 || d.p.Store.Size() == size {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, _, errs := run(t, d.p.Now, "", "reject", id, "--reason", "x", "--key", d.key("rita"), "--control-url", "http://127.0.0.1:1"); code != 3 {
		t.Errorf("nobody there: exit %d %s", code, errs)
	}
	if err := os.Chmod(d.key("rita"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.as("rita", 2, "reject", id, "--reason", "x") // a key that others can read
}
