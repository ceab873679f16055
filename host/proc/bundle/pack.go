package bundle

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
)

// Pack writes a folder as one stream: how long its document is, as four bytes, the document, which is
// plugin.json of a bundle and layer.json of a layer, and the files that it lists, one behind the other.
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
		if err := packFile(to, filepath.Dir(document), f); err != nil {
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
	if n, err := io.Copy(to, io.LimitReader(in, f.Size+1)); err != nil || n != f.Size {
		return errors.Join(err, wrong(f.Path, "has not the %d bytes of the list", f.Size))
	}
	return nil
}

// Unpack reads what Pack has written into a folder that appears whole or not at all, named by its document,
// such as <folder>/plugin.json. The document must have the given SHA-256, and every file that of the
// document; the folder has nothing else.
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
	dir := filepath.Dir(document)
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
	if err := os.WriteFile(filepath.Join(temp, filepath.Base(document)), text, 0o444); err != nil {
		return err
	}
	err = os.Rename(temp, dir)
	if _, exists := os.Stat(document); err != nil && exists == nil {
		return nil // another process was first
	}
	return err
}

// listed are the files of a document by its name.
func listed(name string, text []byte) ([]File, error) {
	if name == ManifestFile {
		m, err := Parse(text)
		if err != nil {
			return nil, err
		}
		return m.Files, nil
	}
	list, err := parseList(text)
	if err != nil {
		return nil, err
	}
	return list.Files, nil
}
