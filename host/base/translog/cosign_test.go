package translog

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

func witnessOf(t testing.TB, name string) (WitnessKey, ed25519.PrivateKey) {
	t.Helper()
	private := checkpointKey(name)
	key, err := NewWitnessKey(name, private.Public().(ed25519.PublicKey))
	must(t, err)
	return key, private
}

func signed(t testing.TB) string {
	t.Helper()
	text, err := SignCheckpoint(sampleHead(), checkpointKey("log key"))
	must(t, err)
	return text
}

var cosignedAt = time.Unix(1679315147, 0).UTC()

// TestCosignature: the line has the form of C2SP tlog-cosignature, and verifies by the message that is
// written there.
func TestCosignature(t *testing.T) {
	key, private := witnessOf(t, "witness.example.com/w1")
	line, err := Cosign(sampleHead(), key.Witness, private, cosignedAt)
	must(t, err)
	blob, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(line, "— witness.example.com/w1 "), "\n"))
	must(t, err)
	if len(blob) != 4+8+64 || binary.BigEndian.Uint32(blob) != key.KeyHash() || binary.BigEndian.Uint64(blob[4:]) != 1679315147 {
		t.Fatalf("%x", blob)
	}
	message := "cosignature/v1\ntime 1679315147\n" + testOrigin + "\n13\n" + sampleHead().Root.String() + "\n"
	if !ed25519.Verify(key.Public, []byte(message), blob[12:]) {
		t.Error("another message was signed")
	}
	note := WithCosignatures(signed(t), line, line)
	if strings.Count(note, line) != 1 {
		t.Errorf("%q", note)
	}
	list, err := Cosignatures(note, key)
	if err != nil || len(list) != 1 || !list[0].At.Equal(cosignedAt) || list[0].Line != line {
		t.Fatalf("%+v, %v", list, err)
	}
	if got, err := OpenCheckpoint(note, logKeyOf(t, testOrigin)); err != nil || *got != sampleHead() {
		t.Errorf("%v, %v", got, err)
	}
	other, _ := witnessOf(t, "other")
	if list, err := Cosignatures(note, other); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := Cosignatures(strings.Replace(note, "\n13\n", "\n14\n", 1), key); err == nil {
		t.Errorf("of another checkpoint: %v", list)
	}
}

