package dsse_test

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest"
)

// place is where an agent holds a key.
func place(t *testing.T, key crypto.Signer) string {
	t.Helper()
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return dsse.AgentPrefix + ssh.FingerprintSHA256(public)
}

// signs tries both kinds of keys that an agent holds, through a place and through a file.
func signs(t *testing.T, p256 *ecdsa.PrivateKey, log ed25519.PrivateKey) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rita.key")
	held, err := dsse.AgentKey(strings.TrimPrefix(place(t, p256), dsse.AgentPrefix))
	if err != nil {
		t.Fatal(err)
	}
	if err := dsse.WriteAgent(path, held); err != nil {
		t.Fatal(err)
	}
	if err := dsse.WriteAgent(path, held); !errors.Is(err, fs.ErrExist) {
		t.Errorf("overwritten: %v", err)
	}
	if public, err := dsse.ReadPublic(dsse.PublicPath(path)); err != nil || !p256.PublicKey.Equal(public) {
		t.Errorf("%v %v", public, err)
	}
	for _, from := range []string{path, place(t, p256)} {
		key, err := dsse.ReadP256(from)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // the numbers of a signature have leading zeros now and then
			env, err := dsse.Sign("t", []byte("p"), key)
			if err != nil || len(decode(t, env).Verify(&p256.PublicKey)) != 1 {
				t.Fatalf("%s: %v", from, err)
			}
		}
		sum := sha256.Sum256([]byte("p"))
		if _, err := key.Sign(rand.Reader, sum[:], crypto.SHA256); err == nil {
			t.Error("an agent has signed a digest")
		}
		if _, err := dsse.PrivatePEM(key); err == nil {
			t.Error("an agent has given a key away")
		}
	}
	if err := dsse.Encrypt(path, []byte("secret")); err == nil ||
		!strings.Contains(err.Error(), "does not export") {
		t.Errorf("encrypted: %v", err)
	}
	key, err := dsse.ReadKey(place(t, log))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := key.Sign(nil, []byte("text"), crypto.Hash(0))
	if err != nil || !ed25519.Verify(log.Public().(ed25519.PublicKey), []byte("text"), sig) {
		t.Errorf("Ed25519: %v", err)
	}
	if _, err := dsse.ReadP256(place(t, log)); err == nil {
		t.Error("an Ed25519 key signs statements")
	}
}

func keyring(t *testing.T, keys ...any) agent.Agent {
	t.Helper()
	ring := agent.NewKeyring()
	for _, key := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: key, Comment: "TEST ONLY"}); err != nil {
			t.Fatal(err)
		}
	}
	return ring
}

func agentKeys() (*ecdsa.PrivateKey, ed25519.PrivateKey) {
	p256, _ := dsse.Generate()
	_, log, _ := ed25519.GenerateKey(rand.Reader)
	return p256, log
}

func TestAgent(t *testing.T) {
	p256, log := agentKeys()
	hosttest.Agent(t, keyring(t, p256, log))
	signs(t, p256, log)
}

// wrong is an agent whose signatures are of something else.
type wrong struct{ agent.Agent }

func (w wrong) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return w.Agent.Sign(key, append(data, 'x'))
}

func TestAgentThatDoesNotSign(t *testing.T) {
	p256, log := agentKeys()
	refused := func(what string, err error, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, without %q", what, err, part)
			}
		}
	}
	at := place(t, p256)
	read := func(path string) error { _, err := dsse.ReadKey(path); return err }
	t.Setenv("SSH_AUTH_SOCK", "")
	refused("no variable", read(at), at, "SSH_AUTH_SOCK is not set")
	for _, bad := range []string{"agent:", "agent:MD5:ab", "agent:SHA256:short", at + "=", at + " "} {
		refused(bad, read(bad), "ssh-add -l shows")
	}
	missing := filepath.Join(t.TempDir(), "none")
	t.Setenv("SSH_AUTH_SOCK", missing)
	err := read(at)
	refused("no agent", err, at, missing)
	if errors.Is(err, fs.ErrNotExist) {
		t.Error("a missing agent is a missing file")
	}

	weak, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	old, _ := rsa.GenerateKey(rand.Reader, 2048)
	ring := keyring(t, log, weak, old)
	hosttest.Agent(t, ring)
	refused("another key", read(at), "does not have this key", strings.TrimPrefix(place(t, log), "agent:"))
	for _, key := range []crypto.Signer{weak, old} {
		refused("another kind", read(place(t, key)), "sign here", ssh.KeyAlgoED25519)
	}
	key, err := dsse.ReadKey(place(t, log))
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Lock([]byte("pass")); err != nil {
		t.Fatal(err)
	}
	refused("locked", read(at), "it is locked")
	_, err = key.Sign(nil, []byte("x"), crypto.Hash(0))
	refused("locked later", err, "does not sign", place(t, log))

	hosttest.Agent(t, wrong{keyring(t, p256)})
	if key, err = dsse.ReadKey(at); err != nil {
		t.Fatal(err)
	}
	_, err = dsse.Sign("t", []byte("p"), key)
	refused("a signature of something else", err, "not a signature of this key")
}

