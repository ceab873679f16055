package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
)

// MostSourceBytes is what the sources of a program have at most that are kept.
const MostSourceBytes = 4 << 20

// SourcesFolder is the folder of a state directory with the sources that programs were built from.
const SourcesFolder = "sources"

// ErrSourcesChanged reports that kept sources do not have the hash that names them.
var ErrSourcesChanged = errors.New("they are not what was kept")

// keepSources copies the files that a program was built from into a state directory, under their
// hash. Larger ones than MostSourceBytes, and what was edited since it was hashed, are not kept.
func keepSources(stateDir, dir string, list []fileHash, sum string) error {
	root := filepath.Join(stateDir, SourcesFolder)
	place := filepath.Join(root, sum)
	if _, err := os.Stat(place); err == nil {
		return nil
	}
	var size int64
	for _, f := range list {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return err
		}
		if size += info.Size(); size > MostSourceBytes {
			return nil
		}
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(root, file.TempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, f := range list {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return err
		}
		if digest.SHA256Hex(text) != f.SHA256 {
			return nil
		}
		to := filepath.Join(temp, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
	}
	err = os.Rename(temp, place)
	if _, unkept := os.Stat(place); unkept == nil {
		return nil // another lab was first
	}
	return err
}

// ReadSources reads the kept sources with a hash, by slash separated path. The error is
// fs.ErrNotExist where they were not kept, ErrSourcesChanged where the files have another hash.
func ReadSources(stateDir, sum string) (map[string][]byte, error) {
	if !digest.IsSHA256(sum) {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(filepath.Join(stateDir, SourcesFolder, sum))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, list, size := map[string][]byte{}, []fileHash{}, int64(0)
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); !d.Type().IsRegular() || size > MostSourceBytes {
			return ErrSourcesChanged
		}
		if files[path], err = root.ReadFile(path); err != nil {
			return err
		}
		list = append(list, fileHash{path, digest.SHA256Hex(files[path])})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found, err := hashList(list); err != nil || found != sum {
		return nil, errors.Join(err, ErrSourcesChanged)
	}
	return files, nil
}
