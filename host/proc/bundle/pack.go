package bundle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
)

// IsDocument reports whether a path is that of the document of a bundle or layer, by which Pack and Unpack
// name it: plugin.json or layer.json in its folder, or the manifest of an installed bundle.
func IsDocument(path string) bool {
	switch name := filepath.Base(path); {
	case name == ManifestFile || name == ListFile:
		return true
	case !digest.IsSHA256(name):
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [1]byte
	n, _ := f.Read(head[:])
	return IsManifest(head[:n])
}

// Documents are the documents of a bundle and of its layers by their hashes, with the path of each. The
// bundle is named by its own: what travels is Pack of each.
func Documents(manifest string) (map[string]string, error) {
	text, err := readBounded(manifest)
	if err != nil {
		return nil, err
	}
	m, err := Parse(text)
	if err != nil {
		return nil, err
	}
	layers := PlaceIn(filepath.Dir(manifest)).Root
	if filepath.Base(manifest) == ManifestFile {
		layers = filepath.Join(filepath.Dir(filepath.Dir(manifest)), LayersFolder)
	}
	list := map[string]string{digest.SHA256Hex(text): manifest}
	for _, l := range m.Layers {
		list[l.SHA256] = filepath.Join(layers, l.SHA256, ListFile)
	}
	return list, nil
}

// filesOf is the folder with the files of a document.
func filesOf(document string) string {
	if name := filepath.Base(document); name != ManifestFile && name != ListFile {
		return PlaceIn(filepath.Dir(document)).Files(name)
	}
	return filepath.Dir(document)
}

// Pack writes a folder as one stream: how long its document is, as four bytes, the document, and the files
// that it lists, one behind the other. Every file must have the hash of the list.
func Pack(to io.Writer, document string) error {
	text, err := readBounded(document)
	if err != nil {
		return err
	}
	files, err := listed(filepath.Base(document), text)
	if err != nil {
		return err
	}
	if err := binary.Write(to, binary.BigEndian, uint32(len(text))); err != nil {
		return err
	}
	if _, err := to.Write(text); err != nil {
		return err
	}
	for _, f := range files {
		if err := packFile(to, filesOf(document), f); err != nil {
			return err
		}
	}
	return nil
}

func packFile(to io.Writer, dir string, f File) error {
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, h), io.LimitReader(in, f.Size+1))
	switch got := hex.EncodeToString(h.Sum(nil)); {
	case err != nil:
		return err
	case n != f.Size:
		return wrong(f.Path, "has not the %d bytes of the list", f.Size)
	case got != f.SHA256:
		return wrong(f.Path, "has the SHA-256 %s, not %s: it was changed", got, f.SHA256)
	}
	return nil
}

// Unpack reads what Pack has written into a folder that appears whole or not at all, named by its document,
// such as <folder>/plugin.json; the manifest of an installed bundle comes after its folder. The document must
// have the given SHA-256, and every file that of the document; the folder has nothing else.
func Unpack(from io.Reader, document, sum string) error {
	var size uint32
	if err := binary.Read(from, binary.BigEndian, &size); err != nil {
		return err
	}
	if size > maxDocument {
		return wrong(filepath.Base(document), "has more than %d bytes", maxDocument)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return err
	}
	if got := digest.SHA256Hex(text); got != sum {
		return wrong(filepath.Base(document), "has the SHA-256 %s, not %s", got, sum)
	}
	files, err := listed(filepath.Base(document), text)
	if err != nil {
		return err
	}
	dir := filesOf(document)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), file.TempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, f := range files {
		if err := writeFile(io.LimitReader(from, f.Size), temp, f); err != nil {
			return err
		}
	}
	if n, err := from.Read(make([]byte, 1)); n > 0 || err == nil {
		return wrong(filepath.Base(document), "is followed by more than its files")
	}
	installed := dir != filepath.Dir(document)
	if !installed {
		err := os.WriteFile(filepath.Join(temp, filepath.Base(document)), text, 0o444)
		if err != nil {
			return err
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	err = os.Rename(temp, dir)
	switch _, exists := os.Stat(document); {
	case err != nil && exists == nil:
		return nil // another process was first
	case installed && err != nil:
		if err := verify(dir, files); err != nil { // it has no manifest yet
			return err
		}
	case err != nil || !installed:
		return err
	}
	return file.Write(document, text, 0o500)
}

// listed are the files of a document by its name.
func listed(name string, text []byte) ([]File, error) {
	if name == ListFile {
		list, err := parseList(text)
		if err != nil {
			return nil, err
		}
		return list.Files, nil
	}
	m, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return m.Files, nil
}

// TeamName is the name of the stream of a bundle or layer with a hash among the files of a team.
func TeamName(sum string) string { return "plugins/bundles/" + sum + ".pack" }

// Receive unpacks a bundle and its layers out of a team's files, unless they are there: manifest is the path
// of its installed one, text what that is. Received is called with the size of each stream. The error wraps
// fs.ErrNotExist where a stream is missing, and is an [*Error] where it is not what its name says.
func Receive(from fs.FS, text []byte, manifest string, received func(size int64)) error {
	m, err := Parse(text)
	if err != nil {
		return err
	}
	place := PlaceIn(filepath.Dir(manifest))
	for _, l := range m.Layers {
		list := filepath.Join(place.Layer(l), ListFile)
		if err := receive(from, l.SHA256, list, list, received); err != nil {
			return err
		}
	}
	sum := digest.SHA256Hex(text)
	return receive(from, sum, manifest, place.Files(sum), received)
}

// receive unpacks a stream unless at is there.
func receive(from fs.FS, sum, document, at string, received func(size int64)) error {
	if _, err := os.Stat(at); err == nil {
		return nil
	}
	f, err := from.Open(TeamName(sum))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = Unpack(f, document, sum)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = wrong(TeamName(sum), "ends too early")
	}
	if err != nil {
		return under(TeamName(sum), err)
	}
	received(info.Size())
	return nil
}
