package verify

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/translog"
)

// TestCosign asks stock cosign (3.1 or newer) about a fresh seal, for the bundle and for
// a verified artifact, and about forgeries of it.
func TestCosign(t *testing.T) {
	cosign, err := exec.LookPath("cosign")
	if err != nil {
		t.Skip("needs cosign 3.1 or newer on the PATH: the seal is not compared with it")
	}
	m := makeVectors(t)
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		check(t, os.WriteFile(path, text, 0o600))
		return path
	}
	run := func(key, root, sigstore, artifact string) (string, error) {
		cmd := exec.Command(cosign, "verify-blob-attestation", "--key", key, "--bundle", sigstore, "--type",
			bundle.TypeSeal, "--trusted-root", root, artifact)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	key, root := write("governance.pub", m.files["governance.pub"]),
		write("trusted_root.json", m.files["trusted_root.json"])
	sigstore := write("ok.sigstore.json", m.files["candidate_bundle.sigstore.json"])
	candidate := write("candidate_bundle.json", m.files["candidate_bundle.json"])
	report := write("report.json", []byte(m.artifacts["runs/run-0001/report.json"]))
	for _, artifact := range []string{candidate, report} {
		if out, err := run(key, root, sigstore, artifact); err != nil {
			t.Errorf("%s is refused: %v\n%s", filepath.Base(artifact), err, out)
		}
	}
	if out, err := run(key, root, sigstore, write("other.json", []byte("{}"))); err == nil {
		t.Errorf("a file that was not sealed is accepted\n%s", out)
	}
	for name, change := range cosignForgeries(m) {
		forged := write(name+".sigstore.json",
			edit(t, m.files["candidate_bundle.sigstore.json"], func(s object) {
				change(s["verificationMaterial"].(object)["tlogEntries"].([]any)[0].(object),
					s["dsseEnvelope"].(object))
			}))
		if out, err := run(key, root, forged, candidate); err == nil {
			t.Errorf("%s is accepted\n%s", name, out)
		}
	}
	for _, v := range m.vectors {
		if slices.Contains([]string{"other-statement-key", "other-log-key", "other-origin"}, v.Name) {
			if out, err := run(write(v.Name+".pub", m.out[v.Key]), write(v.Name+".root.json", m.out[v.Root]),
				sigstore, candidate); err == nil {
				t.Errorf("%s is accepted\n%s", v.Name, out)
			}
		}
	}
}

// cosignForgeries changes what stock cosign looks at: it does not compare rootHash, nor
// what it makes itself.
func cosignForgeries(m *maker) map[string]func(entry, envelope object) {
	proof := func(entry object) object { return entry["inclusionProof"].(object) }
	return map[string]func(entry, envelope object){
		"index": func(entry, _ object) {
			entry["logIndex"] = "3"
			proof(entry)["logIndex"] = "3"
		},
		"path": func(entry, _ object) {
			proof(entry)["hashes"].([]any)[0] = base64.StdEncoding.EncodeToString(make([]byte, 32))
		},
		"checkpoint": func(entry, _ object) {
			note, err := translog.SignCheckpoint(m.log.View().Head, seed("other log key"))
			check(m.t, err)
			proof(entry)["checkpoint"].(object)["envelope"] = note
		},
		"older checkpoint": func(entry, _ object) {
			proof(entry)["checkpoint"].(object)["envelope"] = m.notes[1]
		},
		"payload": func(_, envelope object) {
			envelope["payload"] = base64.StdEncoding.EncodeToString(m.entries[2].Payload)
		},
		"another entry": func(_, envelope object) {
			e := m.entries[2]
			envelope["payload"] = base64.StdEncoding.EncodeToString(e.Payload)
			envelope["signatures"].([]any)[0].(object)["sig"] = base64.StdEncoding.EncodeToString(e.Signature)
		},
		"payload type": func(_, envelope object) { envelope["payloadType"] = bundle.PayloadRegistry },
	}
}
