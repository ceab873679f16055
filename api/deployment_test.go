package api_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	liveBody = `{"strategy_name":"sma_cross","symbols":["BTC/USDT"],"timeframe":"1h","mode":"live","exchange":"venue","exchange_config":{"apiKey":"k"}}`
	approved = `{"fast":10,"slow":30}`
)

// desk launches live runs as the engine does: what the request names comes first, then the
// policy, then the venue, whose visits are counted.
type desk struct {
	policy *deploy.Policy
	visits atomic.Int64
}

type script = apitest.Run // under another name than its method has

// trade is a run that reports whether it is gated.
type trade struct {
	*script
	admission deploy.Admission
}

// Ungated implements runner.Gated.
func (t *trade) Ungated() string { return t.admission.Ungated }

// Launch implements v1.Launcher.
func (d *desk) Launch(ctx context.Context, id string, req runner.StartRequest) (runner.Execution, error) {
	if req.Exchange == "nowhere" {
		return nil, &run.RequestError{Code: "EXCHANGE_NOT_FOUND", Message: "There is no such exchange.",
			Details: map[string]any{"available": []string{}}}
	}
	a, err := d.policy.Admit(ctx, deploy.Request{
		Mode: req.Mode, Strategy: req.StrategyName, PluginSHA256: digest.SHA256Hex([]byte("plugin-binary")),
		Params:  json.RawMessage(approved),
		Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: market.MustTimeframe(req.Timeframe),
		Exchange: req.Exchange,
	})
	if err != nil {
		return nil, err
	}
	d.visits.Add(1)
	return &trade{apitest.NewRun(id, req), a}, nil
}

func governanceKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	scalar := sha256.Sum256([]byte("TEST ONLY governance key"))
	k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signedRegistry returns a control plane's registry, valid for an hour.
func signedRegistry(t *testing.T, version int, family, status string, life time.Duration) string {
	t.Helper()
	now := time.Now().UTC()
	payload := fmt.Sprintf(
		`{"schema":"deployable-registry/v1","family_id":%q,"registry_version":%d,"issued_at":%q,"expires_at":%q,"entries":[`+
			`{"status":%q,"plugin_sha256":%q,"params_sha256":%q,"modes":["paper","live"],"deployable_id":"dep-1","candidate_revision_id":"cr-1"}]}`,
		family, version, now.Format(time.RFC3339), now.Add(life).Format(time.RFC3339), status,
		digest.SHA256Hex([]byte("plugin-binary")), digest.SHA256Hex([]byte(approved)))
	sum := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(deploy.PayloadType), deploy.PayloadType,
		len(payload), payload))
	sig, err := governanceKey(t).Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf(
		`{"schema":"deployable-registry/v1","attestation":{"payload":%q,"payloadType":%q,"signatures":[{"sig":%q}]}}`, b64([]byte(payload)), deploy.PayloadType, b64(sig))
}

