package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/control/command"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// keyFile writes a pair of keys and returns where the private one is.
func keyFile(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name+".key")
	if err := dsse.WriteKey(path, planetest.Key(name)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestControlOptions(t *testing.T) {
	dir := t.TempDir()
	private := keyFile(t, dir, "host")
	public := dsse.PublicPath(private)
	open := filepath.Join(dir, "open.key")
	text, err := os.ReadFile(private)
	if err == nil {
		err = os.WriteFile(open, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	const url = "http://127.0.0.1:9"
	for _, c := range []struct {
		args, env []string
		want      string
	}{
		{[]string{"--control-url", url}, nil, "--control-key"},
		{nil, []string{"SERVICE_CONTROL_URL=" + url}, "SERVICE_CONTROL_KEY"},
		{[]string{"--control-url", url, "--deployment-policy", "off"}, nil, "--control-key"},
		{[]string{"--deployment-policy", "enforce"}, nil, "--deployment-policy enforce"},
		{nil, []string{"SERVICE_DEPLOYMENT_POLICY=enforce"}, "SERVICE_DEPLOYMENT_POLICY"},
		{[]string{"--deployment-policy", "Enforce"}, nil, "--deployment-policy"},
		{[]string{"--control-url", "http://u:canary@x", "--control-key", public}, nil, "--control-url"},
		{[]string{"--control-url", "127.0.0.1:8010", "--control-key", public}, nil, "--control-url"},
		{[]string{"--control-key", filepath.Join(dir, "none.pub")}, nil, "--control-key"},
		{nil, []string{"SERVICE_CONTROL_KEY=" + private}, "SERVICE_CONTROL_KEY"},
		{[]string{"--control-sign-key", private}, nil, "--control-sign-key"},
		{[]string{"--control-sign-key", open, "--control-key", public}, nil, "--control-sign-key"},
		{nil, []string{"SERVICE_CONTROL_SIGN_KEY=" + public}, "SERVICE_CONTROL_SIGN_KEY"},
		{[]string{"--strategy-family", "sma_cross"}, nil, "--strategy-family"},
		{nil, []string{"SERVICE_STRATEGY_FAMILY=a=b,a=c"}, "SERVICE_STRATEGY_FAMILY"},
	} {
		var out, errs bytes.Buffer
		code := runCommand(c.args, world{variables(c.env...), &out, &errs})
		if code != exitUsage || !strings.Contains(errs.String(), c.want) || out.Len() > 0 ||
			strings.Contains(errs.String(), "canary") {
			t.Errorf("%v %v: exit %d, %s", c.args, c.env, code, errs.String())
		}
	}
	read := func(args []string, env ...string) control {
		t.Helper()
		c, done, err := readConfig(args, world{variables(env...), &bytes.Buffer{}, &bytes.Buffer{}})
		if err != nil || done {
			t.Fatal(err, done)
		}
		return c.control
	}
	if c := read(nil, "SERVICE_CONTROL_URL=", "SERVICE_DEPLOYMENT_POLICY="); c.policy != deploy.Auto ||
		c.url != "" || c.key != nil || c.families.Of("a_b") != "a-b" {
		t.Errorf("defaults: %+v", c)
	}
	if c := read([]string{"--control-key", public}); c.url != defaultControlURL ||
		c.policy.Effective(c.key != nil) != deploy.Enforce {
		t.Errorf("a key alone: %+v", c)
	}
	c := read([]string{"--deployment-policy=warn", "--strategy-family", "a=x", "--strategy-family", "b=y"},
		"SERVICE_CONTROL_URL="+url+"/", "SERVICE_CONTROL_KEY="+public,
		"SERVICE_CONTROL_SIGN_KEY="+private, "SERVICE_DEPLOYMENT_POLICY=off", "SERVICE_STRATEGY_FAMILY=a=z")
	if c.policy != deploy.Warn || c.url != url || c.signKey == nil || c.families.Of("a") != "x" ||
		c.families.Of("b") != "y" {
		t.Errorf("%+v", c)
	}
	if c := read(nil, "SERVICE_STRATEGY_FAMILY=a=x, b=y"); c.families.Of("b") != "y" {
		t.Errorf("%+v", c)
	}
	var log bytes.Buffer
	c.log(hclog.New(&hclog.LoggerOptions{Output: &log}))
	for _, want := range []string{"deployment_policy=warn", "effective=warn", url, "a=x", "control_key_id="} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "PRIVATE") {
		t.Error("a private key is logged")
	}
}

// testPlane is a real control plane with people at it, and the policy of a host that trusts it.
type testPlane struct {
	t      *testing.T
	p      *planetest.Plane
	keys   string
	id     string // of the revision
	policy *deploy.Policy
}

func newTestPlane(t *testing.T) *testPlane {
	t.Helper()
	p, err := planetest.Open(planetest.Options{Dir: filepath.Join(t.TempDir(), "g"),
		Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	source := newPlane(t, p.URL)
	t.Cleanup(source.Close)
	d := &testPlane{t: t, p: p, keys: t.TempDir()}
	for _, name := range []string{"rita", "anna", "otto", "host"} {
		keyFile(t, d.keys, name)
	}
	if d.policy, err = deploy.New(deploy.Options{
		Mode: deploy.Enforce, Source: source, Key: p.Store.Keys().Public.Public, StateDir: t.TempDir(),
		Now:      p.Now,
		Reporter: &reporter{plane: dial(t, p.URL), key: planetest.Key("host"), now: p.Now},
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

// submit brings a revision to paper.
func (d *testPlane) submit() {
	d.t.Helper()
	now := d.p.Now()
	doc := planetest.Good(now, planetest.WithSoaks(now))
	a, err := d.p.SubmitReplayed(doc)
	if err != nil || a.Status != http.StatusCreated {
		d.t.Fatalf("%v %s", err, a.Body)
	}
	d.id = doc.Bundle.CandidateRevisionID
}

// as runs a command of the control plane as a person.
func (d *testPlane) as(who, verb string, args ...string) {
	d.t.Helper()
	args = append([]string{verb, d.id, "--control-url", d.p.URL, "--key", filepath.Join(d.keys, who+".key"),
		"--yes"}, args...)
	var out bytes.Buffer
	if code := command.Run(context.Background(), args, command.World{
		Env: variables(), In: strings.NewReader(""), Out: &out, Err: &out, Now: d.p.Now, Version: "1",
	}); code != 0 {
		d.t.Fatalf("%v: exit %d %s", args, code, out.String())
	}
}

// start asks for a start of what the bundle of planetest holds.
func (d *testPlane) start() (deploy.Admission, string) {
	d.t.Helper()
	a, err := d.policy.Admit(d.t.Context(), deploy.Request{
		Mode: "live", Strategy: "sma_cross", PluginSHA256: digest.SHA256Hex([]byte("plugin")),
		Params:  json.RawMessage(`{"fast":10}`),
		Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: market.MustTimeframe("1h"), Exchange: "binance",
	})
	var r *deploy.Refusal
	if err != nil && !errors.As(err, &r) {
		d.t.Fatal(err)
	}
	if r != nil {
		return a, string(r.Code)
	}
	return a, ""
}

func (d *testPlane) expect(step, want string) deploy.Admission {
	d.t.Helper()
	a, code := d.start()
	if code != want {
		d.t.Fatalf("%s: %q, want %q", step, code, want)
	}
	return a
}

// TestRealPlane takes one program through all that a real control plane decides about it.
func TestRealPlane(t *testing.T) {
	d := newTestPlane(t)
	d.expect("nothing submitted", "DEPLOYMENT_NOT_APPROVED")
	d.submit()
	d.expect("in paper", "DEPLOYMENT_MODE_NOT_ALLOWED")
	host := t.TempDir()
	killed := planetest.Killed(&planetest.Good(d.p.Now()).Bundle, "drill-1", d.p.Now().Add(-time.Minute))
	if err := planetest.Put(host,
		map[string][]byte{"runs/drill-1/metadata.json": []byte(killed)}); err != nil {
		t.Fatal(err)
	}
	d.as("otto", "incident", "--drill", "kill_switch", "--run", "drill-1", "--result", "pass",
		"--run-state-dir", host)
	d.as("rita", "approve", "--stage", "canary", "--role", "risk")
	d.as("anna", "approve", "--stage", "canary", "--role", "approver")
	a := d.expect("in canary", "")
	if a.CandidateRevisionID != d.id || a.Stage != "canary" || a.Limits.Capital.String() != "1000" ||
		a.Limits.OrderValue.String() != "250" || !a.Gated() {
		t.Errorf("%+v", a)
	}
	d.as("rita", "suspend", "--reason", "odd fills")
	d.expect("suspended", "DEPLOYMENT_REVOKED")
	d.as("rita", "approve", "--resume", "--role", "risk")
	d.as("anna", "approve", "--resume", "--role", "approver")
	a = d.expect("resumed", "")

	// The run that began now ends by its own risk rules: the plane is informed, nothing starts any more.
	told := make(chan deploy.Event, 8)
	watch := deploy.Watch{Policy: d.policy, Admission: a, On: func(e deploy.Event) {
		told <- e
	}, Interval: 10 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan struct{})
	go func() { defer close(ended); watch.Run(ctx) }()
	for range 2 { // twice is no harm
		if err := d.policy.RiskKill(ctx, &a, "svc_01jd2q7z9v8k3m6t4r1x5c0wbn", "drawdown 0.11"); err != nil {
			t.Fatal(err)
		}
	}
	<-ended
	if len(told) != 1 {
		t.Fatalf("%d events", len(told))
	}
	if e := <-told; e.Act != deploy.Stop || e.Code != deploy.DeploymentRevoked {
		t.Errorf("%+v", e)
	}
	d.expect("after the incident", "DEPLOYMENT_REVOKED")
	var state promotion.State
	if answer, err := d.p.Get("/promotion-state/candidate_revision/" + d.id); err != nil ||
		answer.Decode(&state) != nil || len(state.OpenIncidents) != 1 {
		t.Errorf("%v %+v", err, state)
	}
	d.p.Advance(48 * time.Hour)
	if a, code := d.start(); code != "DEPLOYMENT_REVOKED" {
		t.Errorf("later: %s %+v", code, a)
	}
}

// TestReporterIsRefused: what the plane refuses for good is not tried again, and for a day
// what people can mend is.
func TestReporterIsRefused(t *testing.T) {
	d := newTestPlane(t)
	d.submit()
	source := dial(t, d.p.URL)
	at := d.p.Now()
	report := func(key, id string) error {
		r := &reporter{plane: source, key: planetest.Key(key), now: d.p.Now}
		return r.Report(t.Context(),
			deploy.Incident{ID: "risk-kill.x", CandidateRevisionID: id, RunID: "x", Reason: "r", At: at})
	}
	untrusted := func(final bool) {
		t.Helper()
		if err := report("nobody", d.id); errors.Is(err, deploy.ErrRefused) != final ||
			!strings.Contains(err.Error(), "INVALID_SIGNATURE") {
			t.Errorf("a key that nobody trusts: %v", err)
		}
	}
	untrusted(false)
	d.p.Advance(23 * time.Hour)
	untrusted(false)
	d.p.Advance(2 * time.Hour)
	untrusted(true)
	size := d.p.Store.Size()
	// said at the time of the incident it would have expired
	if err := report("host", d.id); err != nil || d.p.Store.Size() == size {
		t.Errorf("a day late: %v", err)
	}
	if err := report("host", "cr-"+strings.Repeat("0", 64)); !errors.Is(err, deploy.ErrRefused) {
		t.Errorf("no such revision: %v", err)
	}
	away := &reporter{plane: dial(t, "http://127.0.0.1:1"), key: planetest.Key("host"), now: d.p.Now}
	if err := away.Report(t.Context(), deploy.Incident{CandidateRevisionID: d.id}); err == nil ||
		errors.Is(err, deploy.ErrRefused) {
		t.Errorf("nobody there: %v", err)
	}
}

func newPlane(t testing.TB, address string) *deploy.Plane {
	t.Helper()
	p, err := deploy.NewPlane(address, http.Client{Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func dial(t *testing.T, address string) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Options{URL: address, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
