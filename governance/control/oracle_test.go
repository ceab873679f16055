package control_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/dsse"
)

type badInputs struct {
	Cases            []badInput `json:"cases"`
	PositiveControls []badInput `json:"positive_controls"`
	Config           struct {
		LabKey string `json:"lab_public_key_pem"`
	} `json:"config"`
}

type badInput struct {
	Name, Target, Method, Path string
	Headers                    map[string]string
	Body                       *string
	BodyB64                    *string `json:"body_b64"`
	BodyGenerator              *string `json:"body_generator"`
	Expect                     struct {
		Code      string `json:"error_code"`
		Status    int
		Duplicate bool
		File      string `json:"file_sha256"`
		Revision  string `json:"candidate_revision_id"`
	}
}

// bytes are the body of a case; two of them are described rather than written.
func (c badInput) bytes(t *testing.T) []byte {
	t.Helper()
	switch {
	case c.Body != nil:
		return []byte(*c.Body)
	case c.BodyB64 != nil:
		b, err := base64.StdEncoding.DecodeString(*c.BodyB64)
		if err != nil {
			t.Fatal(err)
		}
		return b
	case c.BodyGenerator != nil && strings.Contains(*c.BodyGenerator, `"["*200000`):
		return []byte(`{"schema":` + strings.Repeat("[", 200000) + strings.Repeat("]", 200000) + `}`)
	case c.BodyGenerator != nil && strings.Contains(*c.BodyGenerator, `"a"*5242880`):
		return []byte(`{"schema":"` + strings.Repeat("a", 5242880) + `"}`)
	case c.Method == http.MethodGet:
		return nil
	}
	t.Fatalf("%s: no body", c.Name)
	return nil
}

func readBadInputs(t *testing.T) *badInputs {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "oracles", "governance-badinputs.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs the folder shared, with the reference results, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	in := &badInputs{}
	if err := json.Unmarshal(raw, in); err != nil {
		t.Fatal(err)
	}
	return in
}

// labTrust trusts the lab key of the reference.
func labTrust(t *testing.T, pem string) *bundle.Trust {
	t.Helper()
	pub, err := dsse.ParseP256([]byte(pem))
	if err != nil {
		t.Fatal(err)
	}
	id, err := dsse.KeyID(pub)
	if err != nil {
		t.Fatal(err)
	}
	return planetest.Trust(1, func(tr *bundle.Trust) {
		k := tr.Keys[0]
		k.KeyID, k.PublicKey, k.Principal, k.Roles = id, pem, "lab of the reference",
			[]string{bundle.TrustLab}
		tr.Keys = append(tr.Keys, k)
	})
}

func TestReferenceBadInputs(t *testing.T) {
	in := readBadInputs(t)
	p := plane(t, planetest.Options{Trust: labTrust(t, in.Config.LabKey)})
	check := func(c badInput) {
		t.Helper()
		before := p.Store.Size()
		h := http.Header{}
		for k, v := range c.Headers {
			h.Set(k, v)
		}
		a := must[planetest.Answer](t)(p.Do(c.Method, c.Path, c.bytes(t), h))
		if a.Status != c.Expect.Status || a.Code() != c.Expect.Code {
			t.Errorf("%s: %d %s, want %d %s", c.Name, a.Status, a.Body, c.Expect.Status, c.Expect.Code)
		}
		if p.Store.Size() != before {
			t.Errorf("%s: the log grew", c.Name)
		}
	}
	seen := 0
	each := func(do func(badInput)) {
		for _, c := range in.Cases {
			if c.Target == "control_plane" {
				seen++
				do(c)
			}
		}
	}
	each(check) // on an empty log
	for _, c := range in.PositiveControls {
		body := []byte(*c.Body)
		if strings.HasPrefix(*c.Body, "same") {
			body = []byte(*in.PositiveControls[0].Body)
		}
		a := must[planetest.Answer](t)(p.Post(body))
		var rec struct {
			File      string `json:"file_sha256"`
			Revision  string `json:"candidate_revision_id"`
			Duplicate bool
		}
		if err := a.Decode(&rec); err != nil || a.Status != c.Expect.Status ||
			rec.Duplicate != c.Expect.Duplicate {
			t.Errorf("%s: %d %s", c.Name, a.Status, a.Body)
		}
		if c.Expect.File != "" && (rec.File != c.Expect.File || rec.Revision != c.Expect.Revision) {
			t.Errorf("%s: %s %s", c.Name, rec.File, rec.Revision)
		}
	}
	// The same again beside the bundle that they were made from: its id is known now, so
	// another core under it is a conflict.
	each(func(c badInput) {
		if c.Expect.Code == "CANDIDATE_REVISION_MISMATCH" {
			c.Expect.Code, c.Expect.Status = "CANDIDATE_REVISION_CONFLICT", http.StatusConflict
		}
		check(c)
	})
	if seen < 40 {
		t.Errorf("only %d cases", seen)
	}
}
