package translog

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
)

// algCosignature is the signature type of Ed25519 cosignatures, C2SP tlog-cosignature.
const algCosignature = 4

// maxWitnessName is how long the name of a witness may be, in bytes.
const maxWitnessName = 128

// WitnessKey is the public key of a witness with its name. It is a note.Verifier of cosignature/v1.
type WitnessKey struct {
	Witness string
	Public  ed25519.PublicKey
}

// NewWitnessKey checks name and key. A name has neither blanks nor a plus, as in every signed note.
func NewWitnessKey(name string, public ed25519.PublicKey) (WitnessKey, error) {
	if name == "" || len(name) > maxWitnessName || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return r == '+' || unicode.IsSpace(r) }) {
		return WitnessKey{}, fmt.Errorf("%q is not the name of a witness: write one such as "+
			"witness.example.com, without blanks and +", name[:min(len(name), maxWitnessName)])
	}
	if len(public) != ed25519.PublicKeySize {
		return WitnessKey{}, errors.New("the key of a witness is not an Ed25519 key")
	}
	return WitnessKey{Witness: name, Public: public}, nil
}

// Name is that of the witness.
func (k WitnessKey) Name() string { return k.Witness }

// KeyHash is the first four bytes of SHA-256(name || "\n" || 0x04 || key).
func (k WitnessKey) KeyHash() uint32 {
	text := append([]byte(k.Witness), '\n', algCosignature)
	sum := sha256.Sum256(append(text, k.Public...))
	return binary.BigEndian.Uint32(sum[:])
}

// Verify reports whether sig is a timestamped cosignature of the text of a note.
func (k WitnessKey) Verify(msg, sig []byte) bool {
	at, rest, ok := cutTime(sig)
	return ok && ed25519.Verify(k.Public, cosigned(string(msg), at), rest)
}

// VKey is the verifier key: name+hash+key, without a line end.
func (k WitnessKey) VKey() string {
	return fmt.Sprintf("%s+%08x+%s", k.Witness, k.KeyHash(),
		Encode64(append([]byte{algCosignature}, k.Public...)))
}

// ParseWitnessKey reads the verifier key of a witness, whose signature type is 4.
func ParseWitnessKey(text string) (WitnessKey, error) {
	name, hash, raw, err := cutVKey(text)
	if err != nil {
		return WitnessKey{}, err
	}
	if len(raw) != 1+ed25519.PublicKeySize || raw[0] != algCosignature {
		return WitnessKey{}, errors.New("it is not the verifier key of a witness (signature type 4): " +
			"take the one that governance witness prints")
	}
	key, err := NewWitnessKey(name, raw[1:])
	if err != nil {
		return WitnessKey{}, err
	}
	if want := fmt.Sprintf("%08x", key.KeyHash()); hash != want {
		return WitnessKey{}, fmt.Errorf("the hash of the verifier key is %.16q, of its key it is %s", hash,
			want)
	}
	return key, nil
}

// cutVKey separates a verifier key. Only the first two pluses separate: base64 has its own.
func cutVKey(text string) (name, hash string, raw []byte, err error) {
	parts := strings.SplitN(strings.TrimSuffix(text, "\n"), "+", 3)
	if len(parts) != 3 {
		return "", "", nil, errors.New("a verifier key is name+hash+key")
	}
	if raw, err = Decode64(parts[2]); err != nil {
		return "", "", nil, fmt.Errorf("verifier key: %w", err)
	}
	return parts[0], parts[1], raw, nil
}

// timeSize is the length of the time before a cosignature.
const timeSize = 8

// cutTime separates the time of a cosignature, in seconds of Unix time, from its signature.
func cutTime(sig []byte) (at int64, rest []byte, ok bool) {
	if len(sig) != timeSize+ed25519.SignatureSize {
		return 0, nil, false
	}
	at = int64(binary.BigEndian.Uint64(sig))
	return at, sig[timeSize:], at >= 0
}

// cosigned is the message of a cosignature, C2SP tlog-cosignature.
func cosigned(text string, at int64) []byte {
	return []byte("cosignature/v1\ntime " + strconv.FormatInt(at, 10) + "\n" + text)
}

