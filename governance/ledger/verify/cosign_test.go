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
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestCosign asks stock cosign (3.1 or newer) about a fresh seal, for the bundle and for
// a verified artifact, and about forgeries of it.
func TestCosign(t *testing.T) {
	cosign := stockCosign(t)
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

// cosignVersion is what make soak builds of the Go module proxy.
const cosignVersion = "github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3"

// stockCosign is the cosign of the PATH. Where there is none make soak builds one, which takes four
// minutes of a processor: too many for make prove.
func stockCosign(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("cosign"); err == nil {
		return path
	}
	if ring.At() < ring.Soak {
		t.Skip("needs cosign 3.1 or newer on the PATH, or make soak, which builds it: the seal is not compared " +
			"with it")
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "install", cosignVersion)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("cosign cannot be had from the Go module proxy: %v\n%s", err, out)
	}
	return filepath.Join(dir, "cosign")
}

// TestCosignOfThePage runs the command of docs/governance.md literally, in a folder with the files that it
// names.
func TestCosignOfThePage(t *testing.T) {
	cosign := stockCosign(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "governance.md"))
	check(t, err)
	const begin = "cosign verify-blob-attestation "
	_, rest, found := strings.Cut(string(page), begin)
	command, _, ended := strings.Cut(rest, "\n```")
	if !found || !ended {
		t.Fatalf("the page has no %q", begin)
	}
	m, dir := makeVectors(t), t.TempDir()
	for name, text := range m.files {
		if !strings.Contains(name, "/") {
			check(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
	}
	run := func() (string, error) {
		cmd := exec.Command("sh", "-ec", begin+command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+filepath.Dir(cosign)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil || !strings.Contains(out, "Verified OK") {
		t.Fatalf("%v\n%s", err, out)
	}
	changed := append(m.files["candidate_bundle.json"], '\n')
	check(t, os.WriteFile(filepath.Join(dir, "candidate_bundle.json"), changed, 0o600))
	if out, err := run(); err == nil {
		t.Errorf("a changed bundle is accepted\n%s", out)
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
