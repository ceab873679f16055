package verify

import (
	"fmt"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/dsse"
)

// readEnvelope reads a DSSE envelope strictly.
func readEnvelope(text []byte) (*dsse.Signed, error) {
	signed, refused := bundle.DecodeEnvelope(text)
	if refused != nil {
		return nil, refused
	}
	return signed, nil
}

// checkAttestations takes one step for each envelope: it must be what the ingest would
// have taken with one of the bundles, by --trust, at the time that it says it was made.
func (v *verifier) checkAttestations() {
	packers := v.packers()
	for _, f := range v.envelopes {
		signed, err := readEnvelope(f.Data)
		switch {
		case err != nil:
			err = mismatch("", "an envelope that can be read", "none")
		case v.trust == nil:
			err = mismatch("", "trusted keys given by --trust", "none")
		default:
			err = mismatch("", "a given bundle that it is about", "none")
			for _, c := range v.bundles {
				if err = v.checkAttestation(c, f.Data, signed, packers); err == nil {
					break
				}
			}
		}
		v.step("attestation "+f.Name, err)
	}
}

// checkAttestation judges one envelope as the ingest does.
func (v *verifier) checkAttestation(c *candidate, text []byte, signed *dsse.Signed, packers []string) error {
	found, err := v.judge(c, text, signed, packers)
	if err != nil {
		return mismatch("", "an attestation that the ingest takes", err.Error())
	}
	for _, a := range found {
		if a.Said.Known() {
			return nil
		}
	}
	return mismatch("predicateType", "one that counts", found[0].Said.Statement.PredicateType)
}

func (v *verifier) judge(c *candidate, text []byte, signed *dsse.Signed, packers []string) ([]bundle.Attestation, error) {
	body := fmt.Appendf(nil, `{"bundle":%s,"attestations":[%s]}`, c.canonical, text)
	post, refused := bundle.ReadPost(body)
	if refused != nil {
		return nil, refused
	}
	request := post.Bundle.SealRequest
	found, refused := post.Attestations(bundle.Judge{Trust: v.trust, Now: madeAt(signed, c), Origin: request.LogOrigin, Excluded: packers})
	if refused != nil {
		return nil, refused
	}
	return found, nil
}

// madeAt is when a statement says that it was made. A signature of the bundle has no
// time: it is judged at the time of the request that it goes with.
func madeAt(signed *dsse.Signed, c *candidate) time.Time {
	if said, refused := bundle.ReadStatement(signed.Payload); refused == nil && said.Common != nil {
		return document{"made_at": said.Common.MadeAt}.must("made_at")
	}
	return c.doc.object("seal_request").must("requested_at")
}

// must is a time member, the zero time when there is none.
func (d document) must(name string) time.Time {
	t, _ := d.time(name)
	return t
}

// packers is who signed a bundle among the envelopes: they may not approve it.
func (v *verifier) packers() []string {
	var names []string
	for _, f := range v.envelopes {
		signed, err := readEnvelope(f.Data)
		if err != nil || v.trust == nil {
			continue
		}
		for _, c := range v.bundles {
			found, _ := v.judge(c, f.Data, signed, nil)
			for _, a := range found {
				if a.Said.Statement.PredicateType == bundle.TypeBundle {
					names = append(names, a.Principal)
				}
			}
		}
	}
	return names
}
