package evidence

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
)

func key(name string) string { return digest.SHA256Hex([]byte(name)) }

// line is that of a trial with copies and a series.
func line(name, run, series string, copies ...string) string {
	list := ""
	for i, c := range copies {
		if list += `"` + key(c) + `"`; i < len(copies)-1 {
			list += ","
		}
	}
	encoded := "null"
	if series != "" {
		encoded = `"` + base64.StdEncoding.EncodeToString([]byte(series)) + `"`
	}
	return fmt.Sprintf(`{"key":"%s","run_id":"%s","copies":[%s],"series":%s}`+"\n", key(name), run, list,
		encoded)
}

const head = `{"schema":"trials/v1","judged":0}` + "\n"

// TestEveryTrialOfTheFalsificationIsListed, under its own key or that of a copy, with its returns.
func TestEveryTrialOfTheFalsificationIsListed(t *testing.T) {
	list := []bundle.Trial{
		{Key: key("a"), RunID: "base", ReturnsSHA256: key("other")},
		{Key: key("b"), RunID: "run_b", ReturnsSHA256: key("returns"), Copies: []string{key("b2")}},
	}
	for name, c := range map[string]struct {
		text     string
		declared int64
		pointer  string
		returns  []bundle.Places
	}{
		"all": {head + line("a", "base", "x") + line("b", "run_b", "returns"), 2, "",
			[]bundle.Places{{From: 1, To: 2}}},
		"under a copy":     {head + line("b2", "run_b2", "x"), 2, "", nil},
		"as a copy":        {head + line("z", "run_z", "", "y", "b"), 2, "", nil},
		"more than listed": {head + line("a", "base", ""), 9, "", nil},
		"one left out":     {head + line("a", "base", "") + line("c", "run_c", ""), 2, "/trials/tried", nil},
		"other returns":    {head + line("b", "run_b", "others"), 2, "/trials/tried/1/returns_sha256", nil},
		"fewer declared":   {head + line("a", "base", ""), 1, "/trials/family_trials", nil},
		"no record":        {"", 2, "/runs/1", nil},
		"no trial":         {head + "{}\n", 2, "/runs/1", nil},
	} {
		c := c
		file := "runs/false/" + RecordName
		check := &check{
			b:       &bundle.Bundle{Trials: &bundle.Trials{FamilyTrials: c.declared, Tried: list}},
			pointer: func(p string) string { return p },
			runs: []*Run{{RunID: "base"}, {RunID: "false",
				Inputs: bundle.Inputs{Falsification: &bundle.Falsification{}}}},
		}
		found := make([]bundle.RunEvidence, 2)
		read := func(got, sum string) ([]byte, error) {
			if got != file || sum != "sum" {
				t.Errorf("%s: asked for %s with %s", name, got, sum)
			}
			return []byte(c.text), nil
		}
		whole, err := check.tried(map[string]string{file: "sum"}, read, found)
		var refused *bundle.Error
		switch {
		case c.pointer == "" && (err != nil || !whole):
			t.Errorf("%s: %v, %v", name, whole, err)
		case c.pointer != "" && (!errors.As(err, &refused) || refused.Pointer != c.pointer):
			t.Errorf("%s: %v, want %s", name, err, c.pointer)
		}
		if !slices.Equal(found[1].Returns, c.returns) {
			t.Errorf("%s: the returns of %v are read", name, found[1].Returns)
		}
		whole, err = check.tried(map[string]string{file: "sum"}, func(string, string) ([]byte, error) {
			return nil, fs.ErrNotExist
		}, found)
		if c.declared > 1 && (whole || err != nil) {
			t.Errorf("%s without the file: %v, %v", name, whole, err)
		}
	}
	old := &check{b: &bundle.Bundle{Trials: &bundle.Trials{FamilyTrials: 1}}}
	if whole, err := old.tried(nil, nil, nil); !whole || err != nil {
		t.Error("a bundle of an earlier version:", whole, err)
	}
}

// FuzzReadRecord: whatever a record holds, reading it ends.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(head + line("a", "base", "x", "b", "c")))
	f.Add([]byte(head + "{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := readRecord(text)
		if err == nil && len(list) == 0 {
			t.Error("a record of nothing")
		}
	})
}
