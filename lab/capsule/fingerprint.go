package capsule

import (
	"encoding/hex"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
)

// topFrames is how many frames tell one failure from another.
const topFrames = 5

// Fingerprint names what has failed, whatever the candle: the SHA-256 of the canonical
// JSON of kind, type, code and the names of the innermost five functions of the
// author's module, in hex.
func Fingerprint(k Kind, f *Fault, module string) (string, error) {
	frames := []string{}
	for _, call := range f.Stack {
		if InModule(call.Func, module) && len(frames) < topFrames {
			frames = append(frames, call.Func)
		}
	}
	return digest.Of(map[string]any{"kind": k, "type": f.Type, "code": f.Code, "frames": frames})
}

// MakeID is fc_ and the first 16 hex digits of the SHA-256 of the canonical JSON of kind,
// fingerprint, request_hash, split_id and candle_index.
func MakeID(k Kind, fingerprint, requestHash string, w Where) (string, error) {
	sum, err := digest.Of(map[string]any{
		"kind": k, "fingerprint": fingerprint, "request_hash": requestHash, "split_id": w.SplitID, "candle_index": w.CandleIndex,
	})
	if err != nil {
		return "", err
	}
	return idPrefix + sum[:16], nil
}

const idPrefix = "fc_"

func isID(s string) bool {
	digits, ok := strings.CutPrefix(s, idPrefix)
	return ok && len(digits) == 16 && isHex(digits)
}

func isSHA256(s string) bool { return len(s) == 64 && isHex(s) }

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && s == strings.ToLower(s)
}

// Name fills in fingerprint and id from what the capsule says already. module is the
// import path of the program's main module.
func (c *Capsule) Name(module string) (err error) {
	if c.Fingerprint, err = Fingerprint(c.Kind, &c.Error, module); err != nil {
		return err
	}
	c.Replay.ExpectedFingerprint = c.Fingerprint
	c.ID, err = MakeID(c.Kind, c.Fingerprint, c.Inputs.RequestHash, c.Where)
	return err
}
