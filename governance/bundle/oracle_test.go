package bundle_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
)

type oracle struct {
	Cases []struct {
		Name, Target, Method, Body string
		BodyB64                    string `json:"body_b64"`
		BodyGenerator              string `json:"body_generator"`
		Expect                     struct {
			Status    int
			ErrorCode string `json:"error_code"`
		}
	}
	PositiveControls []struct {
		Name, Body string
		Expect     struct {
			RevisionID string `json:"candidate_revision_id"`
			FileSHA256 string `json:"file_sha256"`
		}
	} `json:"positive_controls"`
}

func readOracle(t *testing.T) oracle {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "oracles", "governance-badinputs.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs the folder shared, with the reference results, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// ingest goes through the steps that this package knows, in the order of the plane.
func ingest(body []byte, trust *bundle.Trust) (*bundle.Post, *bundle.Error) {
	p, err := bundle.ReadPost(body)
	if err != nil {
		return nil, err
	}
	if err := p.CheckSeal(clock, origin); err != nil {
		return nil, err
	}
	_, err = p.Attestations(bundle.Judge{Trust: trust, Now: clock, Origin: origin})
	return p, err
}

func TestReferenceBadInputs(t *testing.T) {
	trust := trusting(t, keyOf(t, "lab", "lab@example.com", bundle.TrustLab))
	seen := 0
	for _, c := range readOracle(t).Cases {
		if c.Target != "control_plane" || c.Method != "POST" {
			continue
		}
		body := []byte(c.Body)
		switch {
		case c.BodyB64 != "":
			var err error
			if body, err = base64.StdEncoding.DecodeString(c.BodyB64); err != nil {
				t.Fatal(err)
			}
		case c.Expect.ErrorCode == "BODY_TOO_LARGE":
			continue // the edge counts bytes
		case c.Name == "nesting-200000":
			body = []byte(`{"schema":` + strings.Repeat("[", 200000) + strings.Repeat("]", 200000) + `}`)
		case c.BodyGenerator != "":
			t.Errorf("%s: unknown generator %s", c.Name, c.BodyGenerator)
		}
		seen++
		_, err := ingest(body, trust)
		if err == nil || string(err.Code) != c.Expect.ErrorCode {
			t.Errorf("%s: %v, want %s", c.Name, err, c.Expect.ErrorCode)
		}
	}
	if seen < 20 {
		t.Errorf("only %d cases found", seen)
	}
}

func TestReferencePositiveControls(t *testing.T) {
	var first string
	for _, c := range readOracle(t).PositiveControls {
		if c.Body == "same" {
			continue
		}
		p, err := ingest([]byte(c.Body), nil)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if first == "" {
			first = p.FileSHA256
			if p.Bundle.CandidateRevisionID != c.Expect.RevisionID || p.FileSHA256 != c.Expect.FileSHA256 ||
				string(p.Canonical) != c.Body {
				t.Errorf("%s: %s, %s", c.Name, p.Bundle.CandidateRevisionID, p.FileSHA256)
			}
		}
		if p.FileSHA256 != first {
			t.Errorf("%s: %s, not %s", c.Name, p.FileSHA256, first)
		}
	}
	if first == "" {
		t.Error("no controls found")
	}
}
