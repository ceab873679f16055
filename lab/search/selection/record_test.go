package selection

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorded is a ledger with everything in it.
func recorded() *TrialList {
	l := ledgerOf(daily(noise(1, 0, 40, 0)), nil, daily(noise(1, 1, 40, 2)))
	l.Trials[0].Copies, l.Trials[0].Family = []string{"a", "b"}, true
	l.TestPeeks, l.PostPeek, l.Again = 2, true, 1
	l.Warnings = []artifact.ReportWarning{{Code: CodeTrialUnreadable, Message: "m", Pointer: "/p"}}
	return l
}

// A ledger that is read back judges as the one that was written.
func TestRecordsComeBack(t *testing.T) {
	for _, l := range []*TrialList{recorded(), search(1, 12, 250, 1)} {
		text, err := l.Record()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadRecord(text)
		if err != nil || !reflect.DeepEqual(back, l) {
			t.Fatalf("%+v, %v; want %+v", back, err, l)
		}
		if !reflect.DeepEqual(back.Digest(), l.Digest()) ||
			!reflect.DeepEqual(back.mustSelect(t), l.mustSelect(t)) {
			t.Error("it judges otherwise")
		}
		again, err := back.Record()
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("%v\n%s\n%s", err, again, text)
		}
	}
}

func TestRecordForm(t *testing.T) {
	text, err := recorded().Record()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "trials.jsonl")
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(text, want) {
		t.Errorf("the stored form has changed: %v\n%s", err, text)
	}
}

func TestBadRecords(t *testing.T) {
	text, err := recorded().Record()
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(text, []byte("\n"))
	for name, bad := range map[string][]byte{
		"nothing": nil, "no trials": append(head, '\n'),
		"another schema": bytes.Replace(text, []byte("trials/v1"), []byte("trials/v9"), 1),
		"judged":         bytes.Replace(text, []byte(`"judged":2`), []byte(`"judged":3`), 1),
		"series":         bytes.Replace(text, []byte(`"series":"A`), []byte(`"series":"Z`), 1),
		"no JSON":        append(bytes.Clone(text), "{\n"...),
	} {
		if l, err := ReadRecord(bad); err == nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	text, err := recorded().Record()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{\"schema\":\"trials/v1\"}\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ReadRecord(text)
		if err != nil {
			return
		}
		if again, err := l.Record(); err == nil {
			if _, err := ReadRecord(again); err != nil {
				t.Fatal(err)
			}
		}
	})
}
