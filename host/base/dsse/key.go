package dsse

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
)

const (
	blockPrivate = "PRIVATE KEY"
	blockPublic  = "PUBLIC KEY"
)

// Generate makes a new P-256 key from the system's randomness.
func Generate() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// KeyID returns the name of a public key: the SHA-256 of its PKIX DER form, in hex.
func KeyID(pub crypto.PublicKey) (string, error) {
	der, err := PublicDER(pub)
	if err != nil {
		return "", err
	}
	return digest.SHA256Hex(der), nil
}

// PublicDER returns the PKIX DER form of a public key, P-256 or Ed25519.
func PublicDER(pub crypto.PublicKey) ([]byte, error) {
	if err := supported(pub); err != nil {
		return nil, err
	}
	return x509.MarshalPKIXPublicKey(pub)
}

// PublicPEM returns a public key as text.
func PublicPEM(pub crypto.PublicKey) ([]byte, error) {
	der, err := PublicDER(pub)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPublic, Bytes: der}), nil
}

// ParsePublic reads the text of one public key, P-256 or Ed25519, and nothing besides.
func ParsePublic(text []byte) (crypto.PublicKey, error) {
	der, err := only(text, blockPublic)
	if err != nil {
		return nil, err
	}
	pub, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	// Names are hashes of the DER form: a second spelling would be a second name.
	again, err := PublicDER(pub)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, der) {
		return nil, errors.New("public key: not in its DER form")
	}
	return pub, nil
}

// ParseP256 reads the text of one public P-256 key.
func ParseP256(text []byte) (*ecdsa.PublicKey, error) {
	pub, err := ParsePublic(text)
	if err != nil {
		return nil, err
	}
	key, ok := pub.(*ecdsa.PublicKey)
	if !ok {
		return nil, errors.New("public key: not a P-256 key")
	}
	return key, nil
}

// PrivatePEM returns a private key as text, in PKCS#8.
func PrivatePEM(key crypto.Signer) ([]byte, error) {
	if err := exportable(key); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPrivate, Bytes: der}), nil
}

// ParsePrivate reads the text of one private key in PKCS#8: *ecdsa.PrivateKey on P-256
// or ed25519.PrivateKey. Its errors never quote the text.
func ParsePrivate(text []byte) (crypto.Signer, error) {
	der, err := only(text, blockPrivate)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("private key: not in PKCS#8")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("private key: neither P-256 nor Ed25519")
	}
	if err := supported(signer.Public()); err != nil {
		return nil, err
	}
	return signer, nil
}

// only returns the content of the one PEM block of a text.
func only(text []byte, kind string) ([]byte, error) {
	text = bytes.TrimSpace(text)
	block, rest := pem.Decode(text)
	if block == nil || block.Type != kind || len(block.Headers) > 0 || len(rest) > 0 ||
		!bytes.HasPrefix(text, []byte("-----BEGIN")) {
		return nil, fmt.Errorf("not one PEM block of type %s", kind)
	}
	return block.Bytes, nil
}

// exportable reports why a key cannot be written down.
func exportable(key crypto.Signer) error {
	if held, ok := key.(*agentKey); ok {
		return fmt.Errorf("%s: the agent does not export its keys", held.place)
	}
	return supported(key.Public())
}

func supported(pub crypto.PublicKey) error {
	switch pub := pub.(type) {
	case *ecdsa.PublicKey:
		if pub != nil && pub.Curve == elliptic.P256() {
			return nil
		}
	case ed25519.PublicKey:
		if len(pub) == ed25519.PublicKeySize {
			return nil
		}
	}
	return errors.New("key: neither P-256 nor Ed25519")
}

// maxKeyFile bounds what is read of a key file, in bytes.
const maxKeyFile = 64 << 10

// WriteKey keeps a private key in a new file that only its owner may read, and its
// public key beside it under the same name with the extension .pub instead. It never
// overwrites: if the file exists, the error is fs.ErrExist. The files are on disk when
// it returns.
func WriteKey(path string, key crypto.Signer) error {
	text, err := PrivatePEM(key)
	if err != nil {
		return err
	}
	return writePair(path, text, key)
}

func writePair(path string, text []byte, key crypto.Signer) error {
	public, err := PublicPEM(key.Public())
	if err != nil {
		return err
	}
	if err := file.WriteNew(path, text, 0o600); err != nil {
		return err
	}
	if err := file.WriteNew(PublicPath(path), public, 0o644); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// WritePublic writes the public key of a private key file beside it, unless there is one.
func WritePublic(path string, key crypto.Signer) error {
	public, err := PublicPEM(key.Public())
	if err != nil {
		return err
	}
	if err := file.WriteNew(PublicPath(path), public, 0o644); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// PublicPath returns where the public key of a private key file is.
func PublicPath(path string) string { return path[:len(path)-len(filepath.Ext(path))] + ".pub" }

// checksModes reports whether this system has modes that keep others out.
const checksModes = runtime.GOOS != "windows"

// ReadKey reads a private key file. A file that others may read or write is refused,
// and so is anything that is not a regular file. An encrypted one needs an unlock. The path, and
// the file, may say that an agent holds the key: see [AgentPrefix].
func ReadKey(path string, unlock ...Unlock) (crypto.Signer, error) {
	if place, ok := AgentPlace(path); ok {
		return openAgent(place)
	}
	text, mode, err := slurp(path)
	if err != nil {
		return nil, err
	}
	if err := private(path, mode); err != nil {
		return nil, err
	}
	key, err := parseFile(path, text, unlock)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

func parseFile(path string, text []byte, unlock []Unlock) (crypto.Signer, error) {
	if place, ok := AgentPlace(string(text)); ok {
		return openAgent(place)
	}
	if !Encrypted(text) {
		return ParsePrivate(text)
	}
	if len(unlock) == 0 || unlock[0] == nil {
		return nil, errors.New("the key is encrypted, and nothing here can ask for its passphrase")
	}
	passphrase, err := unlock[0](path)
	if err != nil {
		return nil, err
	}
	return ParseEncrypted(text, passphrase)
}

// ReadP256 is ReadKey for keys that sign statements.
func ReadP256(path string, unlock ...Unlock) (crypto.Signer, error) {
	key, err := ReadKey(path, unlock...)
	if err != nil {
		return nil, err
	}
	if _, ok := key.Public().(*ecdsa.PublicKey); !ok {
		return nil, fmt.Errorf("%s: not a P-256 key", path)
	}
	return key, nil
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

// slurp reads a small regular file and returns the mode of the very file that was read.
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
