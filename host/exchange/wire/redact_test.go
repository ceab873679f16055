package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/assay-run/assay/host/exchange"
)

const canary = `Kq/7+x"Zz&<é9=`

func TestRedactsValues(t *testing.T) {
	var r Redactor
	r.Add(exchange.NewSecret(canary), exchange.NewSecret("short"), exchange.Secret{})
	quoted, _ := json.Marshal(canary)
	for _, form := range []string{
		canary, url.QueryEscape(canary), url.PathEscape(canary), lowerPercent(url.QueryEscape(canary)),
		base64.StdEncoding.EncodeToString([]byte(canary)),
		base64.RawURLEncoding.EncodeToString([]byte(canary)),
		base64.StdEncoding.EncodeToString([]byte("user:" + canary)),
		base64.StdEncoding.EncodeToString([]byte("u:" + canary + "tail")),
		base64.StdEncoding.EncodeToString([]byte("me:" + canary + "x")), string(quoted),
	} {
		got := r.Text("before " + form + " after")
		if !strings.Contains(got, hidden) || strings.Contains(got, canary) ||
			!strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%q became %q", form, got)
		}
		if strings.Contains(got, form[4:len(form)-4]) {
			t.Errorf("%q is still in %q", form, got)
		}
	}
	if got := r.Text("a short text"); got != "a short text" {
		t.Errorf("five characters are a word: %q", got)
	}
	r.Forget()
	if got := r.Text(canary); got != canary {
		t.Errorf("after Forget: %q", got)
	}
}

func TestRedactsPatterns(t *testing.T) {
	var r Redactor
	for in, want := range map[string]string{
		`Post "https://x/api/v3/order?symbol=B&timestamp=1700&signature=deadbeef": EOF`: `Post "https://x/api/v3/order?symbol=B&timestamp=[redacted]&signature=[redacted]": EOF`,
		`SIGNATURE=ab cd`:                              `SIGNATURE=[redacted] cd`,
		`u=http%3A%2F%2Fx%3Fsignature%3Dab12%26b`:      `u=http%3A%2F%2Fx%3Fsignature%3D[redacted]`,
		`X-MBX-APIKEY: abc123`:                         `X-MBX-APIKEY: [redacted]`,
		`map[X-Mbx-Apikey:[abc123] Accept:[*/*]]`:      `map[X-Mbx-Apikey:[[redacted]] Accept:[*/*]]`,
		`{"Authorization":"Bearer a.b.c","ok":1}`:      `{"Authorization":"[redacted]","ok":1}`,
		"Authorization: Basic dXNlcg==\nHost: x":       "Authorization: [redacted]\nHost: x",
		`{"KC-API-PASSPHRASE":"x","X-Api-Token": "y"}`: `{"KC-API-PASSPHRASE":"[redacted]","X-Api-Token": "[redacted]"}`,
		`{"apiKey":"abc"}`:                             `{"apiKey":"[redacted]"}`,
		`the signature is wrong`:                       `the signature is wrong`,
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestRedactsErrors(t *testing.T) {
	var r Redactor
	r.Add(exchange.NewSecret("topsecret"))
	err := r.Error(fmt.Errorf("wrapped: %w",
		&exchange.Error{Result: exchange.Result{Outcome: exchange.AuthFailed, Message: "topsecret"}}))
	var answer *exchange.Error
	if !errors.As(err, &answer) || answer.Result.Outcome != exchange.AuthFailed ||
		answer.Result.Message != hidden {
		t.Errorf("%v", err)
	}
	if err := r.Error(fmt.Errorf("x: %w", exchange.ErrEnded)); !errors.Is(err, exchange.ErrEnded) {
		t.Errorf("%v", err)
	}
	if err := r.Error(fmt.Errorf("x: %w", errors.ErrUnsupported)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if err := r.Error(errors.New("dial topsecret")); strings.Contains(err.Error(), "topsecret") ||
		r.Error(nil) != nil {
		t.Errorf("%v", err)
	}
	long := r.Result(exchange.Result{Message: strings.Repeat("é", 195) + "topsecret"})
	if strings.Contains(long.Message, "tops") || utf8.RuneCountInString(long.Message) > 200 ||
		long.Outcome != exchange.Unknown {
		t.Errorf("%+v", long)
	}
}

// FuzzRedact: whatever stands around a secret, it is not in what comes out, and redacting
// again changes nothing.
func FuzzRedact(f *testing.F) {
	f.Add("Kq7x+Zz/é9", "https://x?signature=", "&b")
	f.Add("abcabcabc", "abc", "abc")
	f.Add("redacted", "", "")
	f.Add("d]abcd", "d]abcd", "abcd")
	f.Add("=signature", "signature", "=x")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < minSecret || strings.Contains(hidden, secret) || strings.Contains(withheld, secret) {
			return
		}
		var r Redactor
		r.Add(exchange.NewSecret(secret))
		got := r.Text(before + secret + after)
		if strings.Contains(got, secret) {
			t.Errorf("%q is in %q", secret, got)
		}
		if again := r.Text(got); again != got {
			t.Errorf("%q became %q", got, again)
		}
	})
}
