package verify

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
)

var update = flag.Bool("update", false, "write the vectors")

const vectorDir = "../testdata/vectors"

// vector is one case of index.json: the files to verify, each beside what it is called,
// the trusted files, and the steps that must fail (none: it is valid).
type vector struct {
	Name     string            `json:"name"`
	About    string            `json:"about"`
	Files    map[string]string `json:"files"`
	Key      string            `json:"key"`
	Root     string            `json:"trusted_root"`
	Trust    string            `json:"trust"`
	Artifact string            `json:"artifact_root"`
	Fails    []string          `json:"fails"`
}

// handed is the files that are verified by default.
var handed = []string{"candidate_bundle.json", "candidate_bundle.dsse.json", "ingest_receipt.json",
	"candidate_bundle.sigstore.json", "candidate_bundle.tlog-proof"}

// maker collects vectors with the files that they need.
type maker struct {
	*sample
	vectors []vector
	out     map[string][]byte
}

// add makes a vector of the valid files with some replaced; no content leaves one out.
func (m *maker) add(name, about string, replace map[string][]byte, fails ...string) {
	v := vector{Name: name, About: about, Files: map[string]string{}, Artifact: "valid"}
	place := func(file string) string {
		text, replaced := replace[file]
		if !replaced {
			return "valid/" + file
		}
		path := "forged/" + name + "." + strings.TrimPrefix(file, "candidate_bundle.")
		m.out[path] = text
		return path
	}
	for _, file := range handed {
		if text, replaced := replace[file]; !replaced || text != nil {
			v.Files[file] = place(file)
		}
	}
	for file := range replace {
		if strings.HasPrefix(file, "runs/") || file == "seal.json" {
			v.Files[file] = place(file)
		}
	}
	v.Key, v.Root, v.Trust = place("governance.pub"), place("trusted_root.json"), place("trust.json")
	v.Fails = slices.Sorted(slices.Values(fails))
	m.vectors = append(m.vectors, v)
}

// seal makes a vector of a receipt whose seal is changed, without its other forms.
func (m *maker) seal(name, about string, change func(seal, sigstore, entry object), fails ...string) {
	receipt := edit(m.t, m.files["ingest_receipt.json"], func(r object) {
		seal := r["seal"].(object)
		sigstore := seal["sigstore_bundle"].(object)
		entry := sigstore["verificationMaterial"].(object)["tlogEntries"].([]any)[0].(object)
		change(seal, sigstore, entry)
	})
	m.add(name, about,
		map[string][]byte{"ingest_receipt.json": receipt, "candidate_bundle.sigstore.json": nil,
			"candidate_bundle.tlog-proof": nil}, fails...)
}

// on names steps of the receipt's seal.
func on(steps ...string) []string {
	out := make([]string, len(steps))
	for i, step := range steps {
		out[i] = step + " ingest_receipt.json"
	}
	return out
}

func makeVectors(t testing.TB) *maker {
	m := &maker{sample: newSample(t), out: map[string][]byte{}}
	for name, text := range m.files {
		m.out["valid/"+name] = text
	}
	for name, text := range m.artifacts {
		m.out["valid/"+name] = []byte(text)
	}
	m.add("valid", "everything as the control plane hands it out", nil)
	m.add("valid-artifact", "an artifact by itself, proved by the seal",
		map[string][]byte{"candidate_bundle.json": nil, "candidate_bundle.dsse.json": nil,
			"runs/run-0001/report.json": []byte(m.artifacts["runs/run-0001/report.json"])})
	m.bundles()
	m.statements()
	m.proofs()
	m.keys()
	m.attestations()
	return m
}

