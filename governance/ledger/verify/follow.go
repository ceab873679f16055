package verify

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// follower reads what the entries of a log change about who decides: the keys of the log, and whose
// signatures count, each of which is a step of its own so that nobody is named unnoticed. It holds
// decisions, seals and recorded attestations against the trust.json that counted.
type follower struct {
	*Report
	ring  ledger.Ring
	trust string // digest of the newest trust.json, "" in open mode
	rules int64  // version of the rules in force, 0 before a policy names one
	named int    // entries that name the trust.json
	bad   int    // entries that name another one, or none where they have to
}

// rulesTrusted is the version of the rules from which on decisions and recorded attestations name
// the trust.json that counted.
const rulesTrusted = 5

// changers are parts of the text of entries that are read; the rest need not be parsed.
var changers = [][]byte{[]byte(`"predicateType":"` + translog.TypeRotation), []byte(`trust/v1"`),
	[]byte(`policy/v1"`), []byte(`"trust_digest":`), []byte(`attestation-recorded/v1"`),
	[]byte(`stage-decision/v1"`)}

// entry follows one entry whose signature holds.
func (f *follower) entry(at int64, e ledger.Entry) error {
	wanted := false
	for _, part := range changers {
		wanted = wanted || bytes.Contains(e.Payload, part)
	}
	if !wanted {
		return nil
	}
	st, err := parse(e.Payload)
	if err != nil {
		return err
	}
	predicate := st.object("predicate")
	switch dsse.PermanentType(st.text("predicateType")) {
	case translog.TypeRotation:
		rotation, read := &translog.Rotation{}, &field.Reader{}
		if read.Struct(map[string]any(predicate), "/predicate", rotation); read.Failed() {
			return read.Err()
		}
		next, err := f.ring.Rotate(at, rotation)
		if err != nil {
			return err
		}
		f.ring = next
		f.step(fmt.Sprintf("entry %d changes the keys to %s and %s", at, next.Last().Statement.ID(),
			next.Last().Log.VKey()), nil)
	case bundle.TypeTrust:
		f.trust = predicate.text("digest")
		f.step(fmt.Sprintf("from entry %d on trust.json version %d counts, %s", at,
			predicate.count("version"), f.trust), nil)
	case bundle.TypePolicy:
		f.rules = predicate.count("rules")
	case bundle.TypeSeal, bundle.TypeRecorded, bundle.TypeStageDecision:
		f.check(at, predicate)
	}
	return nil
}

// check compares the trust that an entry names; those under earlier rules name none.
func (f *follower) check(at int64, predicate document) {
	if _, names := predicate["trust_digest"]; !names && (f.trust == "" || f.rules < rulesTrusted) {
		return
	}
	f.named++
	named := predicate.text("trust_digest")
	if named == f.trust {
		return
	}
	if f.bad++; f.bad <= maxReported {
		f.step(fmt.Sprintf("trust of entry %d", at),
			mismatch("", cmp.Or(f.trust, "none"), cmp.Or(named, "none")))
	}
}

// end is the step about all entries that name the trust.json that counted.
func (f *follower) end() {
	if f.named == 0 {
		return
	}
	var err error
	if f.bad > 0 {
		err = mismatch("", "each names the one that counted", fmt.Sprintf("%d that do not", f.bad))
	}
	f.step(fmt.Sprintf("trust.json of %s that name one", entryCount(f.named)), err)
}

func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
