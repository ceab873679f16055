package dsse

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// AgentPrefix begins the place of a key that an SSH agent holds: agent:SHA256:... with the
// fingerprint that ssh-add -l shows. It takes the place of a path, or is all that a key file says.
const AgentPrefix = "agent:"

// agentVariable names the socket of the agent.
const agentVariable = "SSH_AUTH_SOCK"

// agentPatience is how long an agent may take: a person may have to touch a token.
const agentPatience = time.Minute

// AgentPlace is the place of a key that a text names, and whether it is one: of a path itself, or of
// what a key file says.
func AgentPlace(text string) (place string, ok bool) {
	place = strings.TrimSuffix(text, "\n")
	return place, strings.HasPrefix(place, AgentPrefix)
}

// agentKey is a key that an agent holds. It signs messages, not digests: the agent hashes itself. Each
// signature is a connection of its own, so that an agent may be started again.
type agentKey struct {
	place, socket string
	key           ssh.PublicKey
	public        crypto.PublicKey
}

// openAgent finds the key of a place in the agent.
func openAgent(place string) (crypto.Signer, error) {
	k := &agentKey{place: place, socket: os.Getenv(agentVariable)}
	want := strings.TrimPrefix(place, AgentPrefix)
	sum, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimPrefix(want, "SHA256:"))
	if !strings.HasPrefix(want, "SHA256:") || err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("%s: write agent:SHA256:... with a fingerprint as ssh-add -l shows it", place)
	}
	if k.socket == "" {
		return nil, fmt.Errorf("%s: %s is not set: start an agent (eval $(ssh-agent)), or name its socket",
			place, agentVariable)
	}
	err = k.ask(func(a agent.ExtendedAgent) error {
		list, err := a.List()
		if err != nil {
			return fmt.Errorf("the agent does not list its keys: %w", err)
		}
		var others []string
		for _, one := range list {
			if ssh.FingerprintSHA256(one) == want {
				k.key, err = ssh.ParsePublicKey(one.Blob)
				return err
			}
			others = append(others, ssh.FingerprintSHA256(one))
		}
		if len(others) == 0 {
			return errors.New("the agent shows no keys: it is locked (ssh-add -X), or none was added " +
				"(ssh-add FILE)")
		}
		return fmt.Errorf("the agent does not have this key (ssh-add FILE); it has %s",
			strings.Join(others, ", "))
	})
	if err != nil {
		return nil, err
	}
	if held, ok := k.key.(ssh.CryptoPublicKey); ok {
		k.public = held.CryptoPublicKey()
	}
	if err := supported(k.public); err != nil || k.key.Type() != k.algorithm() {
		return nil, fmt.Errorf("%s: it is of the type %s: %s and %s sign here", place, k.key.Type(),
			ssh.KeyAlgoECDSA256, ssh.KeyAlgoED25519)
	}
	return k, nil
}

// ask talks to the agent.
func (k *agentKey) ask(do func(agent.ExtendedAgent) error) error {
	conn, err := net.DialTimeout("unix", k.socket, agentPatience)
	if err != nil {
		// Not wrapped: that the socket is missing does not mean that a key file is.
		return fmt.Errorf("%s: no agent answers at %s (%s): %v", k.place, k.socket, agentVariable, err)
	}
	defer conn.Close()
	if err = conn.SetDeadline(time.Now().Add(agentPatience)); err == nil {
		err = do(agent.NewClient(conn))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k.place, err)
	}
	return nil
}

// algorithm is how the key signs.
func (k *agentKey) algorithm() string {
	if _, ok := k.public.(*ecdsa.PublicKey); ok {
		return ssh.KeyAlgoECDSA256
	}
	return ssh.KeyAlgoED25519
}

// Public implements [crypto.Signer].
func (k *agentKey) Public() crypto.PublicKey { return k.public }

// Sign implements [crypto.Signer] for Ed25519, whose digest is the message.
func (k *agentKey) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	if opts.HashFunc() != 0 {
		return nil, fmt.Errorf("%s: an agent signs messages, not digests", k.place)
	}
	return k.SignMessage(random, digest, opts)
}

// SignMessage implements [crypto.MessageSigner]: ECDSA over the SHA-256 of the message, Ed25519 over the
// message. What the agent gives is held against the public key.
func (k *agentKey) SignMessage(_ io.Reader, message []byte, opts crypto.SignerOpts) (sig []byte, err error) {
	hash := crypto.Hash(0)
	if k.algorithm() == ssh.KeyAlgoECDSA256 {
		hash = crypto.SHA256
	}
	if opts.HashFunc() != hash {
		return nil, fmt.Errorf("%s: a key of the type %s does not sign like this", k.place, k.key.Type())
	}
	var made *ssh.Signature
	err = k.ask(func(a agent.ExtendedAgent) error {
		if made, err = a.Sign(k.key, message); err != nil {
			return fmt.Errorf("the agent does not sign: it is locked, has lost the key, "+
				"or its user refused: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if sig, err = derOf(made); err != nil || !k.verifies(message, sig) {
		return nil, fmt.Errorf("%s: what the agent gave is not a signature of this key", k.place)
	}
	return sig, nil
}

func (k *agentKey) verifies(message, sig []byte) bool {
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(message)
		return ecdsa.VerifyASN1(public, sum[:], sig)
	case ed25519.PublicKey:
		return ed25519.Verify(public, message, sig)
	}
	return false
}

// derOf is a signature of an agent as Go writes it: of ECDSA in ASN.1, of Ed25519 as it is.
func derOf(s *ssh.Signature) ([]byte, error) {
	if s.Format != ssh.KeyAlgoECDSA256 {
		return s.Blob, nil
	}
	var pair struct{ R, S *big.Int }
	if err := ssh.Unmarshal(s.Blob, &pair); err != nil {
		return nil, err
	}
	if pair.R.Sign() <= 0 || pair.S.Sign() <= 0 {
		return nil, errors.New("a signature is of two numbers above 0")
	}
	return asn1.Marshal(pair)
}

// AgentKey is the key of a place in the agent that SSH_AUTH_SOCK names.
func AgentKey(place string) (crypto.Signer, error) {
	if !strings.HasPrefix(place, AgentPrefix) {
		place = AgentPrefix + place
	}
	return openAgent(place)
}

// WriteAgent keeps the place of a key that an agent holds as a key file, and the public key beside it, as
// [WriteKey] does.
func WriteAgent(path string, key crypto.Signer) error {
	held, ok := key.(*agentKey)
	if !ok {
		return fmt.Errorf("%s: the key is not held by an agent", path)
	}
	return writePair(path, []byte(held.place+"\n"), key)
}