// bundles changes the bundle: what was sealed and signed is about another one then.
func (m *maker) bundles() {
	base := m.files["candidate_bundle.json"]
	unsealed := []string{"subject ingest_receipt.json", "subject candidate_bundle.sigstore.json",
		"attestation candidate_bundle.dsse.json"}
	m.add("bundle-limit-raised", "a limit is raised after sealing",
		map[string][]byte{"candidate_bundle.json": edit(m.t, base, func(b object) {
			b["limits"].(object)["max_capital"] = "1000000"
		})}, append(unsealed, "candidate_revision_id candidate_bundle.json")...)
	m.add("bundle-new-id", "as before, with id and request made to fit",
		map[string][]byte{"candidate_bundle.json": edit(m.t, base, func(b object) {
			b["limits"].(object)["max_capital"] = "1000000"
			identify(m.t, b)
		})}, unsealed...)
	m.add("bundle-indented", "the same value in other bytes",
		map[string][]byte{"candidate_bundle.json": append([]byte("\n"), base...)},
		"canonical bytes candidate_bundle.json")
	m.add("bundle-duplicate-key", "a second requested_stage",
		map[string][]byte{"candidate_bundle.json": []byte(strings.Replace(string(base),
			`"requested_stage":"paper"`, `"requested_stage":"paper","requested_stage":"live"`, 1))},
		append(unsealed, "strict parse candidate_bundle.json")...)
	m.add("bundle-params-swapped", "other parameters under the old hash",
		map[string][]byte{"candidate_bundle.json": edit(m.t, base, func(b object) {
			b["strategy"].(object)["params"].(object)["fast"] = 5
			identify(m.t, b)
		})}, append(unsealed, "params_sha256 candidate_bundle.json")...)
	m.add("bundle-request-stage", "the same candidate asks for another stage",
		map[string][]byte{"candidate_bundle.json": edit(m.t, base, func(b object) {
			b["seal_request"].(object)["requested_stage"] = "live"
		})}, unsealed...)
	m.add("bundle-artifact-hash", "an artifact listed with another hash",
		map[string][]byte{"candidate_bundle.json": edit(m.t, base, func(b object) {
			b["artifacts"].([]any)[0].(object)["sha256"] = digest.SHA256Hex([]byte("x"))
			identify(m.t, b)
		})}, append(unsealed, "artifact runs/run-0001/report.json")...)
	m.add("artifact-not-sealed", "a file that is no subject",
		map[string][]byte{"runs/run-0001/report.json": []byte(`{"total_trades":413}`)},
		"sealed artifact runs/run-0001/report.json")
}

// forge makes a receipt around another statement, itself in a log of the same keys.
func (m *maker) forge(name, about string, e ledger.Entry, fails ...string) {
	s := &sample{t: m.t, statement: m.statement, key: m.key, logKey: m.logKey}
	var err error
	s.log, err = ledger.NewLog(sampleOrigin, ledger.Ring{{Statement: s.key, Log: m.log.View().Key}}, s.logKey,
		&ledger.Tree{}, "")
	check(m.t, err)
	s.append(m.entries[:4]...)
	s.append(e)
	seal, err := s.log.View().Seal(4, e)
	check(m.t, err)
	seal.IntegratedAt, seal.Assurance = "2026-11-20T12:30:00Z", "hash_verified" // as the genuine one says
	receipt := edit(m.t, m.files["ingest_receipt.json"], func(r object) { r["seal"] = seal })
	m.add(name, about,
		map[string][]byte{"ingest_receipt.json": receipt, "candidate_bundle.sigstore.json": nil,
			"candidate_bundle.tlog-proof": nil}, fails...)
}

func (m *maker) statements() {
	sum := digest.SHA256Hex(m.files["candidate_bundle.json"])
	own := subject("candidate_bundle.json", sum)
	predicate := func(change func(object)) object {
		p := maps.Clone(m.seal0())
		change(p)
		return p
	}
	m.forge("type-stage-decision", "a statement of another type about the bundle",
		m.sign(bundle.TypeStageDecision, own, m.seal0()), on("statement type")...)
	m.forge("payload-type", "signed as something else", m.signAs(m.statement, bundle.PayloadRegistry,
		object{"_type": bundle.StatementType, "subject": own, "predicateType": bundle.TypeSeal,
			"predicate": m.seal0()}),
		on("statement type", "subject", "predicate")...)
	m.forge("other-candidate", "another artifact's entry", m.entries[2], on("subject", "predicate")...)
	m.forge("predicate-stage", "sealed for a stage that was not asked for",
		m.sign(bundle.TypeSeal, own, predicate(func(p object) { p["requested_stage"] = "live" })),
		on("predicate")...)
	m.forge("predicate-id", "the right subject, another revision",
		m.sign(bundle.TypeSeal, own, predicate(func(p object) {
			p["candidate_revision_id"] = bundle.RevisionPrefix + sum
		})), on("predicate")...)
	m.forge("predicate-expired", "received after the request expired",
		m.sign(bundle.TypeSeal, own, predicate(func(p object) { p["received_at"] = "2027-01-20T12:30:00Z" })),
		on("predicate")...)
	m.forge("predicate-rungs", "a lower assurance than the summary says",
		m.sign(bundle.TypeSeal, own, predicate(func(p object) { p["rungs"] = []string{"hash_claimed"} })),
		on("predicate")...)
	m.forge("artifact-subject", "an artifact sealed with another hash", m.sign(bundle.TypeSeal,
		append(own, subject("runs/run-0001/report.json", digest.SHA256Hex(nil))...), m.seal0()),
		on("subject")...)
}

