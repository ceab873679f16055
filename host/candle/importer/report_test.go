package importer

import (
	"slices"
	"strings"
	"testing"
)

func TestFiveCases(t *testing.T) {
	e := Refuse(BadNumber, "%d rows", 9)
	for i := range 9 {
		if full := e.Add("x.csv", i+1, "row"); full != (i >= 4) {
			t.Errorf("case %d: full %v", i, full)
		}
	}
	if len(e.Cases) != 5 || e.Cases[4].Line != 5 || e.Message != "9 rows" {
		t.Errorf("%+v", e)
	}
}

func TestErrorText(t *testing.T) {
	if got := Refuse(NoRows, "empty").Error(); got != "NO_ROWS: empty" {
		t.Error(got)
	}
	if got := Refuse(Encoding, "cut").At("x.csv", 3,
		"a\nb").Error(); got != "ENCODING: cut (x.csv line 3: a\ufffdb)" {
		t.Error(got)
	}
	if got := (&OptionError{Flag: "--tz", Message: "is odd"}).Error(); got != "--tz: is odd" {
		t.Error(got)
	}
}

func TestCodesAreDistinct(t *testing.T) {
	codes := Codes()
	slices.Sort(codes)
	if len(codes) != 16 || len(slices.Compact(codes)) != 16 {
		t.Errorf("%v", codes)
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r\n":              "plain",
		"a\x00b\tc":              "a\ufffdb\tc",
		"\xff":                   "\ufffd",
		strings.Repeat("é", 200): strings.Repeat("é", 120) + "…",
	} {
		if got := Shorten(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
