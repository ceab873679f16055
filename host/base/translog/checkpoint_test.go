package translog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func sampleHead() Checkpoint {
	return Checkpoint{Origin: testOrigin, Size: 13, Root: LeafHash([]byte("root"))}
}

func TestCheckpoint(t *testing.T) {
	head, key := sampleHead(), logKeyOf(t, testOrigin)
	text, err := SignCheckpoint(head, checkpointKey("log key"))
	must(t, err)
	if want := testOrigin + "\n13\n" + head.Root.String() + "\n\n— " + testOrigin + " "; !strings.HasPrefix(
		text, want) {
		t.Errorf("got %q", text)
	}
	if again, _ := SignCheckpoint(head, checkpointKey("log key")); again != text {
		t.Error("two notes of one head")
	}
	if got, err := OpenCheckpoint(text, key); err != nil || *got != head {
		t.Errorf("got %v, %v", got, err)
	}
	// The library's own verifier agrees about key and note.
	v, err := note.NewVerifier(key.VKey())
	must(t, err)
	if _, err := note.Open([]byte(text), note.VerifierList(v)); err != nil {
		t.Error(err)
	}
	// Signatures by keys that nobody knows are ignored.
	other, err := SignCheckpoint(head, checkpointKey("other key"))
	must(t, err)
	witnessed := text + other[strings.Index(other, "— "):]
	if got, err := OpenCheckpoint(witnessed, key); err != nil || *got != head {
		t.Errorf("with a witness: %v, %v", got, err)
	}
	for what, bad := range map[string]string{
		"no signature": head.Text() + "\n", "another key": other, "nothing": "", "size changed": strings.Replace(text, "\n13\n", "\n14\n", 1),
		"long": text + strings.Repeat(other[strings.Index(other, "— "):], 1000),
	} {
		if got, err := OpenCheckpoint(bad, key); err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
	if _, err := OpenCheckpoint(text); err == nil {
		t.Error("opened without a key")
	}
}

// TestSignedButNoCheckpoint signs texts that are notes, yet no checkpoints of ours.
func TestSignedButNoCheckpoint(t *testing.T) {
	key := logKeyOf(t, testOrigin)
	root := sampleHead().Root.String()
	for what, text := range map[string]string{
		"extension": testOrigin + "\n13\n" + root + "\nmore\n", "two lines": testOrigin + "\n13\n",
		"leading zero": testOrigin + "\n013\n" + root + "\n",
		"sign":         testOrigin + "\n+13\n" + root + "\n", "short root": testOrigin + "\n13\nYQ==\n",
		"no origin":           "\n13\n" + root + "\n",
		"other origin":        "other.lab.example\n13\n" + root + "\n",
		"root in another way": testOrigin + "\n13\n" + root[:42] + string(root[42]+1) + "=\n",
	} {
		signed, err := note.Sign(&note.Note{Text: text}, logSigner{key, checkpointKey("log key")})
		must(t, err)
		if got, err := OpenCheckpoint(string(signed), key); err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestNoteAcceptsLooseBase64 is why a checkpoint is known by origin, size and root.
func TestNoteAcceptsLooseBase64(t *testing.T) {
	head, key := sampleHead(), logKeyOf(t, testOrigin)
	text, err := SignCheckpoint(head, checkpointKey("log key"))
	must(t, err)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	i := len(text) - 3 // the letter before "=\n"
	loose := text[:i] + string(alphabet[strings.IndexByte(alphabet, text[i])+1]) + text[i+1:]
	got, err := OpenCheckpoint(loose, key)
	if loose == text || err != nil || *got != head {
		t.Errorf("%q: %v, %v", loose, got, err)
	}
}

func TestVKey(t *testing.T) {
	// Keys are tried until one's base64 has a plus, which is also the separator.
	for i := 0; ; i++ {
		key, err := NewLogKey(testOrigin, checkpointKey(fmt.Sprint(i)).Public().(ed25519.PublicKey))
		must(t, err)
		vkey := key.VKey()
		for _, text := range []string{vkey, vkey + "\n"} {
			got, err := ParseLogKey(text)
			if err != nil || got.Origin != key.Origin || !got.Public.Equal(key.Public) {
				t.Fatalf("%s: %v, %v", text, got, err)
			}
		}
		if strings.Count(vkey, "+") > 2 {
			break
		}
	}
	good := logKeyOf(t, testOrigin).VKey()
	parts := strings.SplitN(good, "+", 3)
	ecdsa := base64.StdEncoding.EncodeToString(append([]byte{2}, make([]byte, 32)...))
	for _, bad := range []string{"", parts[0], parts[0] + "+" + parts[1], parts[0] + "+00000000+" + parts[2],
		"other.lab.example+" + parts[1] + "+" + parts[2],
		parts[0] + "+" + strings.ToUpper(parts[1]) + "+" + parts[2], parts[0] + "+" + parts[1] + "+" + ecdsa,
		good + "\n\n", " " + good,
		parts[0] + "+" + parts[1] + "+" + parts[2] + "\n="} {
		if key, err := ParseLogKey(bad); err == nil && bad != good {
			t.Errorf("%q is %v", bad, key)
		}
	}
}

func TestValidOrigin(t *testing.T) {
	for _, ok := range []string{"governance.local", "a", "a-b.c1", strings.Repeat("a", 63) + ".x"} {
		if !ValidOrigin(ok) {
			t.Errorf("%q is refused", ok)
		}
	}
	for _, bad := range []string{"", ".", "a..b", "A.b", "a b", "a+b", "a:8010", "-a", "a-", "a/b",
		strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a", "ä"} {
		if ValidOrigin(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := NewLogKey(testOrigin, nil); err == nil {
		t.Error("a log key without key")
	}
	if _, err := SignCheckpoint(Checkpoint{Origin: "A b"}, checkpointKey("log key")); err == nil {
		t.Error("signed for a name that is none")
	}
}

func FuzzOpenCheckpoint(f *testing.F) {
	key := logKeyOf(f, testOrigin)
	good, err := SignCheckpoint(sampleHead(), checkpointKey("log key"))
	must(f, err)
	f.Add(good)
	f.Add(strings.Replace(good, "13", "14", 1))
	f.Add("a\n0\n" + tlog.Hash{}.String() + "\n\n— a AAAAAAA=\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := PeekCheckpoint(text); err != nil {
			if _, err := OpenCheckpoint(text, key); err == nil {
				t.Fatalf("%q opens, yet cannot be read", text)
			}
			return
		}
		if got, err := OpenCheckpoint(text, key); err == nil && *got != sampleHead() {
			t.Fatalf("forged %v: %q", got, text)
		}
	})
}

const testOrigin = "governance.lab.example"

func checkpointKey(name string) ed25519.PrivateKey {
	d := sha256.Sum256([]byte("TEST ONLY " + name))
	return ed25519.NewKeyFromSeed(d[:])
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func logKeyOf(t testing.TB, origin string) LogKey {
	t.Helper()
	key, err := NewLogKey(origin, checkpointKey("log key").Public().(ed25519.PublicKey))
	must(t, err)
	return key
}
