package bundle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
