package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func inDir(dir string) func(*Options) { return func(o *Options) { o.StateDir = dir } }

// TestRollbackAfterRestart: what was revoked does not come back with an old registry.
func TestRollbackAfterRestart(t *testing.T) {
	dir, s := t.TempDir(), &source{}
	s.answers(t, registryOf(tree{"registry_version": 9.0}, entryOf(tree{"status": "revoked"})))
	if _, err := policyOf(t, s, inDir(dir)).Admit(t.Context(), request()); codeOf(err) != DeploymentRevoked {
		t.Fatal(err)
	}
	s.answers(t, registryOf(tree{"registry_version": 8.0}, entryOf(nil)))
	_, err := policyOf(t, s, inDir(dir)).Admit(t.Context(), request())
	var r *Refusal
	if !errors.As(err, &r) || r.Code != RegistryRollback || r.Details["highest_version"] != int64(9) ||
		r.Details["registry_version"] != int64(8) {
		t.Fatalf("%v", err)
	}
	// Another family has a memory of its own.
	s.answers(t, registryOf(tree{"registry_version": 1.0, "family_id": "other"}, entryOf(nil)))
	if _, err := policyOf(t, s, inDir(dir), func(o *Options) {
		o.Families = Families{"sma_cross": "other"}
	}).Admit(t.Context(), request()); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"sma-cross.json", "other.json"} {
		info, err := os.Stat(filepath.Join(dir, "control", name))
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "control")); err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestCached: without an answer the newest registry counts until it expires, also after a
// restart, and not one moment longer.
func TestCached(t *testing.T) {
	dir, s := t.TempDir(), &source{err: errAway}
	if _, err := policyOf(t, s, inDir(dir)).Admit(t.Context(),
		request()); codeOf(err) != RegistryUnavailable || !errors.Is(err, errAway) {
		t.Fatalf("nothing seen: %v", err)
	}
	s.answers(t, registryOf(nil, entryOf(nil)))
	if _, err := policyOf(t, s, inDir(dir)).Admit(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	s.body, s.err = nil, errAway
	expiry := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		err  error
		want Code
	}{
		{now, errAway, ""}, {expiry.Add(-time.Second), errAway, ""}, {now, ErrUnknownFamily, ""},
		{expiry, errAway, RegistryUnavailable},
		{expiry.Add(time.Hour), ErrUnknownFamily, RegistryUnavailable},
	} {
		s.err = c.err
		p := policyOf(t, s, inDir(dir), func(o *Options) { o.Now = at(c.at) })
		a, err := p.Admit(t.Context(), request())
		if codeOf(err) != c.want || c.want == "" &&
			(len(a.Notices) != 1 || a.Notices[0].Code != RegistryUnavailable) {
			t.Errorf("at %v: %+v, %v", c.at, a, err)
		}
		if status, message := p.Health(""); status != "warn" ||
			!strings.Contains(message, "REGISTRY_UNAVAILABLE") {
			t.Errorf("health: %s %s", status, message)
		}
	}
	// The key that is pinned now decides, also about what was kept.
	s.err = errAway
	other := &key(t, "lab").PublicKey
	if _, err := policyOf(t, s, inDir(dir), func(o *Options) {
		o.Key = other
	}).Admit(t.Context(), request()); codeOf(err) != RegistryUnavailable {
		t.Errorf("another key: %v", err)
	}
	s.err = ErrUnknownFamily
	if _, err := policyOf(t, s).Admit(t.Context(), request()); codeOf(err) != DeploymentNotApproved {
		t.Errorf("unknown family: %v", err)
	}
	// A bad answer is an answer: it is not made good by what was there before.
	s.body, s.err = []byte("{}"), nil
	if _, err := policyOf(t, s, inDir(dir)).Admit(t.Context(), request()); codeOf(err) != RegistryUnsigned {
		t.Errorf("a bad answer: %v", err)
	}
}

// TestDamagedMemory: a memory that cannot be read forgets nothing.
func TestDamagedMemory(t *testing.T) {
	const good = `{"family_id":"sma-cross","registry":{},"registry_version":7,"schema":"registry-memory/v1"}`
	for name, text := range map[string]string{
		"empty": "", "torn": good[:40], "no JSON": "hello",
		"another family":  strings.Replace(good, "sma-cross", "other", 1),
		"a version twice": strings.Replace(good, `"schema"`, `"registry_version":1,"schema"`, 1),
		"no version":      strings.Replace(good, "7", "null", 1),
		"another schema":  strings.Replace(good, "memory/v1", "memory/v2", 1),
		"no registry":     strings.Replace(good, "{},", "null,", 1),
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "control"), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "control", "sma-cross.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &source{}
		p := policyOf(t, s, inDir(dir))
		for _, answer := range []func(){func() {
			s.answers(t, registryOf(nil, entryOf(nil)))
		}, func() { s.err = errAway }} {
			answer()
			if _, err := p.Admit(t.Context(), request()); codeOf(err) != RegistryRollback ||
				strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := os.Remove(path); err != nil { // as the message says
			t.Fatal(err)
		}
		s.answers(t, registryOf(nil, entryOf(nil)))
		if _, err := p.Admit(t.Context(), request()); err != nil {
			t.Errorf("%s, removed: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "control", "sma-cross.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &source{}
	s.answers(t, registryOf(nil, entryOf(nil)))
	if _, err := policyOf(t, s, inDir(dir)).Admit(t.Context(), request()); codeOf(err) != RegistryRollback {
		t.Errorf("a folder: %v", err)
	}
}

// TestMemoryThatCannotBeKept: a start needs it on disk; what was seen counts nevertheless.
func TestMemoryThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	// where a folder is needed
	if err := os.WriteFile(filepath.Join(dir, "control"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := NewMemory(filepath.Join(dir, "control", "below"))
	r, refused := Open(sign(t, registryOf(nil), key(t, "governance"), PayloadType),
		&key(t, "governance").PublicKey, "sma-cross")
	if refused != nil {
		t.Fatal(refused)
	}
	var unkept *keepError
	// The path leads through a file: reading says so before writing can.
	if err := m.See(r); err == nil {
		t.Fatal("kept in a file")
	}
	m.known["sma-cross"], m.readLog = kept{version: 6}, true
	for range 2 {
		if err := m.See(r); !errors.As(err, &unkept) {
			t.Fatal(err)
		}
	}
	r.Version = 6
	var older *rollbackError
	if err := m.See(r); !errors.As(err, &older) || older.seen != 7 {
		t.Errorf("%v", err)
	}
	s := &source{}
	s.answers(t, registryOf(nil, entryOf(nil)))
	p := policyOf(t, s)
	p.memory = m
	if a, err := p.Admit(t.Context(), request()); !errors.As(err, &unkept) || codeOf(err) != "" || a.Gated() {
		t.Errorf("%+v %v", a, err)
	}
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte(`{"family_id":"f","registry":{},"registry_version":7,"schema":"registry-memory/v1"}`))
	f.Add([]byte(`{"family_id":"f","registry":null,"registry_version":-7,"schema":1}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := parseMemory(text, "f"); err == nil && (k.version < 0 || k.sealed == nil) {
			t.Fatalf("%+v", k)
		}
	})
}
