package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// Checkpoint is the head of a tree that a log signs: who, how many leaves, which root.
// Two notes are the same checkpoint when these three are equal: the text of a note has
// several forms, because its readers accept base64 that is not canonical.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// text is the signed text: three lines, no extension.
func (c Checkpoint) text() string { return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, c.Root) }

// String is size and root.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s size %d root %s", c.Origin, c.Size, Hex(c.Root))
}

var originLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ValidOrigin reports whether a name can be a log's origin: a DNS name in lower case
// without port, because Sigstore takes the host name of the trusted root's baseUrl for
// it.
func ValidOrigin(origin string) bool {
	if origin == "" || len(origin) > 253 {
		return false
	}
	for label := range strings.SplitSeq(origin, ".") {
		if !originLabel.MatchString(label) {
			return false
		}
	}
	return true
}

// algEd25519 is the signature type of Ed25519 in C2SP signed notes.
const algEd25519 = 1

// LogKey is the public key of a log with its origin. It is a note.Verifier.
type LogKey struct {
	Origin string
	Public ed25519.PublicKey
}

// NewLogKey checks origin and key.
func NewLogKey(origin string, public ed25519.PublicKey) (LogKey, error) {
	if !ValidOrigin(origin) {
		return LogKey{}, fmt.Errorf("log origin %q is not a DNS name in lower case", origin)
	}
	if len(public) != ed25519.PublicKeySize {
		return LogKey{}, errors.New("the log key is not an Ed25519 key")
	}
	return LogKey{Origin: origin, Public: public}, nil
}

// ID is the full key id: SHA-256(origin || "\n" || 0x01 || key), C2SP signed-note.
func (k LogKey) ID() [sha256.Size]byte {
	text := append([]byte(k.Origin), '\n', algEd25519)
	return sha256.Sum256(append(text, k.Public...))
}

// Name is the origin.
func (k LogKey) Name() string { return k.Origin }

// KeyHash is the first four bytes of the id.
func (k LogKey) KeyHash() uint32 {
	id := k.ID()
	return binary.BigEndian.Uint32(id[:])
}

// Verify reports whether sig is the key's signature of msg.
func (k LogKey) Verify(msg, sig []byte) bool { return ed25519.Verify(k.Public, msg, sig) }

// VKey is the verifier key as log.vkey holds it, without a line end.
func (k LogKey) VKey() string {
	return fmt.Sprintf("%s+%08x+%s", k.Origin, k.KeyHash(), encode64(append([]byte{algEd25519}, k.Public...)))
}

// logSigner is a note.Signer.
type logSigner struct {
	LogKey
	private ed25519.PrivateKey
}

// Sign makes an Ed25519 signature.
func (s logSigner) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.private, msg), nil }

// SignCheckpoint is the signed note of a checkpoint. The same head with the same key is
// the same note.
func SignCheckpoint(c Checkpoint, private ed25519.PrivateKey) (string, error) {
	key, err := NewLogKey(c.Origin, private.Public().(ed25519.PublicKey))
	if err != nil {
		return "", err
	}
	text, err := note.Sign(&note.Note{Text: c.text()}, logSigner{key, private})
	return string(text), err
}

// maxNote bounds a note: a checkpoint with some cosignatures is far smaller.
const maxNote = 1 << 16