// seal0 is the predicate of the sample's seal.
func (m *maker) seal0() object { return m.sample.seal }

func (m *maker) proofs() {
	everything := on("leaf recomputed", "checkpoint", "inclusion", "signature", "summary agrees",
		"tlog-proof agrees")
	without := func(drop ...string) []string {
		return slices.DeleteFunc(slices.Clone(everything), func(s string) bool {
			return slices.Contains(on(drop...), s)
		})
	}
	m.seal("index", "another index in the bundle", func(_, _, entry object) {
		entry["logIndex"] = "3"
		entry["inclusionProof"].(object)["logIndex"] = "3"
	}, on("inclusion", "summary agrees", "tlog-proof agrees")...)
	m.seal("summary-index", "another index in the summary", func(seal, _, _ object) {
		seal["log_index"] = 3
	}, on("summary agrees")...)
	m.seal("summary-root", "another root in the summary", func(seal, _, _ object) {
		seal["root_sha256"] = digest.SHA256Hex(nil)
	}, on("summary agrees")...)
	m.seal("summary-leaf", "another leaf in the summary", func(seal, _, _ object) {
		seal["leaf_sha256"] = digest.SHA256Hex(nil)
	}, on("summary agrees")...)
	m.seal("summary-time", "another time in the summary", func(seal, _, _ object) {
		seal["integrated_at"] = "2026-11-20T12:31:00Z"
	}, on("predicate")...)
	m.seal("summary-assurance", "a higher assurance in the summary", func(seal, _, _ object) {
		seal["assurance"] = "reproduced"
	}, on("predicate")...)
	m.seal("root", "another root in the bundle", func(_, _, entry object) {
		entry["inclusionProof"].(object)["rootHash"] = base64.StdEncoding.EncodeToString(make([]byte, 32))
	}, on("checkpoint")...)
	m.seal("path", "another sibling hash", func(_, _, entry object) {
		entry["inclusionProof"].(object)["hashes"].([]any)[0] = base64.StdEncoding.EncodeToString(make([]byte,
			32))
	}, on("inclusion")...)
	m.seal("tlog-proof-index", "the proof text of another entry", func(seal, _, _ object) {
		proof, err := m.log.View().Proof(3)
		check(m.t, err)
		seal["tlog_proof"] = proof.Format()
	}, on("tlog-proof agrees")...)
	m.seal("tlog-proof-older", "the proof text of an older tree", func(seal, _, _ object) {
		seal["tlog_proof"] = strings.Replace(seal["tlog_proof"].(string), m.notes[len(m.notes)-1],
			m.notes[len(m.notes)-2], 1)
	}, on("tlog-proof agrees")...)
	m.seal("body", "the canonicalizedBody of another entry", func(_, _, entry object) {
		entry["canonicalizedBody"] = base64.StdEncoding.EncodeToString(ledger.Leaf(m.entries[3], m.key))
	}, on("leaf recomputed")...)
	m.seal("unlogged-statement", "a signed statement that was never logged, with the entry of another one",
		func(_, sigstore, _ object) {
			e := m.sign(bundle.TypeSeal,
				subject("candidate_bundle.json", digest.SHA256Hex(m.files["candidate_bundle.json"])),
				m.seal0())
			sigstore["dsseEnvelope"].(object)["payload"] = base64.StdEncoding.EncodeToString(e.Payload)
			sigstore["dsseEnvelope"].(object)["signatures"].([]any)[0].(object)["sig"] = base64.StdEncoding.EncodeToString(e.Signature)
		}, on("inclusion", "leaf recomputed", "summary agrees", "tlog-proof agrees")...)
	m.seal("signature-other-key", "the statement signed by somebody else", func(_, sigstore, _ object) {
		entry := m.entries[m.index]
		env, err := dsse.Sign(entry.PayloadType, entry.Payload, scalar(m.t, "lab key"))
		check(m.t, err)
		sigstore["dsseEnvelope"].(object)["signatures"].([]any)[0].(object)["sig"] = env.Signatures[0].Sig
	}, without("checkpoint")...)
	m.seal("payload-edited", "a stage edited in the payload", func(_, sigstore, _ object) {
		payload, err := base64.StdEncoding.DecodeString(sigstore["dsseEnvelope"].(object)["payload"].(string))
		check(m.t, err)
		sigstore["dsseEnvelope"].(object)["payload"] = base64.StdEncoding.EncodeToString(
			[]byte(strings.ReplaceAll(string(payload), `"part":1`, `"part":0`)))
	}, append(without("checkpoint"), on("predicate")...)...)
	m.seal("base64-not-canonical", "an unused bit of the payload's base64", func(_, sigstore, _ object) {
		env := sigstore["dsseEnvelope"].(object)
		env["payloadType"] = bundle.PayloadInToto
		sig := env["signatures"].([]any)[0].(object)
		sig["sig"] = looseBase64(sig["sig"].(string))
	}, append([]string{"seal"}, on("strict parse")...)...)
	m.seal("hint", "the hint of another key", func(_, sigstore, _ object) {
		sigstore["verificationMaterial"].(object)["publicKey"].(object)["hint"] = base64.StdEncoding.EncodeToString(make([]byte, 32))
	}, on("signature")...)
	m.seal("two-signatures", "a second signature", func(_, sigstore, _ object) {
		env := sigstore["dsseEnvelope"].(object)
		env["signatures"] = append(env["signatures"].([]any), env["signatures"].([]any)[0])
	}, append([]string{"seal"}, on("strict parse")...)...)
}

