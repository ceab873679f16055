package schema

import (
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// symbolPattern is that of the document.
const symbolPattern = `^[^/\s:]{1,32}/[^/\s:]{1,32}$`

func TestPatternsKnowUnicodeBlanks(t *testing.T) {
	p, err := compilePattern(symbolPattern)
	if err != nil {
		t.Fatal(err)
	}
	if p.String() != symbolPattern {
		t.Errorf("shown as %s", p)
	}
	for r := rune(0); r <= 0x3100; r++ {
		agree(t, p.MatchString, r)
	}
	for _, r := range []rune{'\ufefe', '\ufeff', '\uff00', '\U0001f600'} {
		agree(t, p.MatchString, r)
	}
	for _, blank := range []string{"\t", "\v", " ", "\u00a0", "\u1680", "\u2003", "\u2028", "\u202f",
		"\u205f", "\u3000", "\ufeff"} {
		if p.MatchString("B"+blank+"C/USD") || p.MatchString("BTC/U"+blank) {
			t.Errorf("%q is let through", blank)
		}
	}
}

// agree: the schema and the host take the same symbols.
func agree(t *testing.T, matches func(string) bool, r rune) {
	t.Helper()
	text := "B" + string(r) + "/USDT"
	if _, err := market.ParseSymbol(text); matches(text) != (err == nil) {
		t.Errorf("%q: the pattern says %v, the host %v", text, matches(text), err)
	}
}

func TestPatternTranslation(t *testing.T) {
	for written, want := range map[string]string{
		`^a\\s[0-9]\]$`: `^a\\s[0-9]\]$`,
		`[\S]\d`:        `[\S]\d`,
		`\s`:            "[" + blanks + "]",
		`\S[^\s]`:       "[^" + blanks + "][^" + blanks + "]",
		`x\`:            `x\`,
	} {
		if got := withBlanks(written); got != want {
			t.Errorf("%s becomes %s, want %s", written, got, want)
		}
	}
	if _, err := compilePattern(`(`); err == nil {
		t.Error("a broken pattern compiles")
	}
}
