package command_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/host/base/translog"
)

// read is an answer of the plane.
func (d *desk) read(path string) []byte {
	d.t.Helper()
	a, err := d.p.Get(path)
	if err != nil || a.Status != 200 {
		d.t.Fatalf("%s: %v %s", path, err, a.Body)
	}
	return a.Body
}

// receipt posts a bundle as its packer, and is the answer as it came.
func (d *desk) receipt(doc *bundle.Document) []byte {
	d.t.Helper()
	a, err := d.p.Submit(doc, planetest.Signed())
	if err != nil || a.Status/100 != 2 {
		d.t.Fatalf("%v %s", err, a.Body)
	}
	return a.Body
}

// earlier is what a plane has sealed before its keys change, and a forgery by whoever has these keys.
type earlier struct {
	doc, forged     *bundle.Document
	receipt, copied []byte
	key             []byte
	window          bundle.Challenge
	kept            *translog.Kept
}

// remember keeps what a plane has sealed under its first keys.
func (d *desk) remember() *earlier {
	d.t.Helper()
	e := &earlier{doc: planetest.Good(d.p.Now(), planetest.Title("sealed by the first key")), key: d.read("/trust/governance.pub")}
	e.receipt = d.receipt(e.doc)
	e.window = *d.window(e.doc, e.key)
	return e
}

func (d *desk) client(key []byte) *client.Client {
	d.t.Helper()
	c, err := client.New(client.Options{URL: d.p.URL, Key: key})
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *desk) window(doc *bundle.Document, key []byte) *bundle.Challenge {
	d.t.Helper()
	w, err := d.client(key).Challenge(d.t.Context(), &doc.Bundle)
	if err != nil {
		d.t.Fatal(err)
	}
	return w
}

// reading is the state of a revision as the service shows it to people.
func (d *desk) reading(key []byte, kept *translog.Kept, revision string) *client.Reading {
	d.t.Helper()
	for late := 0; ; late++ { // a busy machine may take longer than a page waits
		r, err := client.NewReader(client.ReaderOptions{URL: d.p.URL, HTTP: &http.Client{}, Key: key, Now: d.p.Now,
			Seen: func() (*translog.Kept, error) { return kept, nil }})
		if err != nil {
			d.t.Fatal(err)
		}
		got, err := r.Read(d.t.Context(), "promotion-state", bundle.SubjectRevision, revision)
		if err == nil {
			return got
		}
		if late == 20 {
			d.t.Fatal(err)
		}
	}
}

// check verifies what the first key has sealed by the key of now, and by itself.
func (e *earlier) check(t *testing.T, d *desk) {
	t.Helper()
	newest, root := d.read("/trust/governance.pub"), d.read("/trust/trusted_root.json")
	changes := verify.File{Name: "rotations.json", Data: d.read("/trust/rotations.json")}
	for name, key := range map[string][]byte{"newest": newest, "first": e.key} {
		if w := d.window(e.doc, key); *w != e.window {
			t.Errorf("%s key: window %+v, it was %+v", name, w, e.window)
		}
		if r, err := d.client(key).Ingest(t.Context(), e.doc); err != nil || !r.Duplicate {
			t.Errorf("%s key: %v", name, err)
		}
		for seen, kept := range map[string]*translog.Kept{"nothing": nil, "the log of then": e.kept} {
			if got := d.reading(key, kept, e.doc.Bundle.CandidateRevisionID); !got.Verified.OK {
				t.Errorf("%s key, who has seen %s: %+v", name, seen, got.Verified)
			}
		}
	}
	head := func(receipt []byte) string {
		file := struct {
			Seal struct {
				TreeSize int64 `json:"tree_size"`
			} `json:"seal"`
		}{}
		if err := (planetest.Answer{Body: receipt}).Decode(&file); err != nil {
			t.Fatal(err)
		}
		return "/log/consistency?from=" + strconv.FormatInt(file.Seal.TreeSize, 10)
	}
	grown := func(receipt []byte) verify.File {
		return verify.File{Name: "grown", Data: d.read(head(receipt))}
	}
	genuine := []verify.File{{Name: bundle.FileName, Data: e.doc.Canonical}, {Name: "ingest_receipt.json", Data: e.receipt}}
	forged := []verify.File{{Name: bundle.FileName, Data: e.forged.Canonical}, {Name: "ingest_receipt.json", Data: e.copied}}
	for _, x := range []struct {
		name  string
		files []verify.File
		fails string // a step, "" for none
	}{
		{"without the changes", genuine, "signature ingest_receipt.json"},
		{"without what leads on", append(slices.Clip(genuine), changes), "checkpoint ingest_receipt.json"},
		{"whole", append(slices.Clip(genuine), changes, grown(e.receipt)), ""},
		{"by a thief of the first keys", append(slices.Clip(forged), changes), "checkpoint ingest_receipt.json"},
		{"and a proof about another tree", append(slices.Clip(forged), changes, grown(e.copied)), "checkpoint ingest_receipt.json"},
	} {
		report := verify.Verify(x.files, verify.Options{Key: newest, TrustedRoot: root})
		if failed := report.Failed(); x.fails == "" && len(failed) > 0 || x.fails != "" && !slices.Contains(failed, x.fails) {
			t.Errorf("%s: %q\n%+v", x.name, failed, report.Steps)
		}
	}
	chain, err := ledger.ParseChain(changes.Data)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(c *ledger.Chain){
		"a change left out":         func(c *ledger.Chain) { c.Changes = c.Changes[1:] },
		"changes in another order":  func(c *ledger.Chain) { slices.Reverse(c.Changes) },
		"the checkpoint of another": func(c *ledger.Chain) { c.Checkpoint = c.Changes[0].Entry.Note()[:9] },
		"no proof by the old log":   func(c *ledger.Chain) { c.Changes[0].TlogProof = c.Changes[1].TlogProof },
		"another change's entry":    func(c *ledger.Chain) { c.Changes[0].Entry = c.Changes[1].Entry },
	} {
		bad := *chain
		bad.Changes = slices.Clone(chain.Changes)
		spoil(&bad)
		key, err := ledger.ParseKey(e.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bad.Keys(key, translog.Quorum{}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if !strings.Contains(string(changes.Data), ledger.SchemaChain) {
		t.Errorf("%s", changes.Data)
	}
}
