package deploy

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the fixed clock of the shared cases.
var now = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// key is worth nothing but in tests: it is made from its name.
func key(t testing.TB, name string) *ecdsa.PrivateKey {
	t.Helper()
	scalar := sha256.Sum256([]byte("TEST ONLY " + name + " key"))
	k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		t.Fatal(err)
	}
	return k
}

type tree = map[string]any

const params = `{"allow_short":false,"fast":10,"slow":30}`

// entry is one that lets request run; change may alter or, with nil, drop members.
func entryOf(change tree) tree {
	return merged(tree{
		"deployable_id": "dep-1", "candidate_revision_id": "cr-1", "status": "active", "reason": "",
		"stage": "canary", "modes": []any{"paper", "live"},
		"plugin_sha256": digest.SHA256Hex([]byte("plugin-binary")),
		"params_sha256": digest.SHA256Hex([]byte(params)),
		"symbols":       []any{"BTC/USDT"}, "timeframes": []any{"1h"}, "exchanges": []any{"binance"},
		"expires_at": "2026-12-31T00:00:00Z", "kill": false,
		"limits": tree{"max_capital": "1000", "max_order_value": "50", "max_instruments": 1.0,
			"max_venues": 1.0, "quote_currency": "USDT"},
	}, change)
}

func registryOf(change tree, entries ...tree) tree {
	list := []any{}
	for _, e := range entries {
		list = append(list, e)
	}
	return merged(tree{
		"schema": Schema, "family_id": "sma-cross", "registry_version": 7.0,
		"issued_at": "2026-11-20T12:00:00Z", "expires_at": "2026-11-21T12:00:00Z",
		"entries": list,
	}, change)
}

func merged(base, change tree) tree {
	maps.Copy(base, change)
	for name, v := range base {
		if v == nil {
			delete(base, name)
		}
	}
	return base
}

// sign makes the answer of a plane, with only schema and attestation outside.
func sign(t testing.TB, payload any, by *ecdsa.PrivateKey, kind string) []byte {
	t.Helper()
	text, raw := payload.([]byte)
	if !raw {
		text = digest.Tree(payload)
	}
	sum := sha256.Sum256(dsse.PAE(kind, text))
	sig, err := by.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	body, err := json.Marshal(tree{"schema": Schema, "attestation": tree{
		"payload": b64(text), "payloadType": kind, "signatures": []any{tree{"sig": b64(sig)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// source is a fake plane: what it answers now.
type source struct {
	body  []byte
	err   error
	asked int
}

func (s *source) Registry(_ context.Context, family string, from int64) ([]byte, error) {
	s.asked++
	return s.body, s.err
}

var errAway = errors.New("connection refused")

func (s *source) answers(t testing.TB, r tree) {
	s.body, s.err = sign(t, r, key(t, "governance"), PayloadType), nil
}

// policyOf returns one that enforces, unless change says otherwise.
func policyOf(t testing.TB, s *source, change ...func(*Options)) *Policy {
	t.Helper()
	o := Options{Mode: Auto, Source: s, Key: &key(t, "governance").PublicKey, StateDir: t.TempDir(),
		Now: at(now)}
	for _, c := range change {
		c(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(change ...func(*Request)) Request {
	r := Request{
		Mode: "live", Strategy: "sma_cross", PluginSHA256: digest.SHA256Hex([]byte("plugin-binary")),
		Params:  json.RawMessage(`{ "slow":30, "fast":1e1, "allow_short":false}`),
		Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: market.MustTimeframe("1h"), Exchange: "binance",
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func codeOf(err error) Code {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}