// TestLiveStartsAreGated: a refused start answers 409 with its code, leaves the runner idle and
// has not visited the venue.
func TestLiveStartsAreGated(t *testing.T) {
	var says atomic.Value
	says.Store("")
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, says.Load())
	}))
	defer control.Close()
	source := newPlane(t, control.URL)
	defer source.Close()
	policy, err := deploy.New(deploy.Options{Mode: deploy.Auto, Source: source,
		Key: &governanceKey(t).PublicKey, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{policy: policy}
	s := apitest.Start(t, apitest.Options{Trading: d, Governance: policy.Health})
	good := signedRegistry(t, 7, "sma-cross", "active", time.Hour)
	for _, c := range []struct{ code, body string }{
		{"REGISTRY_INVALID", "<html>"}, {"REGISTRY_UNSIGNED", `{"schema":"deployable-registry/v1"}`},
		{"REGISTRY_SIGNATURE_INVALID", strings.Replace(good, `"sig":"M`, `"sig":"N`, 1)},
		{"REGISTRY_FAMILY_MISMATCH", signedRegistry(t, 7, "other", "active", time.Hour)},
		{"REGISTRY_EXPIRED", signedRegistry(t, 7, "sma-cross", "active", -time.Second)},
		{"DEPLOYMENT_REVOKED", signedRegistry(t, 8, "sma-cross", "suspended", time.Hour)},
		{"REGISTRY_ROLLBACK", good},
	} {
		says.Store(c.body)
		a := s.Do(t, "POST", livePath, liveBody)
		if a.StatusCode != 409 || a.Code() != c.code || s.Runner.Status().Status != "idle" {
			t.Errorf("%s: %d %s, %s", c.code, a.StatusCode, a.Body, s.Runner.Status().Status)
		}
	}
	// The API's own checks come first, broken bodies before all.
	play(t, s, []exchange{
		{"own checks first", "POST", livePath, strings.Replace(liveBody, `"venue"`, `"nowhere"`, 1), nil, 400,
			"EXCHANGE_NOT_FOUND"},
		{"broken body", "POST", livePath, `{}`, nil, 400, "VALIDATION_FAILED"},
	})
	if n := d.visits.Load(); n != 0 {
		t.Errorf("the venue was visited %d times", n)
	}
	health := s.Do(t, "GET", "/api/v1/health", "").JSON(t)
	if got := health["checks"].(map[string]any)["governance"].(map[string]any); got["status"] != "warn" ||
		health["status"] != "degraded" {
		t.Errorf("health after an old registry: %v", got)
	}
	says.Store("<html>") // paper is not about real money: no plane is asked
	if a := s.Do(t, "POST", livePath,
		strings.Replace(liveBody, `"mode":"live",`, "", 1)); a.StatusCode != 200 {
		t.Errorf("paper: %s", a.Body)
	}
	s.Do(t, "POST", stopPath, "")
	s.Do(t, "DELETE", resetPath, "")
	says.Store(signedRegistry(t, 9, "sma-cross", "active", time.Hour))
	if a := s.Do(t, "POST", livePath, liveBody); a.StatusCode != 200 ||
		strings.Contains(string(a.Body), "ngated") || d.visits.Load() != 2 {
		t.Errorf("approved: %s", a.Body)
	}
	if got := s.Do(t, "GET", status, "").JSON(t); got["ungated"] != false {
		t.Errorf("%v", got)
	}
}

// TestUngatedRunsSaySo: without a control plane real money is traded, and it cannot be overlooked.
func TestUngatedRunsSaySo(t *testing.T) {
	policy, err := deploy.New(deploy.Options{Mode: deploy.Auto, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := apitest.Start(t, apitest.Options{Trading: &desk{policy: policy}, Governance: policy.Health})
	governance := func() string {
		got := s.Do(t, "GET", "/api/v1/health",
			"").JSON(t)["checks"].(map[string]any)["governance"].(map[string]any)
		return fmt.Sprint(got["status"], " ", got["message"])
	}
	if got := governance(); got != "skip not configured" {
		t.Error(got)
	}
	a := s.Do(t, "POST", livePath, liveBody)
	if message := fmt.Sprint(a.JSON(t)["message"]); a.StatusCode != 200 ||
		!strings.Contains(message, "Live run of sma_cross on BTC/USDT 1h started. Ungated: ") {
		t.Errorf("%d %s", a.StatusCode, message)
	}
	for _, state := range []string{"running", "completed"} {
		got := s.Do(t, "GET", status, "").JSON(t)
		if got["status"] != state || got["ungated"] != true ||
			!strings.Contains(fmt.Sprint(got["message"]), "Ungated: ") {
			t.Errorf("%s: %v", state, got)
		}
		if got := governance(); !strings.HasPrefix(got, "warn Ungated: ") {
			t.Errorf("%s: %s", state, got)
		}
		s.Do(t, "POST", stopPath, "")
	}
	s.Do(t, "DELETE", resetPath, "")
	if got := governance(); got != "skip not configured" {
		t.Error(got)
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
