package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// between is a source whose answers somebody changes on the way.
type between struct {
	p    *planetest.Plane
	edit func(answer map[string]any)
}

func (b *between) Registry(_ context.Context, family string, from int64) ([]byte, error) {
	a, err := b.p.Get(fmt.Sprintf("/deployable-registry/%s?from=%d", family, from))
	if err != nil || b.edit == nil {
		return a.Body, err
	}
	var answer map[string]any
	if err := a.Decode(&answer); err != nil {
		return nil, err
	}
	b.edit(answer)
	return json.Marshal(answer)
}

// asks is what a host with this state answers to a start with real money: "" for one that was let in as far
// as the registry goes.
func asks(t *testing.T, source *between, state string) (code deploy.Code, reason string) {
	t.Helper()
	p, err := deploy.New(deploy.Options{Mode: deploy.Enforce, Source: source, Key: source.p.Store.Keys().Public.Public, StateDir: state, Now: source.p.Now})
	if err != nil {
		t.Fatal(err)
	}
	b := planetest.Good(source.p.Now()).Bundle
	_, err = p.Admit(t.Context(), deploy.Request{Mode: "live", Strategy: "sma_cross", Params: b.Strategy.Params,
		PluginSHA256: b.Strategy.Plugin.SHA256, Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: market.MustTimeframe("1h"), Exchange: "binance"})
	var refused *deploy.Refusal
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if refused == nil {
		return "", ""
	}
	reason, _ = refused.Details["reason"].(string)
	return refused.Code, reason
}

// TestRegistryThatIsNotProven: a registry that is signed, yet not shown to be in the log, is refused, each
// time for what is wrong. In paper the good one is refused for its stage alone.
func TestRegistryThatIsNotProven(t *testing.T) {
	p := plane(t, planetest.Options{})
	submit(t, p, http.StatusCreated, planetest.Good(p.Now()))
	state := t.TempDir()
	good := func() (deploy.Code, string) { return asks(t, &between{p: p}, state) }
	if code, _ := good(); code != deploy.DeploymentModeNotAllowed {
		t.Fatalf("the good one: %s", code)
	}
	var earlier map[string]any
	get(t, p, "/deployable-registry/sma-cross", &earlier)
	p.Advance(time.Hour)
	proof := func(a map[string]any) map[string]any { return a["log_proof"].(map[string]any) }
	for name, c := range map[string]struct {
		edit   func(a map[string]any)
		reason string
	}{
		"no proof":          {func(a map[string]any) { delete(a, "log_proof") }, "no_proof"},
		"not a proof":       {func(a map[string]any) { a["log_proof"] = "x" }, "no_proof"},
		"another's entry":   {func(a map[string]any) { proof(a)["entry"] = proof(earlier)["entry"] }, "not_in_log"},
		"another's proof":   {func(a map[string]any) { proof(a)["tlog_proof"] = proof(earlier)["tlog_proof"] }, "not_in_log"},
		"no tlog-proof":     {func(a map[string]any) { proof(a)["tlog_proof"] = "" }, "not_in_log"},
		"no signature":      {func(a map[string]any) { proof(a)["entry"].(map[string]any)["signatures"] = []any{} }, "not_in_log"},
		"consistency":       {func(a map[string]any) { proof(a)["consistency"] = []any{} }, "forked"},
		"no hashes":         {func(a map[string]any) { proof(a)["consistency"] = []any{"x"} }, "forked"},
		"from another size": {func(a map[string]any) { proof(a)["from"] = 1 }, "forked"},
	} {
		if code, reason := asks(t, &between{p, c.edit}, state); code != deploy.RegistryRollback || reason != c.reason {
			t.Errorf("%s: %s %s, want %s", name, code, reason, c.reason)
		}
	}
	// A registry of an earlier version, signed as it is, names no log.
	older := func(a map[string]any) {
		delete(a, "log")
		delete(a, "log_proof")
		var reg promotion.Registry
		get(t, p, "/deployable-registry/sma-cross", &reg)
		reg.Log = nil
		payload := must[[]byte](t)(reg.Payload())
		a["attestation"] = must[dsse.Envelope](t)(dsse.Sign(bundle.PayloadRegistry, payload, p.Store.Keys().Statement))
	}
	if code, reason := asks(t, &between{p, older}, state); code != deploy.RegistryRollback || reason != "no_proof" {
		t.Errorf("of an earlier version: %s %s", code, reason)
	}
	if code, _ := asks(t, &between{p, older}, t.TempDir()); code != deploy.DeploymentModeNotAllowed {
		t.Errorf("of an earlier version, to a host that has seen no log: %s", code)
	}
	if code, _ := good(); code != deploy.DeploymentModeNotAllowed {
		t.Errorf("the good one, afterwards: %s", code)
	}
	// What is kept is damaged: nothing is let in before somebody looks.
	kept := filepath.Join(state, "control", "log", "checkpoint.json")
	text := must[[]byte](t)(os.ReadFile(kept))
	for _, bad := range []string{"", "{}", string(text[:40]), strings.Replace(string(text), `"size":`, `"size":1`, 1)} {
		if err := os.WriteFile(kept, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _ := good(); code != deploy.RegistryRollback {
			t.Errorf("damaged to %.20q: %s", bad, code)
		}
	}
}

// TestRegistryIsAnEntry: polling a registry does not make the log grow, issuing one does by one entry, which
// names the payload; the proof leads from any older size.
func TestRegistryIsAnEntry(t *testing.T) {
	p := plane(t, planetest.Options{})
	submit(t, p, http.StatusCreated, planetest.Good(p.Now()))
	before := p.Store.Size()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if a, err := p.Get("/deployable-registry/sma-cross"); err != nil || a.Status != http.StatusOK {
					t.Errorf("%v %s", err, a.Body)
				}
			}
		})
	}
	all.Wait()
	if p.Store.Size() != before+1 {
		t.Fatalf("the log has grown by %d entries", p.Store.Size()-before)
	}
	submit(t, p, http.StatusCreated, planetest.Good(p.Now(), planetest.Params(`{"fast":11}`)))
	submit(t, p, http.StatusCreated, planetest.Good(p.Now(), planetest.Params(`{"fast":12}`)))
	view := map[int64]translog.Checkpoint{}
	for from := range p.Store.Size() + 1 {
		a := get(t, p, fmt.Sprintf("/log/consistency?from=%d", from), nil)
		e := must[*translog.Extension](t)(translog.ParseExtension(string(a.Body)))
		head := must[*translog.Checkpoint](t)(translog.OpenCheckpoint(e.Note, p.Store.LogKey()))
		view[head.Size] = *head
		if e.Old != from || head.Size != p.Store.Size() {
			t.Errorf("from %d: %+v", from, e)
		}
	}
	for _, bad := range []string{"-1", "x", "01", "999"} {
		if a := must[planetest.Answer](t)(p.Get("/log/consistency?from=" + bad)); a.Status != http.StatusBadRequest || a.Code() != "INVALID_FIELD" {
			t.Errorf("from=%s: %d %s", bad, a.Status, a.Body)
		}
	}
}
