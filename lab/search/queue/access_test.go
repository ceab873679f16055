package queue

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
)

// An NKEY of the list comes in, no other one does.
func TestNKeys(t *testing.T) {
	dir := t.TempDir()
	var seeds []string
	var public string
	for _, name := range []string{"mine", "other"} {
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := pair.Seed()
		if err != nil {
			t.Fatal(err)
		}
		if name == "mine" {
			if public, err = pair.PublicKey(); err != nil {
				t.Fatal(err)
			}
		}
		seeds = append(seeds, put(t, filepath.Join(dir, name), string(seed)))
	}
	list := put(t, filepath.Join(dir, "list"), "# workers\n"+public+" # mine\n")
	s, err := Serve(ServeOptions{Listen: "127.0.0.1:0", Dir: t.TempDir(), NKeysFile: list})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := Connect(t.Context(), s.URL(), ConnectOptions{NKeyFile: seeds[0]})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := Connect(t.Context(), s.URL(), ConnectOptions{NKeyFile: seeds[1]}); err == nil {
		t.Error("a stranger has come in")
	}
	if _, err := Connect(t.Context(), s.URL(), ConnectOptions{NKeyFile: list}); err == nil ||
		strings.Contains(err.Error(), public) {
		t.Error(err)
	}
}

// Over TLS both sides show certificates where the server asks for them.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	s, err := Serve(ServeOptions{Listen: "127.0.0.1:0", Dir: t.TempDir(), CA: cert, Cert: cert, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url := strings.Replace(s.URL(), "nats://", "tls://", 1)
	l, err := Connect(t.Context(), url, ConnectOptions{CA: cert, Cert: cert, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for name, o := range map[string]ConnectOptions{
		"no certificate": {CA: cert}, "no authority": {Cert: cert, Key: key},
	} {
		if _, err := Connect(t.Context(), url, o); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate makes one for loopback that is its own authority.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private := newKey(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "queue"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return put(t, filepath.Join(dir, "cert.pem"),
			string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		put(t, filepath.Join(dir, "key.pem"),
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}
