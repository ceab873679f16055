package bundle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

func TestTrust(t *testing.T) {
	trust := desk(t)
	text, err := trust.Encode()
	if err != nil {
		t.Fatal(err)
	}
	// A file that a person wrote is not canonical: its digest is that of its canonical form.
	spaced := strings.ReplaceAll(string(text), ",\"", ",\n  \"")
	again, refused := bundle.ParseTrust([]byte(spaced))
	if refused != nil {
		t.Fatal(refused)
	}
	if want := "sha256:" + digest.SHA256Hex(text); again.Digest() != want || trust.Digest() != want {
		t.Errorf("digests %s, %s, want %s", again.Digest(), trust.Digest(), want)
	}
	var open *bundle.Trust
	if open.Digest() != "" || open.Signers(&dsse.Signed{}, clock) != nil {
		t.Error("open mode trusts somebody")
	}
	until := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	if trust.Expired(until.Add(-1)) || !trust.Expired(until) {
		t.Error("it expires at another time than it says")
	}
	none := bundle.Trust{Schema: bundle.SchemaTrust, Version: 1, ExpiresAt: "2026-12-31T00:00:00Z"}
	if _, err := none.Encode(); err == nil {
		t.Error("a list of keys that is null was accepted")
	}
}

func TestAChangeNeedsAHigherVersion(t *testing.T) {
	trust := desk(t)
	if err := trust.Follows(5, trust.Digest()); err != nil {
		t.Errorf("nothing changed: %v", err)
	}
	if err := trust.Follows(0, "sha256:"+hex64("before")); err != nil {
		t.Errorf("a higher version: %v", err)
	}
	for _, version := range []int64{1, 2} {
		if trust.Follows(version, "sha256:"+hex64("before")) == nil {
			t.Errorf("version 1 replaces version %d", version)
		}
	}
}

func TestBadTrust(t *testing.T) {
	good, err := desk(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	other := keyOf(t, "stranger", "eve@example.com", bundle.TrustLab)
	p256 := keyOf(t, "lab", "packer@example.com").PublicKey
	for _, c := range []struct {
		path  string
		value any // nil drops
		code  field.Code
	}{
		{"schema", "trust/v2", field.UnsupportedSchema},
		{"schema", nil, field.MissingField},
		{"version", 0.0, field.InvalidField},
		{"version", 1.5, field.InvalidField},
		{"expires_at", "2026-12-31", field.InvalidTimestamp},
		{"require_signature", "no", field.InvalidField},
		{"require_signature", nil, field.MissingField},
		{"Keys", []any{}, field.UnknownField},
		{"keys", map[string]any{}, field.InvalidField},
		{"keys", make([]any, 1001), field.TooManyItems},
		{"keys/0/key_id", other.KeyID, field.InvalidField},
		{"keys/0/key_id", "x", field.InvalidDigest},
		{"keys/0/public_key", other.PublicKey, field.InvalidField},
		{"keys/0/public_key", "ssh-rsa AAAA", field.InvalidField},
		{"keys/0/public_key", p256 + p256, field.InvalidField},
		{"keys/0/principal", "", field.InvalidField},
		{"keys/0/principal", "packer@example.com ", field.InvalidField},
		{"keys/1/principal", "Packer@Example.com", field.InvalidField},
		{"keys/0/roles", []any{}, field.InvalidField},
		{"keys/0/roles/0", "admin", field.InvalidField},
		{"keys/0/valid_from", "2027-01-01T00:00:00Z", field.InvalidTimestamp},
		{"keys/0/valid_until", nil, field.MissingField},
		{"keys/0/status", "retired", field.InvalidField},
		{"keys/0/note", "x", field.UnknownField},
	} {
		d := treeOf(t, good)
		if c.value == nil {
			d.drop(c.path)
		} else {
			d.set(c.path, c.value)
		}
		_, refused := bundle.ParseTrust(d.text())
		at := map[string]string{"keys/0/valid_from": "/keys/0/valid_until",
			"keys/0/public_key": "/keys/0/key_id"}[c.path]
		if at == "" || c.path == "keys/0/public_key" && c.value != other.PublicKey {
			at = "/" + c.path
		}
		wants(t, fmt.Sprintf("%s=%.20v", c.path, c.value), refused, c.code, at)
	}
	d := treeOf(t, good)
	d.set("keys/1", d.get("keys/0"))
	_, refused := bundle.ParseTrust(d.text())
	wants(t, "a key twice", refused, field.DuplicateItem, "/keys/1/key_id")
	_, refused = bundle.ParseTrust(append(good, 'x'))
	wants(t, "trailing", refused, field.MalformedJSON, "")
}

func FuzzTrust(f *testing.F) {
	good, err := desk(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(
		`{"schema":"trust/v1","version":1,"expires_at":"2026-12-31T00:00:00Z","require_signature":true,"keys":[]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		trust, refused := bundle.ParseTrust(in)
		if refused != nil {
			return
		}
		text, err := trust.Encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if v, _ := digest.Strict(in, 32); string(digest.Tree(v)) != string(text) {
			t.Fatalf("%s is written as %s", in, text)
		}
	})
}
