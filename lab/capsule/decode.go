package capsule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/assay-run/assay/host/base/digest"
)

// FormatError says that a file is no capsule of this schema.
type FormatError struct {
	// Pointer is the JSON pointer of what is wrong, "" for the whole.
	Pointer, Reason string
}

// Error names the place.
func (e *FormatError) Error() string {
	if e.Pointer == "" {
		return "no failure capsule: " + e.Reason
	}
	return "no failure capsule: " + e.Pointer + " " + e.Reason
}

// ChangedError says that a capsule is not what was written.
type ChangedError struct{ Want, Have string }

// Error names both hashes.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the capsule was changed: its body has the SHA-256 %.12s, integrity says %.12s", e.Have, e.Want)
}

// Decode reads a capsule. The error is a *FormatError, or a *ChangedError if everything
// but the hash of the body is right.
func Decode(text []byte) (*Capsule, error) {
	if len(text) > MaxBytes {
		return nil, &FormatError{"", fmt.Sprintf("%d bytes are more than %d", len(text), MaxBytes)}
	}
	canonical, err := digest.CanonicalJSON(text)
	var bad *digest.JSONError
	if errors.As(err, &bad) {
		return nil, &FormatError{bad.Pointer, bad.Reason}
	}
	if err != nil {
		return nil, &FormatError{"", err.Error()}
	}
	c := &Capsule{}
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, &FormatError{"", err.Error()}
	}
	if fault := c.check(); fault != nil {
		return nil, fault
	}
	have, err := c.bodyHash()
	if err != nil {
		return nil, &FormatError{"", err.Error()}
	}
	if have != c.Integrity.BodySHA256 {
		return nil, &ChangedError{Want: c.Integrity.BodySHA256, Have: have}
	}
	c.fill()
	return c, nil
}

// runIDForm keeps a run id that becomes a path inside the folder of runs.
var runIDForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)

// check is what the types do not say.
func (c *Capsule) check() *FormatError {
	switch {
	case c.Schema != Schema:
		return &FormatError{"/schema", fmt.Sprintf("is %.40q, not %s", c.Schema, Schema)}
	case !isID(c.ID):
		return &FormatError{"/capsule_id", "is not fc_ and 16 hex digits"}
	case c.Kind.Severity() == "":
		return &FormatError{"/kind", fmt.Sprintf("%.40q is not known", c.Kind)}
	case c.Severity != c.Kind.Severity():
		return &FormatError{"/severity", fmt.Sprintf("is %.40q, that of the kind is %s", c.Severity, c.Kind.Severity())}
	case c.Count < 1:
		return &FormatError{"/count", "must be at least 1"}
	case !c.Where.Phase.known():
		return &FormatError{"/where/phase", fmt.Sprintf("%.40q is not known", c.Where.Phase)}
	case !isSHA256(c.Fingerprint):
		return &FormatError{"/fingerprint", "is no SHA-256"}
	case c.Replay.ExpectedFingerprint != c.Fingerprint:
		return &FormatError{"/replay/expected_fingerprint", "is not the fingerprint"}
	case !isSHA256(c.Inputs.RequestHash):
		return &FormatError{"/inputs/request_hash", "is no SHA-256"}
	case !runIDForm.MatchString(c.Inputs.RunID):
		return &FormatError{"/inputs/run_id", "is not the id of a run"}
	case c.Inputs.Plugin != nil && !isSHA256(c.Inputs.Plugin.SHA256):
		return &FormatError{"/inputs/plugin/sha256", "is no SHA-256"}
	case !isSHA256(c.Integrity.BodySHA256):
		return &FormatError{"/integrity/body_sha256", "is no SHA-256"}
	}
	if id, err := MakeID(c.Kind, c.Fingerprint, c.Inputs.RequestHash, c.Where); err != nil || id != c.ID {
		return &FormatError{"/capsule_id", "is not that of kind, fingerprint, request and place"}
	}
	return c.checkSizes()
}

func (c *Capsule) checkSizes() *FormatError {
	switch {
	case len(c.LastEvents) > MaxEvents:
		return &FormatError{"/last_events", fmt.Sprintf("has more than %d", MaxEvents)}
	case len(c.Error.Stack) > MaxFrames:
		return &FormatError{"/error/stack", fmt.Sprintf("has more than %d frames", MaxFrames)}
	case c.DroppedBefore < 0:
		return &FormatError{"/dropped_before", "is negative"}
	case c.DataSlice == nil:
		return nil
	}
	candles := 0
	for i := range c.DataSlice.Series {
		s := &c.DataSlice.Series[i]
		candles += len(s.Candles)
		if !isSHA256(s.SHA256) {
			return &FormatError{fmt.Sprintf("/data_slice/series/%d/sha256", i), "is no SHA-256"}
		}
		if c.DataSlice.Inline && len(s.Candles) != s.Rows {
			return &FormatError{fmt.Sprintf("/data_slice/series/%d/rows", i), "does not count the candles"}
		}
	}
	if candles > MaxCandles {
		return &FormatError{"/data_slice", fmt.Sprintf("has more than %d candles", MaxCandles)}
	}
	return nil
}

// decodeTree reads JSON whose numbers must stay as they are.
func decodeTree(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}
