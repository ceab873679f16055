package decision

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// TestSpoolIsWhatWasWritten: pieces of any size come back whole and in part, from
// memory and from the file.
func TestSpoolIsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := spool{dir: dir}
		var want []byte
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, spoolMemory/3), 0, 10).Draw(t, "pieces") {
			piece := bytes.Repeat([]byte{byte('a' + i)}, n)
			want = append(want, piece...)
			if err := s.write(piece); err != nil {
				t.Fatal(err)
			}
		}
		var got bytes.Buffer
		if err := s.copy(&got); err != nil || !bytes.Equal(got.Bytes(), want) || s.size != int64(len(want)) {
			t.Fatalf("%d bytes of %d, %v", got.Len(), len(want), err)
		}
		from := rapid.IntRange(0, len(want)).Draw(t, "from")
		part := make([]byte, rapid.IntRange(0, len(want)-from).Draw(t, "length"))
		if err := s.readAt(part, int64(from)); err != nil || !bytes.Equal(part, want[from:from+len(part)]) {
			t.Fatalf("%d bytes from %d on: %v", len(part), from, err)
		}
		if (s.file != nil) != (len(want) >= spoolMemory) {
			t.Fatalf("%d bytes, a file: %v", len(want), s.file != nil)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if err := s.copy(&got); !errors.Is(err, os.ErrClosed) {
			t.Fatalf("after its end: %v", err)
		}
	})
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
