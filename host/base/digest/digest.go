package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// SHA256Hex is the SHA-256 of b in lower-case hex.
func SHA256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// File is the SHA-256 of a file's content in lower-case hex.
func File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Of is the SHA-256 of the canonical JSON of v, in lower-case hex.
func Of(v any) (string, error) {
	b, err := JCS(v)
	if err != nil {
		return "", err
	}
	return SHA256Hex(b), nil
}
