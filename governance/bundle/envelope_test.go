package bundle_test

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/dsse"
)

// TestEnvelopeIsReadBack: a signed envelope is read as it was written.
func TestEnvelopeIsReadBack(t *testing.T) {
	e, err := dsse.Sign(bundle.PayloadInToto, []byte(`{"a":1}`), testKey(t, "lab"))
	if err != nil {
		t.Fatal(err)
	}
	e.Signatures = append(e.Signatures, dsse.Signature{Sig: e.Signatures[0].Sig, KeyID: "hint"})
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	s, refused := bundle.DecodeEnvelope(text)
	if refused != nil || !reflect.DeepEqual(s.Envelope, e) || string(s.Payload) != `{"a":1}` {
		t.Errorf("%v was read as %v: %v", e, s, refused)
	}
}

func TestBadEnvelopes(t *testing.T) {
	const ok = `{"payload":"YQ==","payloadType":"t","signatures":[{"sig":"YQ=="}]}`
	if _, err := bundle.DecodeEnvelope([]byte(ok)); err != nil {
		t.Fatal(err)
	}
	many := `{"sig":"YQ=="}` + strings.Repeat(`,{"sig":"YQ=="}`, 16)
	for _, c := range []struct{ old, new, at string }{
		{ok, `[]`, ""},
		{ok, ok + ok, ""},
		{`"YQ==","payloadType"`, `"YR==","payloadType"`, "/payload"},         // unused bits
		{`"YQ==","payloadType"`, `"YQ","payloadType"`, "/payload"},           // no padding
		{`"YQ==","payloadType"`, `"Y\nQ==","payloadType"`, "/payload"},       // a line break
		{`"YQ==","payloadType"`, `"_-8=","payloadType"`, "/payload"},         // the other alphabet
		{`"YQ==","payloadType"`, `"","payloadType"`, "/payload"},             // nothing
		{`"YQ==","payloadType"`, `1,"payloadType"`, "/payload"},              // no text
		{`"payloadType":"t"`, `"payloadType":null`, "/payloadType"},          // no text
		{`"payloadType":"t",`, ``, "/payloadType"},                           // missing
		{`"payloadType":"t"`, `"payloadtype":"t"`, "/payloadtype"},           // another case
		{`[{"sig":"YQ=="}]`, `[]`, "/signatures"},                            // none
		{`[{"sig":"YQ=="}]`, `[` + many + `]`, "/signatures"},                // 17
		{`[{"sig":"YQ=="}]`, `{"sig":"YQ=="}`, "/signatures"},                // no list
		{`{"sig":"YQ=="}`, `{}`, "/signatures/0/sig"},                        // missing
		{`{"sig":"YQ=="}`, `{"sig":"YQ==\r\n"}`, "/signatures/0/sig"},        // a line break
		{`{"sig":"YQ=="}`, `{"sig":"YQ==","cert":""}`, "/signatures/0/cert"}, // unknown
		{`{"sig":"YQ=="}`, `{"sig":"YQ==","keyid":3}`, "/signatures/0/keyid"},
	} {
		text := strings.Replace(ok, c.old, c.new, 1)
		if s, err := bundle.DecodeEnvelope([]byte(text)); err == nil || err.Pointer != c.at {
			t.Errorf("%s: %v, %v, want %q", text, s, err, c.at)
		}
	}
	if _, err := bundle.DecodeEnvelope(
		[]byte(strings.Replace(ok, `[{"sig":"YQ=="}]`, `[`+strings.TrimSuffix(many, `,{"sig":"YQ=="}`)+`]`,
			1))); err != nil {
		t.Errorf("16 signatures: %v", err)
	}
}

func FuzzEnvelope(f *testing.F) {
	key := testKey(f, "lab")
	e, err := dsse.Sign(bundle.PayloadInToto, []byte("payload"), key)
	if err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"payload":"YQ==","payloadType":"t","signatures":[{"sig":"YQ==","keyid":""}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, refused := bundle.DecodeEnvelope(in)
		if refused != nil {
			return
		}
		if n := len(s.Signatures); n < 1 || n > dsse.MaxSignatures {
			t.Fatalf("%d signatures", n)
		}
		if base64.StdEncoding.EncodeToString(s.Payload) != s.Envelope.Payload {
			t.Fatal("a second spelling of the payload was accepted")
		}
		if len(s.Verify(&key.PublicKey)) > 0 && string(s.Payload) != "payload" {
			t.Fatal("a forgery")
		}
	})
}
