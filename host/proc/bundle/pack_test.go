package bundle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/assay-run/assay/host/base/digest"
)

// packed is a bundle and its layer as streams, with the names of their documents.
func packed(t *testing.T) (streams [][]byte, names, sums []string) {
	t.Helper()
	dir, id, m := made(t)
	text, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, ManifestFile), string(text))
	layer := filepath.Join(filepath.Dir(dir), LayersFolder, m.Layers[0].SHA256, ListFile)
	for _, document := range []string{filepath.Join(dir, ManifestFile), layer} {
		var b bytes.Buffer
		if err := Pack(&b, document); err != nil {
			t.Fatal(err)
		}
		streams, names = append(streams, b.Bytes()), append(names, filepath.Base(document))
	}
	return streams, names, []string{id, m.Layers[0].SHA256}
}

// TestPack: a bundle that was packed and unpacked elsewhere installs; no changed byte is taken.
func TestPack(t *testing.T) {
	streams, names, sums := packed(t)
	out := t.TempDir()
	documents := []string{filepath.Join(out, "y"+Suffix, ManifestFile),
		filepath.Join(out, LayersFolder, sums[1], ListFile)}
	for i, document := range documents {
		for range 2 { // the second time it is there
			if err := Unpack(bytes.NewReader(streams[i]), document, sums[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, text, err := Open(filepath.Dir(documents[0]))
	if err != nil || digest.SHA256Hex(text) != sums[0] {
		t.Fatal(err)
	}
	place := Place{filepath.Join(t.TempDir(), "x")}
	if err := m.Install(filepath.Dir(documents[0]), sums[0], place); err != nil {
		t.Error(err)
	}
	for i, stream := range streams {
		to := filepath.Join(t.TempDir(), "z", names[i])
		for at := range stream {
			bad := slices.Clone(stream)
			bad[at] ^= 1
			if err := Unpack(bytes.NewReader(bad), to, sums[i]); err == nil {
				t.Fatalf("byte %d of %s may change", at, names[i])
			}
			if err := Unpack(bytes.NewReader(stream[:at]), to, sums[i]); err == nil {
				t.Fatalf("%s may end at byte %d", names[i], at)
			}
		}
		if err := Unpack(bytes.NewReader(append(stream, 0)), to, sums[i]); err == nil {
			t.Errorf("%s may have more", names[i])
		}
		if left, err := os.ReadDir(filepath.Dir(filepath.Dir(to))); err != nil || len(left) != 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}

// TestReceive: an installed bundle travels to another folder of programs by way of a team's files, each
// stream once; one that was changed there, or here before it is packed, is refused and leaves no manifest.
func TestReceive(t *testing.T) {
	dir, id, m := made(t)
	text, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	manifest := filepath.Join(programs, id)
	if err := m.Install(dir, id, PlaceIn(programs)); err != nil {
		t.Fatal(err)
	}
	put(t, manifest, string(text))
	documents, err := Documents(manifest)
	if err != nil || len(documents) != 2 || documents[id] != manifest || !IsDocument(manifest) {
		t.Fatal(documents, err)
	}
	files := fstest.MapFS{}
	for sum, document := range documents {
		var b bytes.Buffer
		if err := Pack(&b, document); err != nil {
			t.Fatal(err)
		}
		files[TeamName(sum)] = &fstest.MapFile{Data: b.Bytes()}
	}
	there := filepath.Join(t.TempDir(), id)
	for _, want := range []int{2, 0} { // the second time all is there
		n := 0
		if err := Receive(files, text, there, func(int64) { n++ }); err != nil || n != want {
			t.Errorf("%d streams came, not %d: %v", n, want, err)
		}
	}
	if err := m.Verify(id, PlaceIn(filepath.Dir(there))); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(there); err != nil || !bytes.Equal(got, text) {
		t.Errorf("its manifest is %q, %v", got, err)
	}
	for sum := range documents {
		good := files[TeamName(sum)]
		for name, bad := range map[string]*fstest.MapFile{"missing": nil, "cut": {Data: good.Data[:3]},
			"changed": {Data: append(slices.Clone(good.Data[:len(good.Data)-1]), '!')}} {
			delete(files, TeamName(sum))
			if bad != nil {
				files[TeamName(sum)] = bad
			}
			to := filepath.Join(t.TempDir(), id)
			err := Receive(files, text, to, func(int64) {})
			_, refused := errors.AsType[*Error](err)
			if missing := errors.Is(err, fs.ErrNotExist); refused != (bad != nil) || missing == refused {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := os.Stat(to); err == nil {
				t.Errorf("%s: its manifest is there", name)
			}
		}
		files[TeamName(sum)] = good
	}
	put(t, filepath.Join(PlaceIn(programs).Files(id), "a.py"), "b")
	err = Pack(io.Discard, manifest)
	if err == nil || !strings.Contains(err.Error(), "a.py: has the SHA-256") {
		t.Errorf("a changed file is packed: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	text, err := Encode(List{LayerSchema, []File{{"a", digest.SHA256Hex([]byte("a")), 1}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), 'a'))
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, stream []byte) {
		sum := ""
		if len(stream) > 4 {
			if n := binary.BigEndian.Uint32(stream); int64(n) <= int64(len(stream)-4) {
				sum = digest.SHA256Hex(stream[4 : 4+n])
			}
		}
		dir := t.TempDir()
		document := filepath.Join(dir, "layer", ListFile)
		if err := Unpack(bytes.NewReader(stream), document, sum); err != nil {
			if _, err := os.Stat(document); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a part is left: %v", err)
			}
			return
		}
		var again bytes.Buffer
		if err := Pack(&again, document); err != nil || !bytes.Equal(again.Bytes(), stream) {
			t.Errorf("%q is packed as %q, %v", stream, again.Bytes(), err)
		}
	})
}