// openSSH starts the agent of OpenSSH, where it is installed.
func openSSH(t *testing.T, args ...string) agent.ExtendedAgent {
	t.Helper()
	program, err := exec.LookPath("ssh-agent")
	if err != nil {
		t.Skip("ssh-agent is not installed")
	}
	socket := filepath.Join(t.TempDir(), "s")
	t.Setenv("SSH_AUTH_SOCK", socket)
	cmd := exec.Command(program, append(args, "-D", "-a", socket)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var conn net.Conn
	for range 200 {
		if conn, err = net.Dial("unix", socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return agent.NewClient(conn)
}

// TestOpenSSHAgent is the same with the agent of OpenSSH.
func TestOpenSSHAgent(t *testing.T) {
	real := openSSH(t)
	p256, log := agentKeys()
	for _, key := range []any{p256, log} {
		if err := real.Add(agent.AddedKey{PrivateKey: key, Comment: "TEST ONLY"}); err != nil {
			t.Fatal(err)
		}
	}
	signs(t, p256, log)
	if err := real.Lock([]byte("pass")); err != nil {
		t.Fatal(err)
	}
	if _, err := dsse.ReadKey(place(t, p256)); err == nil || !strings.Contains(err.Error(), "it is locked") {
		t.Errorf("locked: %v", err)
	}
}

// TestPKCS11 is the same with the P-256 key on a PKCS#11 token, that of SoftHSM where it is installed; its
// module is ASSAY_SOFTHSM, or that of Debian. The Ed25519 key is in the agent: OpenSSH 9 shows none of a token.
func TestPKCS11(t *testing.T) {
	module := cmp.Or(os.Getenv("ASSAY_SOFTHSM"), "/usr/lib/softhsm/libsofthsm2.so")
	module, err := filepath.EvalSymlinks(module) // the agent compares what the name leads to
	if err != nil {
		t.Skip("SoftHSM is not installed")
	}
	dir := t.TempDir()
	path := func(name, text string, mode fs.FileMode) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return at
	}
	t.Setenv("SOFTHSM2_CONF", path("conf", "directories.tokendir = "+dir+"\n", 0o600))
	t.Setenv("SSH_ASKPASS", path("pin", "#!/bin/sh\necho 87654321\n", 0o700))
	t.Setenv("SSH_ASKPASS_REQUIRE", "force")
	p256, log := agentKeys()
	text, err := dsse.PrivatePEM(p256)
	if err != nil {
		t.Fatal(err)
	}
	real := openSSH(t, "-P", filepath.Dir(module)+"/*")
	if err := real.Add(agent.AddedKey{PrivateKey: log, Comment: "TEST ONLY"}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"softhsm2-util", "--module", module, "--init-token", "--free", "--label", "t", "--so-pin", "12345678",
			"--pin", "87654321"},
		{"softhsm2-util", "--module", module, "--import", path("key", string(text), 0o600), "--token", "t",
			"--label", "statement", "--id", "01", "--pin", "87654321"},
		{"ssh-add", "-s", module},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	signs(t, p256, log)
}

// FuzzAgent: whatever an agent answers, a key of it is refused or signs.
func FuzzAgent(f *testing.F) {
	p256, _ := dsse.Generate()
	public, _ := ssh.NewPublicKey(p256.Public())
	at := dsse.AgentPrefix + ssh.FingerprintSHA256(public)
	f.Add(ssh.Marshal(struct {
		Count uint32 `sshtype:"12"`
		Blob  []byte
		Note  string
	}{1, public.Marshal(), "c"}))
	f.Add([]byte{5})
	f.Fuzz(func(t *testing.T, answer []byte) {
		listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Skip(err)
		}
		defer listener.Close()
		t.Setenv("SSH_AUTH_SOCK", listener.Addr().String())
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				n := len(answer)
				_, _ = conn.Write(append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, answer...))
				conn.Close()
			}
		}()
		key, err := dsse.ReadKey(at)
		if err != nil {
			return
		}
		if _, err := dsse.Sign("t", []byte("p"), key); err == nil {
			t.Error("a signature out of nothing")
		}
	})
}
