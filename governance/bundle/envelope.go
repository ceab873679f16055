package bundle

import (
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// DecodeEnvelope reads the text of one envelope strictly.
func DecodeEnvelope(text []byte) (*dsse.Signed, *Error) {
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	r := &field.Reader{}
	s := readEnvelope(r, v, "")
	return s, r.Err()
}

// readEnvelope reads an envelope from a value of [digest.Strict]. Refusals go to r.
func readEnvelope(r *field.Reader, v any, at string) *dsse.Signed {
	o := r.Object(v, at, field.Names("payload payloadType signatures"), nil)
	payload, _ := o.Raw("payload").(string)
	s := &dsse.Signed{Envelope: dsse.Envelope{Payload: payload, PayloadType: o.Text("payloadType")}}
	if s.Payload = dsse.Base64(payload); s.Payload == nil {
		o.Fail(field.InvalidField, "payload", "must be a payload in strict base64")
	}
	n := o.Each("signatures", 0, func(i int, v any, at string) {
		if i >= dsse.MaxSignatures {
			return
		}
		one := r.Object(v, at, field.Names("sig"), field.Names("keyid"))
		text := one.Text("sig")
		sig := dsse.Base64(text)
		if sig == nil {
			one.Fail(field.InvalidField, "sig", "must be a signature in strict base64")
		}
		s.Envelope.Signatures = append(s.Envelope.Signatures, dsse.Signature{Sig: text, KeyID: one.Text("keyid")})
		s.Signatures = append(s.Signatures, sig)
	})
	if n < 1 || n > dsse.MaxSignatures {
		o.Fail(field.InvalidField, "signatures", "must be 1 to %d signatures", dsse.MaxSignatures)
	}
	return s
}
