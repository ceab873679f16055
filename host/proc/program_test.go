package proc

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

func writeFile(t testing.TB, dir, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func testStore(t *testing.T) Store {
	t.Helper()
	s, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// copied copies a program and closes the copy.
func copied(s Store, path string) (string, error) {
	f, sum, err := s.copy(path)
	if err == nil {
		err = f.Close()
	}
	return sum, err
}

func TestStoreCopiesOnce(t *testing.T) {
	s := testStore(t)
	path := writeFile(t, t.TempDir(), "x", "content", 0o755)
	sum, err := copied(s, path)
	if err != nil || sum != "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73" {
		t.Fatalf("got %s, %v", sum, err)
	}
	before, err := os.Stat(s.path(sum))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := copied(s, path); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(s.path(sum)); err != nil || !os.SameFile(before, after) {
		t.Errorf("a good copy was replaced: %v", err)
	}
	if err := os.Remove(s.path(sum)); err != nil || s.Has(sum) {
		t.Fatal(err)
	}
	writeFile(t, s.dir, sum, "something else", 0o700)
	if _, err := s.OpenCopy(sum); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed copy: %v", err)
	}
	if _, err := copied(s, path); err != nil {
		t.Fatal(err)
	}
	f, err := s.OpenCopy(sum)
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
		t.Skip("needs Linux: elsewhere copies are hashed at every start")
	}
	s := testStore(t)
	sum, err := copied(s, writeFile(t, t.TempDir(), "x", "content", 0o755))
	if err != nil {
		t.Fatal(err)
	}
	path := s.path(sum)
	reopen := func() (known bool) {
		f, err := s.OpenCopy(sum)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return s.known.has(sum, f)
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
	writeFile(t, s.dir, sum, "c0ntent", 0o700)
	if err := os.Chtimes(path, written.ModTime(), written.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenCopy(sum); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a copy that was changed in place: %v", err)
	}
	other := writeFile(t, s.dir, "other", "Content", 0o700)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenCopy(sum); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a copy that was replaced: %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	s, dir := testStore(t), t.TempDir()
	pipe, link, big := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"),
		writeFile(t, dir, "big", "", 0o755)
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
		pipe: "not a regular file", link: "link", big: "more than", dir: "not a regular file",
		filepath.Join(dir, "absent"): "absent",
	} {
		_, err := s.Add(path)
		if err == nil || err.Code != CodeUnreadable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", filepath.Base(path), err, want)
		}
	}
}

func TestInspect(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: programs are examined there only")
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
		libraries, err := inspect(f)
		_ = f.Close()
		if want == "" && (err != nil || libraries) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: got %v, want %q", content, err, want)
		}
	}
}
