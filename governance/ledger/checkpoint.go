package ledger

import (
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// Checkpoint, LogKey and Proof are those of package translog, which hosts and witnesses share.
type (
	Checkpoint = translog.Checkpoint
	LogKey     = translog.LogKey
	Proof      = translog.Proof
)

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
// JSON, with all keys that it has had: a later checkpoint proves an earlier entry too. baseUrl's host
// name is the origin: Sigstore takes it from there.
func TrustedRoot(start time.Time, keys ...LogKey) ([]byte, error) {
	empty := jsontext.Value("[]")
	root := trustedRoot{MediaType: TrustedRootMediaType, Authorities: empty, CTLogs: empty, Timestamps: empty}
	for _, key := range keys {
		der, err := x509.MarshalPKIXPublicKey(key.Public)
		if err != nil {
			return nil, err
		}
		id := key.ID()
		root.Logs = append(root.Logs, trustedLog{
			BaseURL: "https://" + key.Origin, HashAlgorithm: "SHA2_256", LogID: LogID{encode64(id[:])},
			CheckpointKeyID: &LogID{encode64(id[:])},
			PublicKey: trustedPublicKey{RawBytes: encode64(der), KeyDetails: logKeyDetails,
				ValidFor: validFor{Start: start.UTC().Format(time.RFC3339)}},
		})
	}
	return digest.JCS(root)
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
	der, err := translog.Decode64(l.PublicKey.RawBytes)
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
	key, err := translog.NewLogKey(base.Hostname(), ed)
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
	if !translog.ValidOrigin(info.Origin) || info.Size < 0 || len(info.Root) < 7 ||
		info.Root[:7] != "sha256:" {
		return nil, errors.New("log.json: not origin, size and root of a log")
	}
	if _, err := translog.ParseHex(info.Root[7:]); err != nil {
		return nil, fmt.Errorf("log.json, root: %w", err)
	}
	return info, nil
}
