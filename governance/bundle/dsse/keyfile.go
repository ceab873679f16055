package dsse

import (
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/assay-run/assay/host/base/file"
)

// maxKeyFile bounds what is read of a key file, in bytes.
const maxKeyFile = 64 << 10

// WriteKey keeps a private key in a new file that only its owner may read, and its
// public key beside it under the same name with the extension .pub instead. It never
// overwrites: if the file exists, the error is fs.ErrExist. The files are on disk when
// it returns.
func WriteKey(path string, key crypto.Signer) error {
	private, err := PrivatePEM(key)
	if err != nil {
		return err
	}
	public, err := PublicPEM(key.Public())
	if err != nil {
		return err
	}
	if err := file.WriteNew(path, private, 0o600); err != nil {
		return err
	}
	if err := file.WriteNew(PublicPath(path), public, 0o644); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// PublicPath is where the public key of a private key file is.
func PublicPath(path string) string { return path[:len(path)-len(filepath.Ext(path))] + ".pub" }

// ReadKey reads a private key file. A file that others may read or write is refused,
// and so is anything that is not a regular file.
func ReadKey(path string) (crypto.Signer, error) {
	text, mode, err := slurp(path)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: mode %04o lets others in, 0600 is needed", path, mode.Perm())
	}
	key, err := ParsePrivate(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// ReadP256 is ReadKey for keys that sign statements.
func ReadP256(path string) (*ecdsa.PrivateKey, error) {
	key, err := ReadKey(path)
	if err != nil {
		return nil, err
	}
	p256, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: not a P-256 key", path)
	}
	return p256, nil
}

// ReadPublic reads a public key file.
func ReadPublic(path string) (crypto.PublicKey, error) {
	text, _, err := slurp(path)
	if err != nil {
		return nil, err
	}
	pub, err := ParsePublic(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return pub, nil
}

// slurp reads a small regular file and tells the mode of the very file that was read.
func slurp(path string) ([]byte, fs.FileMode, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, 0, err
	} else if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(text) > maxKeyFile {
		err = fmt.Errorf("%s: larger than a key", path)
	}
	return text, info.Mode(), err
}
