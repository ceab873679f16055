package catalog

import (
	"bytes"
	"debug/elf"
	bin "encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func testStore(t *testing.T) store {
	t.Helper()
	s, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreCopiesOnce(t *testing.T) {
	s := testStore(t)
	path := writeFile(t, t.TempDir(), "x", "content", 0o755)
	b, err := s.copy(path)
	if err != nil || b.sha256 != "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73" {
		t.Fatalf("got %s, %v", b.sha256, err)
	}
	before, err := os.Stat(s.path(b.sha256))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.copy(path); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(s.path(b.sha256)); err != nil || !os.SameFile(before, after) {
		t.Errorf("a good copy was replaced: %v", err)
	}
	if err := os.Remove(s.path(b.sha256)); err != nil || s.has(b.sha256) {
		t.Fatal(err)
	}
	writeFile(t, s.dir, b.sha256, "something else", 0o700)
	if _, err := s.open(b.sha256); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed copy: %v", err)
	}
	if _, err := s.copy(path); err != nil {
		t.Fatal(err)
	}
	f, err := s.open(b.sha256)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the store has %v, %v", entries, err)
	}
}

// TestStoreNoticesEveryChange: a copy that was hashed is not hashed again, but whatever
// is done to it is seen, also when its size and its time of writing are put back.
func TestStoreNoticesEveryChange(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("copies are hashed at every start")
	}
	s := testStore(t)
	b, err := s.copy(writeFile(t, t.TempDir(), "x", "content", 0o755))
	if err != nil {
		t.Fatal(err)
	}
	path := s.path(b.sha256)
	reopen := func() (known bool) {
		f, err := s.open(b.sha256)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return s.known.has(b.sha256, f)
	}
	if reopen() {
		t.Error("a copy that has just been written is taken for settled")
	}
	time.Sleep(settled + 100*time.Millisecond)
	for range 2 {
		if !reopen() {
			t.Error("a copy is hashed again and again")
		}
	}
	written, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.dir, b.sha256, "c0ntent", 0o700)
	if err := os.Chtimes(path, written.ModTime(), written.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(b.sha256); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a copy that was changed in place: %v", err)
	}
	other := writeFile(t, s.dir, "other", "Content", 0o700)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(b.sha256); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a copy that was replaced: %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	s, dir := testStore(t), t.TempDir()
	pipe, link, big := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), writeFile(t, dir, "big", "", 0o755)
	if err := syscall.Mkfifo(pipe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(big, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxProgramBytes+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "not a regular file", link: "link", big: "more than", dir: "not a regular file", filepath.Join(dir, "absent"): "absent",
	} {
		_, fault := s.add(path)
		if fault == nil || fault.Code != CodeUnreadable || !strings.Contains(fault.Message, want) {
			t.Errorf("%s: got %+v, want %q", filepath.Base(path), fault, want)
		}
	}
}

func TestInspect(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs are looked at on Linux only")
	}
	header := func(machine elf.Machine, kind elf.Type) string {
		h := elf.Header64{Machine: uint16(machine), Type: uint16(kind), Version: 1, Ehsize: 64}
		copy(h.Ident[:], "\x7fELF\x02\x01\x01")
		var b bytes.Buffer
		if err := bin.Write(&b, bin.LittleEndian, h); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for content, want := range map[string]string{
		"":                               "ELF format",
		"words":                          "ELF format",
		"#!/bin/sh":                      "script",
		"\x7fELF":                        "not a whole program",
		header(elf.EM_S390, elf.ET_EXEC): "built for EM_S390",
		header(machine(), elf.ET_REL):    "type ET_REL",
		header(machine(), elf.ET_EXEC):   "",
	} {
		f, err := os.Open(writeFile(t, t.TempDir(), "x", content, 0o755))
		if err != nil {
			t.Fatal(err)
		}
		libraries, fault := inspect(f)
		_ = f.Close()
		if want == "" && (fault != nil || libraries) || want != "" && (fault == nil || !strings.Contains(fault.Message, want)) {
			t.Errorf("%.20q: got %+v, want %q", content, fault, want)
		}
	}
}

func TestLockForgetsWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := readLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range []string{"kept", "gone"} {
		if err := l.set(sum, goodSpec("good")); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, s.dir, "kept", "", 0o500)
	if err := l.save(s); err != nil {
		t.Fatal(err)
	}
	again, err := readLock(dir)
	if err != nil || len(again.content.Plugins) != 1 || again.content.Plugins["kept"].SDKVersion != "1.0.0" {
		t.Errorf("got %+v, %v", again.content, err)
	}
	if spec := again.spec("kept"); spec.GetName() != "good" || spec.GetParamsSchema() != goodSpec("good").ParamsSchema {
		t.Errorf("got %v", spec)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the state folder has %v, %v", entries, err)
	}
}
