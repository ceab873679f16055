package dsse

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/assay-run/assay/host/base/file"
)

// blockEncrypted is a private key in PKCS#8 under PBES2 (RFC 8018): the container that openssl writes too.
const blockEncrypted = "ENCRYPTED PRIVATE KEY"

const (
	// iterations is how often PBKDF2 hashes: a few tenths of a second for each passphrase that is tried.
	iterations = 600_000
	// maxIterations bounds what a file may ask for.
	maxIterations = 20_000_000
	saltSize      = 16
	aesKeySize    = 32
)

// The two variables from which every program takes the passphrase of an encrypted key.
const (
	PassphraseFileVariable = "SERVICE_KEY_PASSPHRASE_FILE"
	PassphraseVariable     = "SERVICE_KEY_PASSPHRASE"
)

var (
	oidPBES2      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	oidHMACSHA256 = asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 9}
	oidAES256CBC  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}
)

type encryptedInfo struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2Params struct {
	Derivation pkix.AlgorithmIdentifier
	Scheme     pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

// Unlock returns the passphrase of an encrypted key file.
type Unlock func(path string) ([]byte, error)

// UnlockFrom takes the passphrase from a file, which only its owner may read; without a name from the file
// or the text of the variables of this package. It is for one passphrase over all keys of a process.
func UnlockFrom(name string, env func(string) (string, bool)) Unlock {
	return func(string) ([]byte, error) {
		from := name
		if from == "" {
			from, _ = env(PassphraseFileVariable)
		}
		if from != "" {
			text, mode, err := slurp(from)
			if err != nil {
				return nil, err
			}
			if err := private(from, mode); err != nil {
				return nil, err
			}
			return []byte(strings.TrimRight(string(text), "\r\n")), nil
		}
		if text, ok := env(PassphraseVariable); ok && text != "" {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("it is encrypted: name a file with its passphrase by %s, or set %s",
			PassphraseFileVariable, PassphraseVariable)
	}
}

// EncryptedPEM is a private key as text, encrypted with a passphrase: PKCS#8 with PBES2, PBKDF2 with
// HMAC-SHA-256 and AES-256-CBC.
func EncryptedPEM(key crypto.Signer, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, errors.New("the passphrase is empty")
	}
	if err := exportable(key); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	salt, iv := make([]byte, saltSize), make([]byte, aes.BlockSize)
	_, _ = rand.Read(salt) // never fails
	_, _ = rand.Read(iv)
	derivation, err := asn1.Marshal(pbkdf2Params{Salt: salt, Iterations: iterations,
		PRF: pkix.AlgorithmIdentifier{Algorithm: oidHMACSHA256, Parameters: asn1.NullRawValue}})
	if err != nil {
		return nil, err
	}
	ivText, err := asn1.Marshal(iv)
	if err != nil {
		return nil, err
	}
	params, err := asn1.Marshal(pbes2Params{
		Derivation: pkix.AlgorithmIdentifier{Algorithm: oidPBKDF2,
			Parameters: asn1.RawValue{FullBytes: derivation}},
		Scheme: pkix.AlgorithmIdentifier{Algorithm: oidAES256CBC,
			Parameters: asn1.RawValue{FullBytes: ivText}},
	})
	if err != nil {
		return nil, err
	}
	block, err := cipherOf(passphrase, salt, iterations)
	if err != nil {
		return nil, err
	}
	pad := aes.BlockSize - len(der)%aes.BlockSize
	data := append(der, bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
	out, err := asn1.Marshal(encryptedInfo{Data: data, Algorithm: pkix.AlgorithmIdentifier{
		Algorithm: oidPBES2, Parameters: asn1.RawValue{FullBytes: params}}})
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockEncrypted, Bytes: out}), nil
}

func cipherOf(passphrase, salt []byte, n int) (cipher.Block, error) {
	key, err := pbkdf2.Key(sha256.New, string(passphrase), salt, n, aesKeySize)
	if err != nil {
		return nil, err
	}
	return aes.NewCipher(key)
}

// Encrypted reports whether a text is an encrypted private key.
func Encrypted(text []byte) bool {
	_, err := only(text, blockEncrypted)
	return err == nil
}

// ParseEncrypted reads the text of an encrypted private key. Its errors quote neither text nor passphrase.
func ParseEncrypted(text, passphrase []byte) (crypto.Signer, error) {
	der, err := only(text, blockEncrypted)
	if err != nil {
		return nil, err
	}
	salt, iv, data, n, err := openInfo(der)
	if err != nil {
		return nil, err
	}
	block, err := cipherOf(passphrase, salt, n)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, data)
	wrong := errors.New("private key: the passphrase is not the one that it was encrypted with")
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > aes.BlockSize ||
		!bytes.Equal(plain[len(plain)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, wrong
	}
	der = plain[:len(plain)-pad]
	key, err := ParsePrivate(pem.EncodeToMemory(&pem.Block{Type: blockPrivate, Bytes: der}))
	if err != nil {
		return nil, wrong
	}
	return key, nil
}

// openInfo takes the container apart.
func openInfo(der []byte) (salt, iv, data []byte, n int, err error) {
	bad := errors.New("private key: not in PKCS#8 with PBES2, PBKDF2 by HMAC-SHA-256 and AES-256-CBC: " +
		"convert it with openssl pkcs8 -topk8 -v2 aes-256-cbc -v2prf hmacWithSHA256")
	var info encryptedInfo
	var params pbes2Params
	var derivation pbkdf2Params
	if !exact(der, &info) || !info.Algorithm.Algorithm.Equal(oidPBES2) ||
		!exact(info.Algorithm.Parameters.FullBytes, &params) ||
		!params.Derivation.Algorithm.Equal(oidPBKDF2) || !params.Scheme.Algorithm.Equal(oidAES256CBC) ||
		!exact(params.Derivation.Parameters.FullBytes, &derivation) ||
		!exact(params.Scheme.Parameters.FullBytes, &iv) || !derivation.PRF.Algorithm.Equal(oidHMACSHA256) {
		return nil, nil, nil, 0, bad
	}
	if len(iv) != aes.BlockSize || len(info.Data) == 0 || len(info.Data)%aes.BlockSize != 0 ||
		derivation.Iterations < 1 || derivation.Iterations > maxIterations || len(derivation.Salt) == 0 ||
		derivation.KeyLength != 0 && derivation.KeyLength != aesKeySize {
		return nil, nil, nil, 0, bad
	}
	return derivation.Salt, iv, info.Data, derivation.Iterations, nil
}

func exact(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}

// WriteEncrypted is [WriteKey] with a passphrase.
func WriteEncrypted(path string, key crypto.Signer, passphrase []byte) error {
	text, err := EncryptedPEM(key, passphrase)
	if err != nil {
		return err
	}
	return writePair(path, text, key)
}

// Encrypt replaces a private key file by its encrypted form, as a whole: after a crash the file is the old
// one or the new one. A file that is encrypted already gets another passphrase.
func Encrypt(path string, passphrase []byte, unlock ...Unlock) error {
	key, err := ReadKey(path, unlock...)
	if err != nil {
		return err
	}
	text, err := EncryptedPEM(key, passphrase)
	if err != nil {
		return err
	}
	return file.Write(path, text, 0o600)
}

// private refuses a file that others may read or write.
func private(path string, mode os.FileMode) error {
	if checksModes && mode.Perm()&0o077 != 0 {
		return fmt.Errorf("%s: mode %04o lets others read it, 0600 is needed", path, mode.Perm())
	}
	return nil
}
