package command_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/command"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/witness"
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
	return d.startPinned(state, quorum, d.p.Store.Keys().Public.Public)
}

// startPinned is start of a host that has pinned a key.
func (d *desk) startPinned(state string, quorum translog.Quorum, key *ecdsa.PublicKey) (*deploy.Policy, error) {
	d.t.Helper()
	source, err := deploy.NewPlane(d.p.URL, http.Client{})
	if err != nil {
		d.t.Fatal(err)
	}
	defer source.Close()
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

// witnessing runs governance witness until stop.
func witnessing(t *testing.T, args ...string) (at witness.At, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		code := command.Run(ctx, append([]string{"witness", "--port", "0"}, args...), command.World{
			Env: func(string) (string, bool) { return "", false }, In: strings.NewReader(""), Out: write, Err: &errs, Now: time.Now, Version: "1",
		})
		_ = write.Close()
		ended <- code
	}()
	lines := bufio.NewScanner(read)
	for _, begin := range []string{"witness key ", "governance witness listening on "} {
		if !lines.Scan() {
			t.Fatalf("exit %d: %s", <-ended, errs.String())
		}
		text := strings.TrimPrefix(lines.Text(), begin)
		if begin == "witness key " {
			var err error
			if at.Key, err = translog.ParseWitnessKey(text); err != nil {
				t.Fatal(err)
			}
		} else {
			at.URL = text
		}
	}
	return at, func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("exit %d: %s", code, errs.String())
		}
	}
}

// TestForkIsNotCosigned: a witness that has seen the kill cosigns no log without it, so that a host that
// asks for its cosignature refuses the fork at first contact.
func TestForkIsNotCosigned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g")
	d := newDeskAt(t, dir)
	vkey := d.p.Store.LogKey().VKey()
	at, stop := witnessing(t, "--state-dir", filepath.Join(t.TempDir(), "w"), "--name", "witness.example.com", "--log", vkey)
	defer stop()
	d.close()
	witnessed := func(dir string) *desk {
		p, err := planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1), Witnesses: []witness.At{at}})
		if err != nil {
			t.Fatal(err)
		}
		return &desk{t, p, d.keys}
	}
	quorum := translog.Quorum{Keys: []translog.WitnessKey{at.Key}, Need: 1}

	d = witnessed(dir)
	id := d.toLive()
	host := t.TempDir()
	if p, err := d.start(host, quorum); err != nil {
		t.Fatal(err)
	} else if _, message := p.Health(""); !strings.Contains(message, "cosigned by 1 of 1 witnesses") {
		t.Errorf("health: %s", message)
	}
	d.close()
	fork := copyFolder(t, dir)
	d = witnessed(dir)
	d.as("otto", 0, "suspend", id, "--kill", "--reason", "fills look odd")
	if _, err := d.start(host, quorum); must2(codeOf(err)) != deploy.DeploymentRevoked {
		t.Fatalf("killed: %v", err)
	}
	d.close()

	// The fork does not know what the witness has cosigned since, or leaves it out.
	d = witnessed(fork)
	d.fill()
	for name, state := range map[string]string{"that has seen the kill": host, "that has seen nothing": t.TempDir()} {
		_, err := d.start(state, quorum)
		if code, reason := codeOf(err); code != deploy.RegistryRollback || reason != "not_witnessed" {
			t.Errorf("a host %s: %v", name, err)
		}
	}
	d.close()
	if err := os.Remove(filepath.Join(dir, witness.File)); err != nil {
		t.Errorf("the plane keeps no cosignatures: %v", err)
	}
}
