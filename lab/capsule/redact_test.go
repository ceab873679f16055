package capsule

import (
	"strings"
	"testing"
)

func TestRedactorText(t *testing.T) {
	r := NewRedactor([]string{
		"EXCHANGE_SECRET=swordfish-4711", "API_TOKEN=swordfish", "SHORT_TOKEN=abc", "HOME=/home/alice",
		"EDITOR=vi", "binance_api_key=k-123456", "PASSWORD=",
	}, "/home/alice/")
	for _, c := range []struct{ in, out, reason string }{
		{"all is well at candle 137", "all is well at candle 137", ""},
		{"signed with swordfish-4711.", "signed with [redacted].", reasonValue},
		{"swordfish and k-123456", "[redacted] and [redacted]", reasonValue},
		{"abc stays: it is too short", "abc stays: it is too short", ""},
		{"open /home/alice/keys: denied", "open ~/keys: denied", reasonHome},
		{"GET https://bob:hunter2@venue.example/x", "GET https://bob:[redacted]@venue.example/x", reasonCredential},
		{"Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer [redacted]",
			reasonCredential},
		{"sent bearer abcdefghijklmnop01", "sent bearer [redacted]", reasonCredential},
		{`{"api_key":"zzz999","n":1}`, `{"api_key":"[redacted]","n":1}`, reasonCredential},
		{"DB_PASSWORD=zzz999 next", "DB_PASSWORD=[redacted] next", reasonCredential},
		{"id AKIAABCDEFGHIJKLMNOP used", "id [redacted] used", reasonCredential},
		{"-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nafter", "[redacted]\nafter",
			reasonCredential},
		{"-----BEGIN PRIVATE KEY-----\ncut off", "[redacted]", reasonCredential},
		{"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "jwt [redacted]", reasonCredential},
		{"a basic strategy and a bearer market", "a basic strategy and a bearer market", ""},
	} {
		out, reason := r.Text(c.in)
		if out != c.out || reason != c.reason {
			t.Errorf("%q: %q for %q, want %q for %q", c.in, out, reason, c.out, c.reason)
		}
		if again, _ := r.Text(out); again != out {
			t.Errorf("%q: redacted twice it is %q", c.in, again)
		}
	}
}

func TestSealListsWhatIsGone(t *testing.T) {
	c := example()
	c.Error.Message = "key swordfish-4711 refused"
	c.Error.StderrTail = "EXCHANGE_SECRET=swordfish-4711"
	c.Replay.Take.Params = []byte(`{"fast":5,"api_key":"own","deep":{"a/b":"swordfish-4711"}}`)
	if err := c.Seal(NewRedactor([]string{"EXCHANGE_SECRET=swordfish-4711"}, "")); err != nil {
		t.Fatal(err)
	}
	want := []Redaction{
		{"/error/message", reasonValue}, {"/error/stderr_tail", reasonValue},
		{"/replay/take/params/api_key", reasonName}, {"/replay/take/params/deep/a~1b", reasonValue},
	}
	if len(c.Integrity.Redactions) != len(want) {
		t.Fatalf("%+v", c.Integrity.Redactions)
	}
	for i, r := range c.Integrity.Redactions {
		if r != want[i] {
			t.Errorf("%+v, want %+v", r, want[i])
		}
	}
	text, err := c.Encode()
	if err != nil || strings.Contains(string(text), "swordfish") || strings.Contains(string(text), `"own"`) {
		t.Errorf("%v\n%s", err, text)
	}
	if !c.Lost() {
		t.Error("a replay would not notice")
	}
	plain := example()
	if err := plain.Seal(NewRedactor(nil, "")); err != nil || plain.Lost() ||
		len(plain.Integrity.Redactions) != 0 {
		t.Errorf("%v, %+v", err, plain.Integrity)
	}
}