// looseBase64 sets a bit that the padding leaves unused, or adds a line end where there
// is no padding.
func looseBase64(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	body := strings.TrimRight(s, "=")
	if body == s {
		return s + "\n"
	}
	last := strings.IndexByte(alphabet, body[len(body)-1])
	return body[:len(body)-1] + string(alphabet[last|1]) + s[len(body):]
}

func (m *maker) keys() {
	both := func(steps ...string) []string {
		var out []string
		for _, s := range steps {
			out = append(out, s+" ingest_receipt.json")
			if s != "summary agrees" {
				out = append(out, s+" candidate_bundle.sigstore.json")
			}
		}
		return append(out, "tlog-proof agrees candidate_bundle.tlog-proof")
	}
	rid := func(list []string) []string {
		return slices.DeleteFunc(list, func(s string) bool {
			return s == "tlog-proof agrees candidate_bundle.sigstore.json"
		})
	}
	other, err := ledger.NewKey(&scalar(m.t, "other governance key").PublicKey)
	check(m.t, err)
	m.add("other-statement-key", "another plane's statement key",
		map[string][]byte{"governance.pub": other.PEM()},
		rid(both("inclusion", "leaf recomputed", "signature", "summary agrees", "tlog-proof agrees"))...)
	heads := rid(both("checkpoint", "inclusion", "summary agrees", "tlog-proof agrees"))
	key := m.log.View().Key
	key.Public = seed("other log key").Public().(ed25519.PublicKey)
	root, err := ledger.TrustedRoot(sampleStart, key)
	check(m.t, err)
	m.add("other-log-key", "a log key that nobody used", map[string][]byte{"trusted_root.json": root},
		heads...)
	key = m.log.View().Key
	key.Origin = "other.lab.example"
	root, err = ledger.TrustedRoot(sampleStart, key)
	check(m.t, err)
	m.add("other-origin", "the log key under another origin", map[string][]byte{"trusted_root.json": root},
		heads...)
	root, err = ledger.TrustedRoot(sampleStart.AddDate(0, 1, 0), m.log.View().Key)
	check(m.t, err)
	m.add("log-key-too-young", "a log key that is valid only later",
		map[string][]byte{"trusted_root.json": root},
		"checkpoint ingest_receipt.json", "checkpoint candidate_bundle.sigstore.json")
	m.seal("checkpoint-forged", "a checkpoint of the trusted origin by another key", func(_, _, entry object) {
		note, err := translog.SignCheckpoint(m.log.View().Head, seed("other log key"))
		check(m.t, err)
		entry["inclusionProof"].(object)["checkpoint"].(object)["envelope"] = note
	}, on("checkpoint", "inclusion", "summary agrees", "tlog-proof agrees")...)
}

