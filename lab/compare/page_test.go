package compare

import (
	"bytes"
	"testing"

	"github.com/assay-run/assay/lab/page/pagetest"
)

// TestPage: the comparison as a page, whether it is real first, twice the same; hostile texts
// stay text.
func TestPage(t *testing.T) {
	w := three(t)
	c, err := w.try(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := c.WritePage(&first); err != nil {
		t.Fatal(err)
	}
	if err := c.WritePage(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two pages of one comparison differ", err)
	}
	pagetest.Check(t, first.Bytes())
	for _, want := range []string{"from the baseline", "logarithmic scale", "../run_better/report.html",
		", the baseline", "95 % interval"} {
		if !bytes.Contains(first.Bytes(), []byte(want)) {
			t.Errorf("%q is not on the page", want)
		}
	}
	h := pagetest.Hostile
	c.Slug, c.Split = h, h
	for i := range c.Runs {
		c.Runs[i].Kind, c.Runs[i].Status, c.Runs[i].Params = h, h, []byte(h)
	}
	first.Reset()
	if err := c.WritePage(&first); err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, first.Bytes())
}