// OpenCheckpoint is the checkpoint of a note that one of the keys signed. The key's name
// must be the origin that the note claims; further signatures by unknown keys are
// ignored, as C2SP demands. The error reports what is wrong; nothing of the note is to be
// believed then.
func OpenCheckpoint(text string, keys ...LogKey) (*Checkpoint, error) {
	if len(text) > maxNote {
		return nil, errors.New("the note is too long for a checkpoint")
	}
	known := make([]note.Verifier, len(keys))
	for i, k := range keys {
		known[i] = k
	}
	n, err := note.Open([]byte(text), note.VerifierList(known...))
	if err != nil {
		return nil, err
	}
	c, err := parseCheckpointText(n.Text)
	if err != nil {
		return nil, err
	}
	for _, sig := range n.Sigs {
		if sig.Name == c.Origin {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the note of %s is signed by %s", c.Origin, n.Sigs[0].Name)
}

// parseCheckpointText reads the three lines.
func parseCheckpointText(text string) (*Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return nil, errors.New("a checkpoint has three lines: origin, size, root")
	}
	if !ValidOrigin(lines[0]) {
		return nil, fmt.Errorf("checkpoint origin %q is not a DNS name", lines[0])
	}
	size, err := parseSize(lines[1])
	if err != nil {
		return nil, fmt.Errorf("checkpoint size: %w", err)
	}
	root, err := decodeHash(lines[2])
	if err != nil {
		return nil, fmt.Errorf("checkpoint root: %w", err)
	}
	return &Checkpoint{Origin: lines[0], Size: size, Root: root}, nil
}

// peekCheckpoint reads a note's text without believing it: to report what was found where
// a signature does not verify.
func peekCheckpoint(noteText string) (*Checkpoint, error) {
	_, err := note.Open([]byte(noteText), nil)
	var unverified *note.UnverifiedNoteError
	if !errors.As(err, &unverified) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return parseCheckpointText(unverified.Note.Text)
}

// TrustedRootMediaType is that of a Sigstore trusted root v0.1.
const TrustedRootMediaType = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"

const logKeyDetails = "PKIX_ED25519"

// trustedRoot is trusted_root.json (protobuf-specs sigstore_trustroot.proto): which
// the logs that are trusted. The authorities are not used, since no certificate is.
type trustedRoot struct {
	MediaType   string         `json:"mediaType"`
	Logs        []trustedLog   `json:"tlogs"`
	Authorities jsontext.Value `json:"certificateAuthorities,omitempty"`
	CTLogs      jsontext.Value `json:"ctlogs,omitempty"`
	Timestamps  jsontext.Value `json:"timestampAuthorities,omitempty"`
}

type trustedLog struct {
	BaseURL         string           `json:"baseUrl"`
	HashAlgorithm   string           `json:"hashAlgorithm"`
	PublicKey       trustedPublicKey `json:"publicKey"`
	LogID           LogID            `json:"logId"`
	CheckpointKeyID *LogID           `json:"checkpointKeyId,omitempty"`
	Operator        string           `json:"operator,omitempty"`
}

type trustedPublicKey struct {
	RawBytes   string   `json:"rawBytes"`
	KeyDetails string   `json:"keyDetails"`
	ValidFor   validFor `json:"validFor"`
}

type validFor struct {
	Start string `json:"start"`
	End   string `json:"end,omitempty"`
}

// TrustedLog is a log key with the time for which it is trusted; a zero End is open.
type TrustedLog struct {
	LogKey
	Start, End time.Time
}

// Covers reports whether a time is within the key's validity.
func (l TrustedLog) Covers(t time.Time) bool {
	return !t.Before(l.Start) && (l.End.IsZero() || !t.After(l.End))
}

// TrustedRoot is the trusted_root.json of one log that started at a time, as canonical
// JSON. baseUrl's host name is the origin: Sigstore takes it from there.
func TrustedRoot(key LogKey, start time.Time) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public)
	if err != nil {
		return nil, err
	}
	id := key.ID()
	empty := jsontext.Value("[]")
	return digest.JCS(trustedRoot{MediaType: TrustedRootMediaType, Logs: []trustedLog{{
		BaseURL: "https://" + key.Origin, HashAlgorithm: "SHA2_256", LogID: LogID{encode64(id[:])}, CheckpointKeyID: &LogID{encode64(id[:])},
		PublicKey: trustedPublicKey{RawBytes: encode64(der), KeyDetails: logKeyDetails,
			ValidFor: validFor{Start: start.UTC().Format(time.RFC3339)}},
	}}, Authorities: empty, CTLogs: empty, Timestamps: empty})
}

