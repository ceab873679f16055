package schema

import (
	"testing"

	"github.com/assay-run/assay/host/base/digest"
)

func TestWording(t *testing.T) {
	d, err := Parse(
		[]byte(`{"s":{"type":"object","properties":{"one":{"minLength":1},"five":{"minLength":5,"maxLength":7},
		"word":{"enum":["paper","live"]},"few":{"enum":[1,null,true]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Compile("/s")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"one":""}`:          "must have at least 1 character",
		`{"five":"äöü"}`:      "must have at least 5 characters",
		`{"five":"ääääääää"}`: "has 8 characters, at most 7 are allowed",
		`{"word":"hunter2"}`:  "must be one of paper, live",
		`{"few":2}`:           "must be one of 1, null, true",
	} {
		v, err := digest.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Validate(v); len(got) != 1 || got[0].Message != want {
			t.Errorf("%s: %+v, want %q", text, got, want)
		}
	}
}
