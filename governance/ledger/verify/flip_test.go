package verify

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// trusted is the options of the sample's own keys, without artifacts.
func (s *sample) trusted() Options {
	return Options{Key: s.files["governance.pub"], TrustedRoot: s.files["trusted_root.json"],
		Trust: s.files["trust.json"]}
}

// flips changes one bit at a time, every so many of them, and calls accepted for each change
// that is accepted.
func flips(text []byte, every int, accepts func([]byte) bool, accepted func(at int, changed []byte)) {
	for at := range text {
		for bit := range 8 {
			if (8*at+bit)%every != 0 {
				continue
			}
			changed := bytes.Clone(text)
			changed[at] ^= 1 << bit
			if accepts(changed) {
				accepted(at, changed)
			}
		}
	}
}

// unusedBits says whether two texts differ only in the bits that base64 padding leaves
// over in the signature line of a checkpoint, which notes are read without.
func unusedBits(before, after []byte, at int) bool {
	line := at
	for line > 0 && before[line-1] != '\n' && !bytes.HasSuffix(before[:line], []byte(`\n`)) {
		line--
	}
	signed := bytes.HasPrefix(before[line:], []byte("— "))
	return signed && before[at+1] == '=' && before[at+2] != '=' && after[at] != '='
}

// TestEveryBitOfASealCounts includes the Sigstore bundle and the tlog-proof in the seal.
func TestEveryBitOfASealCounts(t *testing.T) {
	s := newSample(t)
	candidate := File{Name: "candidate_bundle.json", Data: s.files["candidate_bundle.json"]}
	text := s.files["seal.json"]
	accepts := func(changed []byte) bool {
		// The steps that most flips fail come first, to save the rest of the report.
		seal, err := ledger.ParseSeal(changed)
		if err != nil || seal.Sigstore.CheckLeaf(s.key) != nil || seal.Sigstore.CheckSignature(s.key) != nil {
			return false
		}
		return Verify([]File{candidate, {Name: "seal.json", Data: changed}}, s.trusted()).OK()
	}
	if !accepts(text) {
		t.Fatal("the seal itself is not accepted")
	}
	n := 0
	flips(text, ring.Size(37, 1, 1), accepts, func(at int, changed []byte) {
		if n++; !unusedBits(text, changed, at) {
			t.Errorf("byte %d of %d: %q became %q and is accepted", at, len(text), text[max(0, at-30):at+8],
				changed[at])
		}
	})
	// A seal has two notes, each with two bits that its signature's base64 leaves unused.
	if n > 4 {
		t.Errorf("%d flips are accepted", n)
	}
}

func TestEveryBitOfAProofCounts(t *testing.T) {
	s := newSample(t)
	text := s.files["candidate_bundle.tlog-proof"]
	sigstore := File{Name: "candidate_bundle.sigstore.json", Data: s.files["candidate_bundle.sigstore.json"]}
	n := 0
	flips(text, ring.Size(37, 1, 1), func(changed []byte) bool {
		return Verify([]File{sigstore, {Name: "candidate_bundle.tlog-proof", Data: changed}},
			s.trusted()).OK()
	}, func(at int, changed []byte) {
		if n++; !unusedBits(text, changed, at) {
			t.Errorf("byte %d: %q became %q and is accepted", at, text[at], changed[at])
		}
	})
	if n > 2 {
		t.Errorf("%d flips are accepted", n)
	}
}

func TestEveryBitOfALeafCounts(t *testing.T) {
	s := newSample(t)
	view := s.log.View()
	sigstore, err := view.Sigstore(s.index, s.entries[s.index])
	check(t, err)
	leaf, err := base64.StdEncoding.DecodeString(sigstore.Material.Entries[0].Body)
	check(t, err)
	flips(leaf, ring.Size(37, 1, 1), func(changed []byte) bool {
		copied := *sigstore
		copied.Material.Entries = append(copied.Material.Entries[:0:0], copied.Material.Entries...)
		copied.Material.Entries[0].Body = base64.StdEncoding.EncodeToString(changed)
		return copied.CheckLeaf(s.key) == nil
	}, func(at int, _ []byte) { t.Errorf("byte %d of the leaf does not count", at) })
}

// TestBase64HasOneForm spells every base64 value of a seal in another way that decodes
// to the same bytes: none is accepted but in the signature of a note.
func TestBase64HasOneForm(t *testing.T) {
	s := newSample(t)
	candidate := File{Name: "candidate_bundle.json", Data: s.files["candidate_bundle.json"]}
	text := string(s.files["seal.json"])
	spelled := 0
	for _, field := range strings.FieldsFunc(text, func(r rune) bool {
		return strings.ContainsRune("\"\\ \n", r)
	}) {
		raw, err := base64.StdEncoding.DecodeString(field)
		if err != nil || len(raw) < 20 || strings.ContainsAny(field, "{}") {
			continue
		}
		loose := looseBase64(field)
		if strings.HasSuffix(loose, "\n") {
			loose = field + `\n`
		}
		changed := strings.Replace(text, `"`+field+`"`, `"`+loose+`"`, 1)
		if changed == text {
			continue
		}
		spelled++
		if Verify([]File{candidate, {Name: "seal.json", Data: []byte(changed)}}, s.trusted()).OK() {
			t.Errorf("%s is accepted", fmt.Sprintf("%.40q", loose))
		}
	}
	if spelled < 6 {
		t.Errorf("only %d values were spelled in another way", spelled)
	}
}