// ParseTrustedRoot reads the logs with Ed25519 keys of a trusted_root.json; logs with
// other keys are passed over. The error also reports that a log's id is not that of its
// key.
func ParseTrustedRoot(text []byte) ([]TrustedLog, error) {
	tree, refused := field.Parse(text)
	if refused != nil {
		return nil, fmt.Errorf("trusted root: %w", refused)
	}
	var root trustedRoot
	if err := json.Unmarshal(digest.Tree(tree), &root, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("trusted root: %w", err)
	}
	if root.MediaType != TrustedRootMediaType {
		return nil, fmt.Errorf("trusted root: media type %q, not %q", root.MediaType, TrustedRootMediaType)
	}
	var logs []TrustedLog
	for i, l := range root.Logs {
		if l.PublicKey.KeyDetails != logKeyDetails {
			continue
		}
		log, err := l.parse()
		if err != nil {
			return nil, fmt.Errorf("trusted root, log %d: %w", i, err)
		}
		logs = append(logs, log)
	}
	if len(logs) == 0 {
		return nil, errors.New("trusted root: no log with an Ed25519 key")
	}
	return logs, nil
}

func (l trustedLog) parse() (TrustedLog, error) {
	if l.HashAlgorithm != "SHA2_256" {
		return TrustedLog{}, fmt.Errorf("hash algorithm %q", l.HashAlgorithm)
	}
	base, err := url.Parse(l.BaseURL)
	if err != nil {
		return TrustedLog{}, err
	}
	der, err := decode64(l.PublicKey.RawBytes)
	if err != nil {
		return TrustedLog{}, err
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return TrustedLog{}, err
	}
	ed, ok := public.(ed25519.PublicKey)
	if !ok {
		return TrustedLog{}, fmt.Errorf("the key is a %T, not %s", public, logKeyDetails)
	}
	key, err := NewLogKey(base.Hostname(), ed)
	if err != nil {
		return TrustedLog{}, err
	}
	id := key.ID()
	want := encode64(id[:])
	if l.LogID.KeyID != want || l.CheckpointKeyID != nil && l.CheckpointKeyID.KeyID != want {
		return TrustedLog{}, fmt.Errorf("the key id is %s, of key and origin it is %s", l.LogID.KeyID, want)
	}
	out := TrustedLog{LogKey: key}
	if out.Start, err = time.Parse(time.RFC3339, l.PublicKey.ValidFor.Start); err != nil {
		return TrustedLog{}, fmt.Errorf("validFor.start: %w", err)
	}
	if end := l.PublicKey.ValidFor.End; end != "" {
		if out.End, err = time.Parse(time.RFC3339, end); err != nil {
			return TrustedLog{}, fmt.Errorf("validFor.end: %w", err)
		}
	}
	return out, nil
}

// Info is /trust/log.json: the log's head without its signature, which /checkpoint has.
type Info struct {
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	Root   string `json:"root"` // sha256:<hex>
}

// Info is the view's head.
func (v View) Info() Info {
	return Info{Origin: v.Head.Origin, Size: v.Head.Size, Root: "sha256:" + Hex(v.Head.Root)}
}

// ParseInfo reads /trust/log.json strictly.
func ParseInfo(text []byte) (*Info, error) {
	info := &Info{}
	if err := decodeExact(text, info); err != nil {
		return nil, fmt.Errorf("log.json: %w", err)
	}
	if !ValidOrigin(info.Origin) || info.Size < 0 || len(info.Root) < 7 || info.Root[:7] != "sha256:" {
		return nil, errors.New("log.json: not origin, size and root of a log")
	}
	if _, err := parseHex(info.Root[7:]); err != nil {
		return nil, fmt.Errorf("log.json, root: %w", err)
	}
	return info, nil
}