func (m *maker) attestations() {
	const file, step = "candidate_bundle.dsse.json", "attestation candidate_bundle.dsse.json"
	own := subject("candidate_bundle.json", digest.SHA256Hex(m.files["candidate_bundle.json"]))
	by := func(name, predicateType string, subjects []object, predicate object) map[string][]byte {
		env, err := dsse.Sign(bundle.PayloadInToto,
			canonical(m.t,
				object{"_type": bundle.StatementType, "subject": subjects, "predicateType": predicateType,
					"predicate": predicate}), scalar(m.t, name))
		check(m.t, err)
		return map[string][]byte{file: canonical(m.t, env)}
	}
	common := func(change func(object)) object {
		p := object{"log_origin": sampleOrigin, "candidate_revision_id": m.bundle["candidate_revision_id"],
			"made_at":    "2026-11-20T13:00:00Z",
			"expires_at": "2026-12-20T13:00:00Z", "reason": "reviewed", "action": "promote",
			"stage": "canary", "role": "risk", "plan_digest": bundle.DigestPrefix + digest.SHA256Hex(nil)}
		change(p)
		return p
	}
	m.add("valid-approval", "an approval by risk",
		by("risk key", bundle.TypeApproval, own, common(func(object) {})))
	m.add("attestation-unknown-key", "signed by a key that is not trusted",
		by("unknown key", bundle.TypeBundle, own, object{}), step)
	m.add("attestation-revoked-key", "signed by a revoked key",
		by("old key", bundle.TypeApproval, own, common(func(object) {})), step)
	m.add("attestation-role", "an approval by the lab",
		by("lab key", bundle.TypeApproval, own, common(func(object) {})), step)
	m.add("attestation-subject", "about another file",
		by("lab key", bundle.TypeBundle, subject("candidate_bundle.json", digest.SHA256Hex(nil)), object{}),
		step)
	m.add("attestation-audience", "made for another log",
		by("risk key", bundle.TypeApproval, own,
			common(func(p object) { p["log_origin"] = "other.lab.example" })), step)
	m.add("attestation-revision", "made for another revision",
		by("risk key", bundle.TypeApproval, own, common(func(p object) {
			p["candidate_revision_id"] = bundle.RevisionPrefix + digest.SHA256Hex(nil)
		})), step)
	m.add("attestation-early", "made before the key was valid",
		by("risk key", bundle.TypeApproval, own,
			common(func(p object) { p["made_at"] = "2025-11-20T13:00:00Z" })), step)
}

// index is the vectors as they are on disk.
func index(t testing.TB, vectors []vector) []byte {
	text, err := json.MarshalIndent(vectors, "", " ")
	check(t, err)
	return append(text, '\n')
}

// TestVectorsAreReproducible makes all vectors again and compares them with the files.
func TestVectorsAreReproducible(t *testing.T) {
	m := makeVectors(t)
	m.out["index.json"] = index(t, m.vectors)
	if *update {
		check(t, os.RemoveAll(vectorDir))
		for name, text := range m.out {
			path := filepath.Join(vectorDir, filepath.FromSlash(name))
			check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			check(t, os.WriteFile(path, text, 0o644))
		}
	}
	for name, text := range m.out {
		got, err := os.ReadFile(filepath.Join(vectorDir, filepath.FromSlash(name)))
		if err != nil || string(got) != string(text) {
			t.Errorf("%s differs from what the generator makes (go test -update): %v", name, err)
		}
	}
}

// TestVectors verifies the files on disk.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(vectorDir, "index.json"))
	check(t, err)
	var vectors []vector
	check(t, json.Unmarshal(text, &vectors))
	if len(vectors) < 30 {
		t.Errorf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			var files []File
			for _, name := range slices.Sorted(maps.Keys(v.Files)) {
				files = append(files, File{Name: name, Data: readVector(t, v.Files[name])})
			}
			report := Verify(files,
				Options{Key: readVector(t, v.Key), TrustedRoot: readVector(t, v.Root),
					Trust:     readVector(t, v.Trust),
					Artifacts: folder(t, filepath.Join(vectorDir, v.Artifact))})
			failed := report.Failed()
			slices.Sort(failed)
			if !slices.Equal(failed, v.Fails) || report.OK() != (len(v.Fails) == 0) {
				t.Errorf("%s\nfailed %q\nwant   %q\n%s", v.About, failed, v.Fails, lines(report))
			}
		})
	}
}

func readVector(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(vectorDir, filepath.FromSlash(name)))
	check(t, err)
	return text
}

func lines(r *Report) string {
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		return fmt.Sprint(err)
	}
	return out.String()
}
