package capsule

import (
	"encoding/json"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
)

// Seal takes secrets out and binds the body to its hash: the last step before Encode.
// What is sealed again keeps the redactions that it has.
func (c *Capsule) Seal(r *Redactor) error {
	c.fill()
	before := c.Integrity.Redactions
	if err := c.redact(r); err != nil {
		return err
	}
	c.Integrity.Redactions = append(before[:len(before):len(before)], c.Integrity.Redactions...)
	return c.bind()
}

// bind computes the hash of the body.
func (c *Capsule) bind() (err error) {
	if c.Integrity.Redactions == nil {
		c.Integrity.Redactions = []Redaction{}
	}
	c.Integrity.BodySHA256, err = c.bodyHash()
	return err
}

func (c *Capsule) bodyHash() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		return "", err
	}
	delete(body, "integrity")
	return digest.Of(body)
}

// Encode is the file of a sealed capsule: canonical JSON and a newline. What is too
// large loses its candles, then its events, then most of its texts.
func (c *Capsule) Encode() ([]byte, error) {
	for _, shorten := range []func(){func() {}, c.dropCandles, c.dropEvents, c.dropTexts} {
		shorten()
		if err := c.bind(); err != nil {
			return nil, err
		}
		text, err := digest.JCS(c)
		if err != nil {
			return nil, err
		}
		if len(text) < MaxBytes {
			return append(text, '\n'), nil
		}
	}
	return c.Bare().Encode()
}

// Lock takes out what tells how the strategy did on a split that is locked: the account,
// the events and the candles, and the decisions that two plays did not share. What is left
// can be replayed with the candles of the store. It comes before Seal.
func (c *Capsule) Lock() {
	c.State, c.DataSlice = nil, nil
	c.dropEvents()
	if c.Kind == Nondeterminism || c.Kind == Lookahead {
		c.Error.Message = "the decisions differ; those of a locked split are not told"
	}
}

func (c *Capsule) dropCandles() {
	if c.DataSlice != nil {
		c.DataSlice.drop()
	}
}

func (c *Capsule) dropEvents() {
	c.DroppedBefore += int64(len(c.LastEvents))
	c.LastEvents = []json.RawMessage{}
}

// dropTexts keeps the newest of what the process printed and the top of the stack.
func (c *Capsule) dropTexts() {
	const few = 4 << 10
	c.Error.StderrTail = strings.ToValidUTF8(c.Error.StderrTail[max(0, len(c.Error.StderrTail)-few):], "")
	c.Error.Message = Cut(c.Error.Message, few)
	c.Error.Stack = c.Error.Stack[:min(16, len(c.Error.Stack))]
	c.Minimal, c.State = nil, nil
}

// Bare is the least that is worth writing where the whole cannot be: what happened,
// where, in answer to which request.
func (c *Capsule) Bare() *Capsule {
	bare := &Capsule{
		Schema: Schema, ID: c.ID, Kind: c.Kind, Severity: c.Severity, Claim: Cut(c.Claim, MaxClaim), Count: c.Count, Where: c.Where,
		Error:       Fault{Code: c.Error.Code, Message: Cut(c.Error.Message, MaxClaim), Type: Cut(c.Error.Type, MaxClaim), ExitCode: c.Error.ExitCode, Signal: c.Error.Signal},
		Fingerprint: c.Fingerprint, Inputs: Inputs{RequestHash: c.Inputs.RequestHash, RunID: c.Inputs.RunID},
		Replay: Replay{Argv: c.Replay.Argv, ExpectedFingerprint: c.Fingerprint}, Integrity: Integrity{Redactions: c.Integrity.Redactions},
	}
	bare.fill()
	return bare
}

// isBare says that there is nothing to play in it.
func (c *Capsule) isBare() bool {
	return len(c.Inputs.Request) == 0 || string(c.Inputs.Request) == "null"
}

// fill makes lists that are not there empty, so that they never read as null.
func (c *Capsule) fill() {
	if c.Error.Stack == nil {
		c.Error.Stack = []Frame{}
	}
	if c.LastEvents == nil {
		c.LastEvents = []json.RawMessage{}
	}
	if c.Inputs.Data == nil {
		c.Inputs.Data = []artifact.Dataset{}
	}
	if c.Replay.Argv == nil {
		c.Replay.Argv = []string{}
	}
	if c.Integrity.Redactions == nil {
		c.Integrity.Redactions = []Redaction{}
	}
}

// MaxClaim is how long a claim may be, in bytes.
const MaxClaim = 500

// Cut shortens a text to at most so many bytes, without half a character at its end.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const more = "..."
	return strings.ToValidUTF8(s[:max(0, limit-len(more))], "") + more
}
