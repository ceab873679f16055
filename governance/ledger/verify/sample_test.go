package verify

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
)

const sampleOrigin = "governance.lab.example"

// scalar is a P-256 key that everybody knows.
func scalar(t testing.TB, name string) *ecdsa.PrivateKey {
	t.Helper()
	d := sha256.Sum256([]byte("TEST ONLY " + name))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d[:])
	check(t, err)
	return key
}

// seed is an Ed25519 key that everybody knows.
func seed(name string) ed25519.PrivateKey {
	d := sha256.Sum256([]byte("TEST ONLY " + name))
	return ed25519.NewKeyFromSeed(d[:])
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func canonical(t testing.TB, v any) []byte {
	t.Helper()
	text, err := digest.JCS(v)
	check(t, err)
	return text
}

type object = map[string]any

// sample is a plane with one candidate in its log, and everything that is handed out.
type sample struct {
	t         testing.TB
	statement *ecdsa.PrivateKey
	key       *ledger.Key
	logKey    ed25519.PrivateKey
	log       *ledger.Log
	entries   []ledger.Entry
	notes     []string
	index     int64 // of the seal

	bundle, seal object
	artifacts    map[string]string
	files        map[string][]byte
}

var sampleStart = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newSample(t testing.TB) *sample {
	s := &sample{t: t, statement: scalar(t, "governance key"), logKey: seed("log key"),
		files: map[string][]byte{}}
	var err error
	s.key, err = ledger.NewKey(&s.statement.PublicKey)
	check(t, err)
	logKey, err := translog.NewLogKey(sampleOrigin, s.logKey.Public().(ed25519.PublicKey))
	check(t, err)
	s.log, err = ledger.NewLog(sampleOrigin, ledger.Ring{{Statement: s.key, Log: logKey}}, s.logKey,
		&ledger.Tree{}, "")
	check(t, err)
	s.artifacts = map[string]string{"runs/run-0001/report.json": `{"total_trades":412}`,
		"runs/run-0001/trades.csv": "id,pnl\n1,2.5\n"}
	s.bundle = sampleBundle(t, s.artifacts, 10)
	other := sampleBundle(t, s.artifacts, 12)
	s.append(s.sign(bundle.TypeLogStart, subject("log", digest.SHA256Hex([]byte(sampleOrigin))),
		object{"origin": sampleOrigin, "recorded_at": "2026-11-20T12:00:00Z",
			"public_keys": object{"statement": string(s.key.PEM()), "log": s.log.View().Key.VKey()}}))
	s.append(s.sign(bundle.TypePolicy, subject("policy", digest.SHA256Hex(nil)),
		object{"digest": bundle.DigestPrefix + digest.SHA256Hex(nil), "version": 1, "text": "{}"}))
	s.append(s.sealOf(other, nil),
		s.sign(bundle.TypeStageDecision,
			subject("candidate_bundle.json", digest.SHA256Hex(canonical(t, other))),
			object{"from": "research", "to": "paper"}))
	entry := s.sealOf(s.bundle, s.artifacts)
	s.append(entry)
	s.index = 4
	s.append(s.sign(bundle.TypeStageDecision,
		subject("candidate_bundle.json", digest.SHA256Hex(canonical(t, s.bundle))),
		object{"from": "research", "to": "paper"}))
	s.hand(entry)
	return s
}

func subject(name, sum string) []object {
	return []object{{"name": name, "digest": object{"sha256": sum}}}
}

// sampleBundle is a valid bundle of a strategy whose fast average is given.
func sampleBundle(t testing.TB, artifacts map[string]string, fast int) object {
	params := object{"fast": fast, "slow": 30, "allow_short": false}
	hash := func(s string) string { return digest.SHA256Hex([]byte(s)) }
	var list []object
	for _, name := range slices.Sorted(maps.Keys(artifacts)) {
		list = append(list,
			object{"name": name, "sha256": hash(artifacts[name]), "size": len(artifacts[name]),
				"run_id": "run-0001"})
	}
	b := object{
		"schema": bundle.SchemaBundle,
		"candidate": object{"candidate_id": "sma-cross.btc-usdt-1h", "family_id": "sma-cross",
			"slug": "sma-cross", "owner": "alice@example.com",
			"lineage": object{"parent_revision_id": nil, "change_class": "initial"}},
		"strategy": object{"name": "sma_cross", "version": "1.0.0", "params": params,
			"params_sha256": digest.SHA256Hex(canonical(t, params)),
			"plugin": object{"sha256": hash("plugin-binary"), "size": 13, "os": "linux",
				"arch": "amd64", "protocol_version": 1},
			"symbols": []string{"BTC/USDT"}, "timeframes": []string{"1h"}},
		"engine": object{"name": "assay", "version": "1.0.0"},
		"data": []object{{"dataset_id": "btc-usdt-1h", "sha256": hash("data"), "rows": 35064,
			"start": "2021-01-01T00:00:00Z", "end": "2025-01-01T00:00:00Z"}},
		"runs": []object{{"run_id": "run-0001", "role": "baseline", "request_hash": hash("request"),
			"report_sha256": hash(artifacts["runs/run-0001/report.json"]),
			"completed_at":  "2026-11-01T10:00:00Z",
			"summary":       object{"sharpe_ratio": 1.42, "total_trades": 412}}},
		"artifacts": list,
		"limits": object{"max_capital": "10000", "max_order_value": "500", "max_position_value": "2500",
			"max_orders_per_minute": 10, "max_instruments": 1,
			"max_venues": 1, "max_drawdown": "0.25"},
	}
	identify(t, b)
	return b
}

// identify gives a bundle the id of its core and a seal request for it.
func identify(t testing.TB, b object) {
	delete(b, "candidate_revision_id")
	delete(b, "seal_request")
	sum := digest.SHA256Hex(canonical(t, b))
	b["candidate_revision_id"] = bundle.RevisionPrefix + sum
	b["seal_request"] = object{"schema": bundle.SchemaSealRequest, "subject_type": bundle.SubjectRevision,
		"subject_id":    bundle.RevisionPrefix + sum,
		"bundle_digest": bundle.DigestPrefix + sum, "requested_stage": "paper",
		"requested_by": "alice@example.com",
		"requested_at": "2026-11-20T12:00:00Z", "expires_at": "2026-12-20T12:00:00Z",
		"log_origin": sampleOrigin}
}

// sealOf is the signed statement that accepts a bundle and the artifacts that were read.
func (s *sample) sealOf(b object, artifacts map[string]string) ledger.Entry {
	subjects := subject("candidate_bundle.json", digest.SHA256Hex(canonical(s.t, b)))
	held := []string{"hash_claimed"}
	for _, name := range slices.Sorted(maps.Keys(artifacts)) {
		subjects = append(subjects, subject(name, digest.SHA256Hex([]byte(artifacts[name])))...)
		held = []string{"hash_claimed", "hash_verified"}
	}
	s.seal = object{"candidate_revision_id": b["candidate_revision_id"], "family_id": "sma-cross",
		"requested_stage": "paper",
		"received_at":     "2026-11-20T12:30:00Z", "rungs": held,
		"policy_digest": bundle.DigestPrefix + digest.SHA256Hex(nil), "trust_digest": nil,
		"seal_request": b["seal_request"], "part": 1, "parts": 1}
	return s.sign(bundle.TypeSeal, subjects, s.seal)
}

func (s *sample) sign(predicateType string, subjects []object, predicate object) ledger.Entry {
	return s.signAs(s.statement, bundle.PayloadInToto,
		object{"_type": bundle.StatementType, "subject": subjects, "predicateType": predicateType,
			"predicate": predicate})
}

func (s *sample) signAs(key *ecdsa.PrivateKey, payloadType string, statement object) ledger.Entry {
	env, err := dsse.Sign(payloadType, canonical(s.t, statement), key)
	check(s.t, err)
	e, err := ledger.EntryOf(env)
	check(s.t, err)
	return e
}

func (s *sample) append(entries ...ledger.Entry) {
	batch, err := s.log.Prepare(entries...)
	check(s.t, err)
	check(s.t, s.log.Commit(batch))
	s.entries = append(s.entries, entries...)
	s.notes = append(s.notes, batch.View.Note)
}

// hand writes every file that a client gets, by name.
func (s *sample) hand(entry ledger.Entry) {
	view := s.log.View()
	seal, err := view.Seal(s.index, entry)
	check(s.t, err)
	b := canonical(s.t, s.bundle)
	sum := digest.SHA256Hex(b)
	root, err := ledger.TrustedRoot(sampleStart, view.Key)
	check(s.t, err)
	lab, err := dsse.Sign(bundle.PayloadInToto,
		canonical(s.t, object{"_type": bundle.StatementType, "subject": subject("candidate_bundle.json", sum),
			"predicateType": bundle.TypeBundle, "predicate": object{}}), scalar(s.t, "lab key"))
	check(s.t, err)
	s.files = map[string][]byte{
		"candidate_bundle.json":          b,
		"candidate_bundle.dsse.json":     canonical(s.t, lab),
		"seal.json":                      canonical(s.t, seal),
		"candidate_bundle.sigstore.json": canonical(s.t, seal.Sigstore),
		"candidate_bundle.tlog-proof":    []byte(seal.TlogProof),
		"ingest_receipt.json": canonical(s.t,
			object{"schema": "ingest-receipt/v1", "candidate_revision_id": s.bundle["candidate_revision_id"],
				"file_sha256": sum,
				"duplicate":   false, "assurance": "hash_verified",
				"rungs": []string{"hash_claimed", "hash_verified"}, "facts": []object{}, "facts_total": 0,
				"seal":                seal,
				"promotion_state":     object{"stage": "paper", "stage_status": "active", "href": "/"},
				"pending_experiments": 0, "warnings": []object{}}),
		"governance.pub":    s.key.PEM(),
		"trusted_root.json": root,
		"trust.json":        sampleTrust(s.t),
		"log.vkey":          []byte(view.Key.VKey() + "\n"),
		"log.json":          canonical(s.t, view.Info()),
		"checkpoint":        []byte(view.Note),
	}
}

func sampleTrust(t testing.TB) []byte {
	var keys []object
	for _, k := range []struct{ name, principal, role, status string }{
		{"lab key", "alice@example.com", "lab", "active"},
		{"risk key", "bob@example.com", "risk", "active"},
		{"old key", "carol@example.com", "risk", "revoked"},
	} {
		public := &scalar(t, k.name).PublicKey
		id, err := dsse.KeyID(public)
		check(t, err)
		text, err := dsse.PublicPEM(public)
		check(t, err)
		keys = append(keys,
			object{"key_id": id, "public_key": string(text), "principal": k.principal,
				"roles":      []string{k.role},
				"valid_from": "2026-01-01T00:00:00Z", "valid_until": "2027-01-01T00:00:00Z",
				"status": k.status})
	}
	return canonical(t,
		object{"schema": "trust/v1", "version": 1, "expires_at": "2027-01-01T00:00:00Z",
			"require_signature": false, "keys": keys})
}

// edit is a deep copy of JSON text with a change.
func edit(t testing.TB, text []byte, change func(object)) []byte {
	t.Helper()
	var v object
	check(t, json.Unmarshal(text, &v))
	change(v)
	return canonical(t, v)
}
