package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/translog"
)

const sampleTime = "2026-11-20T12:30:00Z"

func sampleSeal(t testing.TB) (*Seal, *Log, []Entry) {
	t.Helper()
	log, entries := newLog(t, 13)
	seal, err := log.View().Seal(12, entries[12])
	must(t, err)
	return seal, log, entries
}

func TestSeal(t *testing.T) {
	seal, log, entries := sampleSeal(t)
	text, err := seal.Canonical()
	must(t, err)
	again, err := ParseSeal(text)
	must(t, err)
	key, logs := public(t), trustedLogs(t)
	must(t, again.Sigstore.CheckSignature(key))
	must(t, again.Sigstore.CheckLeaf(key))
	head, trusted, err := again.Sigstore.CheckCheckpoint(logs...)
	must(t, err)
	if *head != log.View().Head || trusted.Origin != testOrigin {
		t.Errorf("%v of %v", head, trusted)
	}
	must(t, again.Sigstore.CheckInclusion(key, head))
	must(t, again.Sigstore.CheckProof(again.TlogProof, key, head, logs...))
	must(t, again.CheckSummary(key, head))
	if e, err := again.Sigstore.Entry(); err != nil || string(e.Payload) != string(entries[12].Payload) {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := log.View().Seal(11, entries[12]); err == nil {
		t.Error("an entry was sealed under another's index")
	}
	if _, err := log.View().Seal(13, entries[12]); err == nil {
		t.Error("an entry was sealed that is not in the log")
	}
	if _, _, err := again.Sigstore.CheckCheckpoint(); err == nil {
		t.Error("a checkpoint is trusted without a key")
	}
}

// TestSealOfOne has an empty path, which must be an empty list and not null.
func TestSealOfOne(t *testing.T) {
	log, entries := newLog(t, 1)
	seal, err := log.View().Seal(0, entries[0])
	must(t, err)
	text, err := seal.Canonical()
	must(t, err)
	if !strings.Contains(string(text), `"hashes":[]`) {
		t.Errorf("%s", text)
	}
	if _, err := ParseSeal(text); err != nil {
		t.Error(err)
	}
	if _, err := ParseSeal(
		[]byte(strings.Replace(string(text), `"hashes":[]`, `"hashes":null`, 1))); err == nil {
		t.Error("a path of null is taken")
	}
}

func TestSigstoreForm(t *testing.T) {
	seal, log, _ := sampleSeal(t)
	text, err := seal.Sigstore.Canonical()
	must(t, err)
	again, err := ParseSigstore(text)
	must(t, err)
	if second, _ := again.Canonical(); string(second) != string(text) {
		t.Error("another text the second time")
	}
	id := logKeyOf(t, testOrigin).ID()
	for _, want := range []string{
		`"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"`, `"logIndex":"12"`, `"treeSize":"13"`,
		`"logId":{"keyId":"` + encode64(id[:]) + `"}`,
		`"kindVersion":{"kind":"hashedrekord","version":"0.0.2"}`,
		`"publicKey":{"hint":"` + public(t).hint() + `"}`, `"keyid":""`,
		`"payloadType":"application/vnd.in-toto+json"`, `"rootHash":"` + log.View().Head.Root.String() + `"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// TestParseSealRefuses changes the text, always to something that a lenient reader
// takes.
func TestParseSealRefuses(t *testing.T) {
	seal, _, _ := sampleSeal(t)
	good, err := seal.Canonical()
	must(t, err)
	for what, change := range map[string][2]string{
		"unknown member":   {`"schema":`, `"x":1,"schema":`},
		"member twice":     {`"log_index":12`, `"log_index":12,"log_index":12`},
		"member missing":   {`"assurance":"hash_verified",`, ``},
		"other case":       {`"log_index"`, `"Log_index"`},
		"null":             {`"log_index":12`, `"log_index":null`},
		"number as string": {`"log_index":12`, `"log_index":"12"`},
		"string as number": {`"treeSize":"13"`, `"treeSize":13`},
		"leading zero":     {`"treeSize":"13"`, `"treeSize":"013"`},
		"negative":         {`"log_index":12`, `"log_index":-12`},
		"schema":           {`"seal/v1"`, `"seal/v2"`},
		"media type":       {`bundle.v0.3+json`, `bundle.v0.2+json`},
		"keyid":            {`"keyid":""`, `"keyid":"x"`},
		"upper-case hex":   {`"leaf_sha256":"` + seal.LeafSHA256, `"leaf_sha256":"` + strings.ToUpper(seal.LeafSHA256)},
		"local time":       {sampleTime, "2026-11-20T12:30:00+00:00"},
		"no time":          {sampleTime, "now"},
		"proof":            {translog.ProofHeader, "c2sp.org/tlog-proof@v2"},
		"two entries":      {`"tlogEntries":[`, `"tlogEntries":[{},`},
		"index twice":      {`"logIndex":"12","rootHash"`, `"logIndex":"11","rootHash"`},
		"behind it":        {`{"assurance"`, `{}{"assurance"`},
		"NUL":              {`"hash_verified"`, `"\u0000"`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if bad == string(good) {
			t.Errorf("%s: nothing changed", what)
		}
		if _, err := ParseSeal([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// TestOldCheckpoint: a proof in an older tree is a proof as well, but seal and proof
// text must be of one tree.
func TestOldCheckpoint(t *testing.T) {
	seal, log, _ := sampleSeal(t)
	batch, err := log.Prepare(entry(t, 13))
	must(t, err)
	must(t, log.Commit(batch))
	newer, err := log.View().Proof(12)
	must(t, err)
	head, _, err := seal.Sigstore.CheckCheckpoint(trustedLogs(t)...)
	must(t, err)
	err = seal.Sigstore.CheckProof(newer.Format(), public(t), head, trustedLogs(t)...)
	var m *Mismatch
	if !errors.As(err, &m) || m.What != "tlog-proof checkpoint" || !strings.Contains(m.Error(), "expected") {
		t.Errorf("got %v", err)
	}
}

// TestSummary: time and assurance of a seal are what its statement says.
func TestSummary(t *testing.T) {
	for payload, want := range map[string][2]string{
		`{"predicate":{"received_at":"a","rungs":["signed","hash_claimed"]}}`: {"a", "signed"},
		`{"predicate":{"recorded_at":"b"}}`:                                   {"b", ""},
		`{"predicate":{"evaluated_at":"c","rungs":[1]}}`:                      {"c", ""},
	} {
		if at, assurance, err := summary([]byte(payload)); err != nil || at != want[0] ||
			assurance != want[1] {
			t.Errorf("%s: %q, %q, %v", payload, at, assurance, err)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"predicate":{}}`, `{"predicate":{"received_at":1}}`} {
		if _, _, err := summary([]byte(bad)); err == nil {
			t.Errorf("%q has a summary", bad)
		}
	}
}

func TestHighest(t *testing.T) {
	for want, held := range map[string][]string{"": nil, "hash_claimed": {"hash_claimed", "x"},
		"signed":     {"signed", "hash_verified"},
		"reproduced": {"hash_claimed", "reproduced", "signed"}} {
		if got := Highest(held); got != want {
			t.Errorf("%v: %q", held, got)
		}
	}
}

func TestProofText(t *testing.T) {
	seal, log, _ := sampleSeal(t)
	if want := "c2sp.org/tlog-proof@v1\nindex 12\n"; !strings.HasPrefix(seal.TlogProof, want) ||
		!strings.HasSuffix(seal.TlogProof, "\n\n"+log.View().Note) {
		t.Errorf("got %q", seal.TlogProof)
	}
	p, err := translog.ParseProof(seal.TlogProof)
	must(t, err)
	if p.Format() != seal.TlogProof || p.Index != 12 || len(p.Hashes) != 2 {
		t.Errorf("got %+v", p)
	}
	hash := p.Hashes[0].String()
	for what, change := range map[string][2]string{
		"header": {"@v1", "@v2"}, "extra": {"\nindex", "\nextra YQ==\nindex"},
		"index": {"index 12", "index 012"}, "no index": {"index 12\n", ""},
		"hash": {hash, hash[:43]}, "loose hash": {hash, hash[:42] + string(hash[42]+1) + "="},
		"return":        {"index 12\n", "index 12\r\n"},
		"no empty line": {"\n\n" + testOrigin, "\n" + testOrigin}, "blank": {"index 12", "index  12"},
		"no note": {log.View().Note, ""},
		"many":    {hash + "\n", strings.Repeat(hash+"\n", 70)},
	} {
		bad := strings.Replace(seal.TlogProof, change[0], change[1], 1)
		if got, err := translog.ParseProof(bad); err == nil || bad == seal.TlogProof {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestTrustedRoot(t *testing.T) {
	key := logKeyOf(t, testOrigin)
	start := time.Date(2026, 11, 20, 13, 0, 0, 0, time.FixedZone("", 3600))
	text, err := TrustedRoot(start, key)
	must(t, err)
	id := key.ID()
	for _, want := range []string{`"baseUrl":"https://governance.lab.example"`, `"hashAlgorithm":"SHA2_256"`, `"keyDetails":"PKIX_ED25519"`,
		`"validFor":{"start":"2026-11-20T12:00:00Z"}`, `"logId":{"keyId":"` + encode64(id[:]) + `"}`,
		`"checkpointKeyId":{"keyId":"` + encode64(id[:]) + `"}`,
		`"certificateAuthorities":[]`, `"ctlogs":[]`, `"timestampAuthorities":[]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	logs, err := ParseTrustedRoot(text)
	must(t, err)
	if len(logs) != 1 || logs[0].VKey() != key.VKey() || !logs[0].Covers(start) ||
		logs[0].Covers(start.Add(-time.Second)) {
		t.Errorf("%+v", logs)
	}
	ended := strings.Replace(string(text), `"start":"2026-11-20T12:00:00Z"`,
		`"start":"2026-11-20T12:00:00Z","end":"2026-11-21T12:00:00Z"`, 1)
	if logs, err = ParseTrustedRoot([]byte(ended)); err != nil || logs[0].Covers(start.AddDate(0, 0, 2)) {
		t.Errorf("%+v, %v", logs, err)
	}
	for what, change := range map[string][2]string{
		"media type": {"version=0.1", "version=0.2"}, "origin": {"governance.lab", "other.lab"},
		"hash": {"SHA2_256", "SHA2_512"}, "details": {"PKIX_ED25519", "PKIX_ED25519_PH"},
		"start":   {"2026-11-20T12:00:00Z", "x"},
		"unknown": {`"ctlogs":`, `"x":1,"ctlogs":`}, "key": {"MCowBQYDK2Vw", "MCowBQYDK2Vv"},
		"id":   {encode64(id[:]), encode64(make([]byte, 32))},
		"JSON": {"{", ""},
	} {
		bad := strings.Replace(string(text), change[0], change[1], 1)
		if logs, err := ParseTrustedRoot([]byte(bad)); err == nil || bad == string(text) {
			t.Errorf("%s: %+v", what, logs)
		}
	}
}

func TestInfo(t *testing.T) {
	log, _ := newLog(t, 3)
	text, err := digest.JCS(log.View().Info())
	must(t, err)
	info, err := ParseInfo(text)
	must(t, err)
	if *info != log.View().Info() {
		t.Errorf("%+v", info)
	}
	for _, change := range [][2]string{{"sha256:", "sha512:"}, {`"size":3`, `"size":-3`},
		{`"origin":"g`, `"origin":"G`}, {"{", `{"x":1,`}, {`sha256:`, `sha256:0`}} {
		if info, err := ParseInfo(
			[]byte(strings.Replace(string(text), change[0], change[1], 1))); err == nil {
			t.Errorf("%v: %+v", change, info)
		}
	}
}

func FuzzParseProof(f *testing.F) {
	seal, _, _ := sampleSeal(f)
	f.Add(seal.TlogProof)
	f.Add("c2sp.org/tlog-proof@v1\nindex 0\n\na\n1\nAA==\n\n— a AAAAAAA=\n")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := translog.ParseProof(text); err == nil && p.Format() != text {
			t.Fatalf("%q is read as %q", text, p.Format())
		}
	})
}

func FuzzParseSigstore(f *testing.F) {
	seal, _, _ := sampleSeal(f)
	text, err := seal.Sigstore.Canonical()
	must(f, err)
	f.Add(text)
	f.Add([]byte(
		`{"mediaType":"` + SigstoreMediaType +
			`","verificationMaterial":{"publicKey":{"hint":""},"tlogEntries":[]},"dsseEnvelope":{}}`))
	key, logs := public(f), trustedLogs(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := ParseSigstore(in)
		if err != nil {
			return
		}
		out, err := s.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := digest.CanonicalJSON(in)
		if err != nil || string(out) != string(canonical) {
			t.Fatalf("%q is read as %q", in, out)
		}
		if head, _, err := s.CheckCheckpoint(logs...); err == nil && s.CheckLeaf(key) == nil &&
			s.CheckInclusion(key, head) == nil && string(out) != string(text) {
			// Another note of the same checkpoint is all that may differ.
			s.Material.Entries[0].Proof.Checkpoint.Envelope = seal.Sigstore.Material.Entries[0].Proof.Checkpoint.Envelope
			s.Material.PublicKey.Hint = seal.Sigstore.Material.PublicKey.Hint
			if same, _ := s.Canonical(); string(same) != string(text) {
				t.Fatalf("forged: %q", in)
			}
		}
	})
}

func FuzzParseSeal(f *testing.F) {
	seal, _, _ := sampleSeal(f)
	text, err := seal.Canonical()
	must(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := ParseSeal(in)
		if err != nil {
			return
		}
		out, err := s.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseSeal(out); err != nil {
			t.Fatalf("%q is not read again: %v", out, err)
		}
	})
}

func FuzzParseChain(f *testing.F) {
	seal, _, _ := sampleSeal(f)
	text, err := digest.JCS(Chain{SchemaChain, testOrigin, "", []Change{{seal.Sigstore, seal.TlogProof}}})
	must(f, err)
	f.Add(text)
	f.Add([]byte(`{"schema":"key-rotations/v1","log_origin":"a","checkpoint":"","rotations":[]}`))
	key, logs := public(f), trustedLogs(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := ParseChain(in)
		if err != nil {
			return
		}
		if known, err := c.Keys(key, translog.Quorum{}, logs...); err == nil && len(known.Ring) != len(c.Changes)+1 {
			t.Fatalf("%d keys of %d changes", len(known.Ring), len(c.Changes))
		}
	})
}

func FuzzParseTrustedRoot(f *testing.F) {
	text, err := TrustedRoot(time.Unix(0, 0), logKeyOf(f, testOrigin))
	must(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, in []byte) {
		logs, err := ParseTrustedRoot(in)
		if err == nil && len(logs) == 0 {
			t.Fatal("no log and no error")
		}
	})
}
