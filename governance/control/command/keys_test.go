//go:build unix

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestEncryptedKeys: a person signs, and a plane starts, is verified and rebuilt, with keys that are
// encrypted; without the passphrase each says what is missing.
func TestEncryptedKeys(t *testing.T) {
	ring.Undetected(t, "rounds of PBKDF2 take ten times as long with it")
	ring.Slow(t, "each key that is opened costs 600,000 rounds of PBKDF2")
	dir, files := filepath.Join(t.TempDir(), "governance"), t.TempDir()
	pass := write(t, filepath.Join(files, "pass"), []byte("correct horse\n"))
	now := time.Now
	_, stop := serving(t, "--state-dir", dir, "--log-origin", planetest.Origin)
	stop()
	keys := []string{filepath.Join(dir, "keys", "statement.key"), filepath.Join(dir, "keys", "log.key")}
	if code, out, errs := run(t, now, "", append([]string{"keys", "encrypt", "--passphrase-file", pass}, keys...)...); code != 0 {
		t.Fatalf("exit %d %s%s", code, out, errs)
	}
	for _, path := range keys {
		if text, err := os.ReadFile(path); err != nil || !dsse.Encrypted(text) {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, stop = serving(t, "--state-dir", dir, "--passphrase-file", pass)
	stop()
	for _, args := range [][]string{{"serve", "--port", "0"}, {"verify", "--log"}, {"rebuild", "--check"}} {
		code, _, errs := run(t, now, "", append(args, "--state-dir", dir)...)
		if code != 2 || !strings.Contains(errs, "SERVICE_KEY_PASSPHRASE_FILE") {
			t.Errorf("%v without the passphrase: exit %d %s", args, code, errs)
		}
		if args[0] == "serve" {
			continue
		}
		if code, out, errs := run(t, now, "", append(args, "--state-dir", dir, "--passphrase-file", pass)...); code != 0 {
			t.Errorf("%v: exit %d %s%s", args, code, out, errs)
		}
	}
	rita := filepath.Join(files, "rita")
	if code, _, errs := run(t, now, "", "keys", "new", rita, "--encrypt"); code != 2 {
		t.Errorf("encrypted without a passphrase: exit %d %s", code, errs)
	}
	if code, _, errs := run(t, now, "", "keys", "new", rita, "--encrypt", "--passphrase-file", pass); code != 0 {
		t.Fatalf("exit %d %s", code, errs)
	}
	d := newDesk(t)
	id := d.submit()
	if code, _, errs := run(t, d.p.Now, "", "reject", id, "--reason", "x", "--key", rita+".key", "--control-url", d.p.URL, "--yes"); code != 2 ||
		!strings.Contains(errs, "is encrypted") {
		t.Errorf("without the passphrase: exit %d %s", code, errs)
	}
	if err := dsse.Encrypt(d.key("rita"), []byte("correct horse")); err != nil {
		t.Fatal(err)
	}
	d.as("rita", 0, "reject", id, "--reason", "x", "--passphrase-file", pass)
	d.stands(id, "paper/rejected")
}

// TestKeyOfAnAgent: a person whose key an SSH agent holds signs, through a file that names it or through
// its place; trust.json takes the public half as any other.
func TestKeyOfAnAgent(t *testing.T) {
	d, held := newDesk(t), agent.NewKeyring()
	hosttest.Agent(t, held)
	if err := held.Add(agent.AddedKey{PrivateKey: planetest.Key("rita")}); err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(planetest.Key("rita").Public())
	if err != nil {
		t.Fatal(err)
	}
	name, place := filepath.Join(t.TempDir(), "rita"), "agent:"+ssh.FingerprintSHA256(public)
	if code, out, errs := run(t, d.p.Now, "", "keys", "new", name, "--agent", place); code != 0 ||
		!strings.Contains(out, name+".pub\nkey_id ") {
		t.Fatalf("exit %d %s%s", code, out, errs)
	}
	for _, args := range [][]string{{"--agent", place}, {"--agent", "agent:SHA256:x"}, {"--agent", place, "--encrypt"}} {
		if code, _, errs := run(t, d.p.Now, "", append([]string{"keys", "new", name}, args...)...); code == 0 {
			t.Errorf("%v: %s", args, errs)
		}
	}
	id := d.submit()
	says := func(key string, args ...string) (int, string) {
		code, _, errs := run(t, d.p.Now, "", append(args, id, "--reason", "x", "--key", key, "--control-url", d.p.URL, "--yes")...)
		return code, errs
	}
	if code, errs := says(name+".key", "suspend"); code != 0 {
		t.Fatalf("exit %d %s", code, errs)
	}
	d.stands(id, "paper/suspended")
	if err := held.Lock([]byte("pass")); err != nil {
		t.Fatal(err)
	}
	if code, errs := says(place, "reject"); code != 2 || !strings.Contains(errs, "it is locked") {
		t.Errorf("exit %d %s", code, errs)
	}
	if err := held.Unlock([]byte("pass")); err != nil {
		t.Fatal(err)
	}
	if code, errs := says(place, "reject"); code != 0 {
		t.Fatalf("exit %d %s", code, errs)
	}
	d.stands(id, "paper/rejected")
}