// Cosign is the signature line of a witness over a checkpoint. The signer is an Ed25519 key, in memory or
// elsewhere.
func Cosign(c Checkpoint, name string, signer crypto.Signer, at time.Time) (string, error) {
	public, ok := signer.Public().(ed25519.PublicKey)
	if !ok {
		return "", errors.New("a witness signs with an Ed25519 key")
	}
	key, err := NewWitnessKey(name, public)
	if err != nil {
		return "", err
	}
	sig, err := signer.Sign(nil, cosigned(c.Text(), at.Unix()), crypto.Hash(0))
	if err != nil {
		return "", err
	}
	line := binary.BigEndian.AppendUint32(nil, key.KeyHash())
	line = binary.BigEndian.AppendUint64(line, uint64(at.Unix()))
	return sigPrefix + name + " " + Encode64(append(line, sig...)) + "\n", nil
}

// sigPrefix begins every signature line of a note.
const sigPrefix = "— "

// Cosignature is one of a known witness.
type Cosignature struct {
	Key  WitnessKey
	At   time.Time // UTC, in whole seconds
	Line string    // with its line end
}

// Cosignatures are those that known witnesses have put under a note, each witness once. The error reports
// that the note cannot be read, or has a false signature under the name of one of them.
func Cosignatures(noteText string, keys ...WitnessKey) ([]Cosignature, error) {
	n, err := openNote(noteText, keys)
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Cosignature
	for _, s := range n.Sigs {
		i := slices.IndexFunc(keys, func(k WitnessKey) bool {
			return k.Witness == s.Name && k.KeyHash() == s.Hash
		})
		raw, err := Decode64(s.Base64)
		if err != nil || i < 0 || len(raw) < 4 {
			return nil, fmt.Errorf("the cosignature of %s is not in canonical base64", s.Name)
		}
		at, _, _ := cutTime(raw[4:]) // was verified
		list = append(list, Cosignature{Key: keys[i], At: time.Unix(at, 0).UTC(),
			Line: sigPrefix + s.Name + " " + s.Base64 + "\n"})
	}
	return list, nil
}

// Quorum is how many of which witnesses must have cosigned a checkpoint. The zero value asks for none.
type Quorum struct {
	Keys []WitnessKey
	Need int
}

// NewQuorum reads verifier keys. need 0 asks for all of them. The error reports a key that is given twice,
// also under two names, and a number that cannot be reached.
func NewQuorum(vkeys []string, need int) (Quorum, error) {
	q := Quorum{Need: need}
	for _, text := range vkeys {
		key, err := ParseWitnessKey(strings.TrimSpace(text))
		if err != nil {
			return Quorum{}, fmt.Errorf("witness %.40q: %w", text, err)
		}
		if slices.ContainsFunc(q.Keys, func(k WitnessKey) bool { return k.Public.Equal(key.Public) }) {
			return Quorum{}, fmt.Errorf("the key of witness %s is given twice: it counts once", key.Witness)
		}
		q.Keys = append(q.Keys, key)
	}
	if q.Need == 0 {
		q.Need = len(q.Keys)
	}
	if q.Need < 0 || q.Need > len(q.Keys) {
		return Quorum{}, fmt.Errorf("%d of %d witnesses cannot be asked for", need, len(q.Keys))
	}
	return q, nil
}

// Check reports why a note is not cosigned by enough witnesses. One whose key is the log's own counts as
// none; that two keys belong to one owner cannot be seen.
func (q Quorum) Check(noteText string, log LogKey) error {
	if q.Need == 0 {
		return nil
	}
	list, err := Cosignatures(noteText, q.Keys...)
	if err != nil {
		return err
	}
	found := 0
	for _, c := range list {
		if !c.Key.Public.Equal(log.Public) {
			found++
		}
	}
	if found < q.Need {
		return fmt.Errorf("%d of the %d witnesses that are asked for have cosigned the checkpoint", found,
			q.Need)
	}
	return nil
}

// WithCosignatures is a note with further signature lines behind those that it has, each once.
func WithCosignatures(noteText string, lines ...string) string {
	for _, line := range lines {
		if !strings.Contains(noteText, "\n"+line) {
			noteText += line
		}
	}
	return noteText
}