func TestWitnessKeys(t *testing.T) {
	key, _ := witnessOf(t, "witness.example.com")
	got, err := ParseWitnessKey(key.VKey() + "\n")
	if err != nil || got.Witness != key.Witness || !got.Public.Equal(key.Public) {
		t.Fatalf("%v, %v", got, err)
	}
	log := logKeyOf(t, testOrigin).VKey()
	if _, err := ParseWitnessKey(log); err == nil {
		t.Error("the key of a log is that of a witness")
	}
	if _, err := ParseLogKey(key.VKey()); err == nil {
		t.Error("the key of a witness is that of a log")
	}
	for _, name := range []string{"", "a b", "a+b", "a\u2003b", "\xff", strings.Repeat("a", 129)} {
		if _, err := NewWitnessKey(name, key.Public); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	for _, bad := range []string{"", "a", "a+b", strings.Replace(key.VKey(), "+", "+0", 1), "x" + key.VKey()} {
		if _, err := ParseWitnessKey(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}

func TestQuorum(t *testing.T) {
	one, oneKey := witnessOf(t, "one")
	two, twoKey := witnessOf(t, "two")
	own, err := NewWitnessKey("own", checkpointKey("log key").Public().(ed25519.PublicKey))
	must(t, err)
	line := func(name string, key ed25519.PrivateKey) string {
		text, err := Cosign(sampleHead(), name, key, cosignedAt)
		must(t, err)
		return text
	}
	log := logKeyOf(t, testOrigin)
	both := WithCosignatures(signed(t), line("one", oneKey), line("two", twoKey))
	single := WithCosignatures(signed(t), line("one", oneKey))
	plane := WithCosignatures(single, line("own", checkpointKey("log key")))
	for name, c := range map[string]struct {
		vkeys []string
		need  int
		note  string
		ok    bool
	}{
		"both":              {[]string{one.VKey(), two.VKey()}, 0, both, true},
		"one of two":        {[]string{one.VKey(), two.VKey()}, 1, single, true},
		"all, one there":    {[]string{one.VKey(), two.VKey()}, 0, single, false},
		"none asked for":    {nil, 0, signed(t), true},
		"the log's own key": {[]string{one.VKey(), own.VKey()}, 2, plane, false},
		"no cosignature":    {[]string{one.VKey()}, 1, signed(t), false},
	} {
		q, err := NewQuorum(c.vkeys, c.need)
		must(t, err)
		if err := q.Check(c.note, log); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := NewWitnessKey("again", one.Public)
	must(t, err)
	for name, c := range map[string]struct {
		vkeys []string
		need  int
	}{
		"a key under two names": {[]string{one.VKey(), again.VKey()}, 0}, "more than there are": {[]string{one.VKey()}, 2},
		"less than none": {[]string{one.VKey()}, -1}, "no key": {[]string{"x"}, 0},
	} {
		if _, err := NewQuorum(c.vkeys, c.need); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestExtension(t *testing.T) {
	e := Extension{Old: 5, Hashes: []tlog.Hash{LeafHash([]byte("a")), LeafHash([]byte("b"))}, Note: signed(t)}
	got, err := ParseExtension(e.Format())
	if err != nil || got.Format() != e.Format() || len(got.Hashes) != 2 || got.Old != 5 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "old 5\n", "old 05\n\n" + e.Note, "new 5\n\n" + e.Note, "old 5\nxx\n\n" + e.Note, "old 5\n\n\n" + e.Note,
		"old 5\n" + strings.Repeat(e.Hashes[0].String()+"\n", 64) + "\n" + e.Note, e.Format()[:60], strings.Repeat("x", MaxExtension+1)} {
		if _, err := ParseExtension(bad); err == nil {
			t.Errorf("%.80q is one", bad)
		}
	}
}

// TestContinues: only what grew from the checkpoint that was kept continues it.
func TestContinues(t *testing.T) {
	head := sampleHead()
	other := head
	other.Root[0] ^= 1
	smaller := head
	smaller.Size--
	elsewhere := head
	elsewhere.Origin = "elsewhere.example"
	for name, c := range map[string]struct {
		proof     []tlog.Hash
		old, head Checkpoint
		ok        bool
	}{
		"the same":              {nil, head, head, true},
		"from nothing":          {nil, Checkpoint{Origin: testOrigin}, head, true},
		"the same with a proof": {[]tlog.Hash{{}}, head, head, false},
		"another root":          {nil, head, other, false}, "smaller": {nil, head, smaller, false},
		"another log": {nil, head, elsewhere, false}, "without a proof": {nil, smaller, head, false},
	} {
		if err := Continues(c.proof, c.old, c.head); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseExtension(f *testing.F) {
	f.Add("old 5\n" + tlog.Hash{}.String() + "\n\n" + signed(f))
	f.Add("old 0\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ParseExtension(text); err == nil && e.Format() != text {
			t.Fatalf("%q is read as %q", text, e.Format())
		}
	})
}

func FuzzWitnessKey(f *testing.F) {
	key, _ := witnessOf(f, "witness.example.com")
	f.Add(key.VKey())
	f.Add("a+00000000+AA==")
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := ParseWitnessKey(text); err == nil && k.VKey() != strings.TrimSuffix(text, "\n") {
			t.Fatalf("%q is read as %s", text, k.VKey())
		}
		_, _ = ParseLogKey(text)
	})
}

func FuzzCosignatures(f *testing.F) {
	key, private := witnessOf(f, "w")
	line, err := Cosign(sampleHead(), "w", private, cosignedAt)
	must(f, err)
	f.Add(WithCosignatures(signed(f), line))
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Cosignatures(text, key)
		if err == nil && len(list) > 0 {
			if c, err := PeekCheckpoint(text); err == nil && (*c != sampleHead() || !list[0].At.Equal(cosignedAt)) {
				t.Fatalf("forged: %v at %v", c, list[0].At)
			}
		}
	})
}

func FuzzKept(f *testing.F) {
	good, err := Keep(sampleHead(), logKeyOf(f, testOrigin), signed(f)).Encode()
	must(f, err)
	f.Add(good)
	f.Add([]byte(`{"schema":"log-memory/v1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := ParseKept(text)
		if err != nil {
			return
		}
		if c, err := k.Checkpoint(); err != nil || c.Size < 1 {
			t.Fatalf("%+v, %v", k, err)
		}
	})
}

func TestKept(t *testing.T) {
	good, err := Keep(sampleHead(), logKeyOf(t, testOrigin), signed(t)).Encode()
	must(t, err)
	k, err := ParseKept(good)
	must(t, err)
	if c, err := k.Checkpoint(); err != nil || c != sampleHead() {
		t.Errorf("%v, %v", c, err)
	}
	for _, change := range [][2]string{{`"size":13`, `"size":14`}, {testOrigin + `"`, `other.example"`}, {"v1", "v2"}, {`"size"`, `"sizes"`}} {
		if _, err := ParseKept([]byte(strings.Replace(string(good), change[0], change[1], 1))); err == nil {
			t.Errorf("%s for %s is accepted", change[1], change[0])
		}
	}
}
