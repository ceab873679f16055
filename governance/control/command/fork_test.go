package command_test

import (
	"crypto/ecdsa"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// openDesk starts a plane on a folder, with people at it.
func openDesk(t *testing.T, dir string, keys string) *desk {
	t.Helper()
	p, err := planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, p, keys}
}

func (d *desk) close() {
	d.t.Helper()
	if err := d.p.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// copyFolder is a copy of the whole folder of a plane that is down.
func copyFolder(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"statement.key", "log.key"} {
		if err := os.Chmod(filepath.Join(to, "keys", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// toLive takes a revision to live by what people sign.
func (d *desk) toLive() string {
	d.t.Helper()
	id := d.submit()
	host := d.t.TempDir()
	record := planetest.Killed(&planetest.Good(d.p.Now()).Bundle, "drill-1", d.p.Now().Add(-time.Hour))
	if err := planetest.Put(host, map[string][]byte{"runs/drill-1/metadata.json": []byte(record)}); err != nil {
		d.t.Fatal(err)
	}
	d.as("otto", 0, "incident", id, "--drill", "kill_switch", "--run", "drill-1", "--result", "pass", "--run-state-dir", host)
	for _, stage := range []string{"canary", "live"} {
		d.as("rita", 0, "approve", id, "--stage", stage, "--role", "risk")
		d.as("anna", 0, "approve", id, "--stage", stage, "--role", "approver")
	}
	d.stands(id, "live/active")
	return id
}

// fill posts three bundles that have nothing to do with the one that trades.
func (d *desk) fill() {
	d.t.Helper()
	for _, name := range []string{"one", "two", "three"} {
		doc := planetest.Good(d.p.Now(), planetest.Title(name), func(b *bundle.Bundle) {
			b.Candidate.CandidateID, b.Candidate.FamilyID, b.Strategy.Name = "filler."+name, "filler", "filler"
		})
		if a, err := d.p.Submit(doc, planetest.Signed()); err != nil || a.Status != http.StatusCreated {
			d.t.Fatalf("%v %s", err, a.Body)
		}
	}
}

// start asks a host's policy for a start with real money, at the plane of the desk.
func (d *desk) start(state string, quorum translog.Quorum) (*deploy.Policy, error) {
	d.t.Helper()
	source, err := deploy.NewPlane(d.p.URL, http.Client{})
	if err != nil {
		d.t.Fatal(err)
	}
	defer source.Close()
	var key *ecdsa.PublicKey = d.p.Store.Keys().Public.Public
	p, err := deploy.New(deploy.Options{Mode: deploy.Enforce, Source: source, Key: key, StateDir: state, Now: d.p.Now,
		Witnesses: quorum})
	if err != nil {
		d.t.Fatal(err)
	}
	b := planetest.Good(d.p.Now()).Bundle
	_, err = p.Admit(d.t.Context(), deploy.Request{Mode: "live", Strategy: "sma_cross", Params: b.Strategy.Params,
		PluginSHA256: b.Strategy.Plugin.SHA256, Symbols: []market.Symbol{"BTC/USDT"},
		Timeframe: market.MustTimeframe("1h"), Exchange: "binance"})
	return p, err
}

func codeOf(err error) (deploy.Code, string) {
	var r *deploy.Refusal
	if !errors.As(err, &r) {
		return "", ""
	}
	reason, _ := r.Details["reason"].(string)
	return r.Code, reason
}

// TestForkIsRefused: a copy of the folder from before a kill, continued with three posts that nobody minds,
// has a higher registry version and holds together by itself. A host that has seen the other log refuses
// it, and so does verify with the checkpoint that the host has kept.
func TestForkIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g")
	d := newDeskAt(t, dir)
	id := d.toLive()
	host := t.TempDir()
	if p, err := d.start(host, translog.Quorum{}); err != nil {
		t.Fatal(err)
	} else if _, message := p.Health(""); !strings.Contains(message, "followed up to ") {
		t.Errorf("health: %s", message)
	}
	d.close()
	fork := copyFolder(t, dir)

	d = openDesk(t, dir, d.keys)
	d.as("otto", 0, "suspend", id, "--kill", "--reason", "fills look odd")
	if _, err := d.start(host, translog.Quorum{}); must2(codeOf(err)) != deploy.DeploymentRevoked {
		t.Fatalf("killed: %v", err)
	}
	version := d.p.Store.Size()
	d.close()

	d = openDesk(t, fork, d.keys)
	d.fill()
	if e := d.entry(); e.Status != "active" || e.Kill || d.p.Store.Size() <= version {
		t.Fatalf("the fork is not what it should be: %+v, %d entries", e, d.p.Store.Size())
	}
	_, err := d.start(host, translog.Quorum{})
	if code, reason := codeOf(err); code != deploy.RegistryRollback || reason != "forked" {
		t.Errorf("the host: %v", err)
	}
	if _, err := d.start(t.TempDir(), translog.Quorum{}); err != nil {
		t.Errorf("a host that has seen neither pins what it gets: %v", err)
	}
	d.close()

	kept := filepath.Join(host, "control", "log", "checkpoint.json")
	now := func() time.Time { return planetest.Start }
	if code, out, errs := run(t, now, "", "verify", "--log", "--state-dir", fork); code != 0 {
		t.Errorf("by itself the fork holds together: exit %d\n%s%s", code, out, errs)
	}
	code, out, _ := run(t, now, "", "verify", "--log", "--state-dir", fork, "--since", kept)
	if code != 1 || !strings.Contains(out, "FAIL the log continues "+kept) {
		t.Errorf("verify of the fork: exit %d\n%s", code, out)
	}
	if code, out, errs := run(t, now, "", "verify", "--log", "--state-dir", dir, "--since", kept); code != 0 {
		t.Errorf("verify of the log: exit %d\n%s%s", code, out, errs)
	}
}

func must2(code deploy.Code, _ string) deploy.Code { return code }
