package upload_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/upload"
)

func open(t *testing.T, change func(*upload.Limits)) (*upload.Store, string) {
	t.Helper()
	l := upload.DefaultLimits()
	if change != nil {
		change(&l)
	}
	dir := filepath.Join(t.TempDir(), "uploads")
	s, err := upload.Open(dir, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, dir
}

func receive(t *testing.T, s *upload.Store, text string) upload.Upload {
	t.Helper()
	u, err := s.Receive(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func files(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestReceive(t *testing.T) {
	s, dir := open(t, nil)
	u := receive(t, s, "time,open\n")
	if u.Bytes != 10 || u.SHA256 != digest.SHA256Hex([]byte("time,open\n")) || u.ID == "" {
		t.Errorf("%+v", u)
	}
	paths, release, err := s.Hold([]string{u.ID})
	if err != nil || len(paths) != 1 || filepath.Dir(paths[0]) != dir {
		t.Fatal(paths, err)
	}
	if text, err := os.ReadFile(paths[0]); err != nil || string(text) != "time,open\n" {
		t.Errorf("%q %v", text, err)
	}
	release(false)
	if _, release, err = s.Hold([]string{u.ID}); err != nil {
		t.Fatal("it is gone before its time:", err)
	}
	release(true)
	if _, _, err = s.Hold([]string{u.ID}); err == nil || files(t, dir) != 0 {
		t.Error("it is kept although nobody needs it")
	}
}

func TestWhatBreaksOffLeavesNothing(t *testing.T) {
	s, dir := open(t, nil)
	broken := errors.New("the client is gone")
	from := io.MultiReader(strings.NewReader("half a line"), iotest.ErrReader(broken))
	if _, err := s.Receive(from); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := s.Receive(strings.NewReader("")); !errors.Is(err, upload.ErrEmpty) {
		t.Error(err)
	}
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestLimits(t *testing.T) {
	s, dir := open(t, func(l *upload.Limits) { l.Each, l.All, l.Files = 10, 25, 3 })
	refused := func(text string) *upload.TooLargeError {
		t.Helper()
		var e *upload.TooLargeError
		if _, err := s.Receive(iotest.OneByteReader(strings.NewReader(text))); !errors.As(err, &e) {
			t.Fatal(err)
		}
		return e
	}
	if e := refused("more than ten"); e.Limit != 10 || e.Full {
		t.Errorf("%+v", e)
	}
	first := receive(t, s, "0123456789")
	receive(t, s, "0123456789")
	if e := refused("seven b"); e.Limit != 25 || !e.Full {
		t.Errorf("%+v", e)
	}
	if s.Check(5) != nil || s.Check(6) == nil || s.Check(11) == nil {
		t.Error("what is said before differs")
	}
	receive(t, s, "01234")
	if e := refused("0"); !e.Files {
		t.Errorf("%+v", e)
	}
	if n := files(t, dir); n != 3 {
		t.Errorf("%d files", n)
	}
	_, release, err := s.Hold([]string{first.ID, first.ID})
	if err != nil {
		t.Fatal(err)
	}
	release(true)
	receive(t, s, "0123456789") // its room is free again
}

func TestUploadsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dir := open(t, nil)
		read, forgotten := receive(t, s, "read"), receive(t, s, "forgotten")
		_, release, err := s.Hold([]string{read.ID})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(upload.DefaultLimits().Life + time.Second)
		if n := files(t, dir); n != 1 {
			t.Errorf("%d files are left, of which one is read", n)
		}
		var missing *upload.MissingError
		if _, _, err := s.Hold([]string{read.ID, forgotten.ID}); !errors.As(err, &missing) {
			t.Error(err)
		}
		release(false)
		if files(t, dir) != 0 {
			t.Error("it stays after it was read")
		}
	})
}

func TestNoPathIsAskedFor(t *testing.T) {
	s, dir := open(t, nil)
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ".", "..", "../secret", "/etc/passwd", "upl_none", "upl_\x00"} {
		var missing *upload.MissingError
		if _, _, err := s.Hold([]string{id}); !errors.As(err, &missing) || missing.Index != 0 {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestOpenAndCloseEmptyTheFolder(t *testing.T) {
	s, dir := open(t, nil)
	receive(t, s, "x")
	s, err := upload.Open(dir, upload.DefaultLimits())
	if err != nil || files(t, dir) != 0 {
		t.Error("what a crash left is still there", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Receive(strings.NewReader("x")); !errors.Is(err, upload.ErrClosed) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestManyAtOnce(t *testing.T) {
	s, dir := open(t, func(l *upload.Limits) { l.All = 64 << 10 })
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			u, err := s.Receive(bytes.NewReader(make([]byte, 4<<10)))
			var full *upload.TooLargeError
			if err != nil {
				if !errors.As(err, &full) || !full.Full {
					t.Error(err)
				}
				return
			}
			_, release, err := s.Hold([]string{u.ID})
			if err != nil {
				t.Error(err)
				return
			}
			release(true)
		})
	}
	all.Wait()
	if n := files(t, dir); n != 0 {
		t.Errorf("%d files", n)
	}
	receive(t, s, strings.Repeat("x", 64<<10))
}
