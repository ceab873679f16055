package family_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/family"
)

func TestWriteAndRead(t *testing.T) {
	state := t.TempDir()
	made := make8(t)
	for range 2 { // the second finds the first
		if err := family.WritePlan(state, made.PlanFile); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(state, "families", "sma_cross", made.ID, "plan.json")
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(text, made.Text) {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	read, err := family.ReadPlan(state, "sma_cross", made.Hash)
	if err != nil || read.Hash != made.Hash || read.ID != made.ID || !bytes.Equal(read.Text, made.Text) ||
		len(read.Plan.Trials) != 8 {
		t.Error(read, err)
	}
}

// A plan that was edited is believed in nothing.
func TestEditedPlan(t *testing.T) {
	state := t.TempDir()
	made := make8(t)
	if err := family.WritePlan(state, made.PlanFile); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(family.PlanDir(state, "sma_cross", made.ID), "plan.json")
	for _, text := range []string{
		strings.Replace(string(made.Text), `"fast":`, `"fast": `, 1),
		strings.Replace(string(made.Text), "Trends last", "Trends past", 1),
		string(made.Text) + "\n", string(made.Text[:100]), "", "{}",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := family.ReadPlan(state, "sma_cross", made.Hash)
		refused(t, err, "PLAN_HASH_MISMATCH", "")
		refused(t, family.WritePlan(state, made.PlanFile), "PLAN_HASH_MISMATCH", "")
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Error("the edited file was written over")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := family.ReadPlan(state, "sma_cross", made.Hash)
	refused(t, err, "PLAN_NOT_FOUND", "")
	for _, bad := range [][2]string{{"sma_cross", "zz"}, {"sma_cross", strings.ToUpper(made.Hash)},
		{"../up", made.Hash}, {"other", made.Hash}} {
		if _, err := family.ReadPlan(state, bad[0], bad[1]); err == nil {
			t.Errorf("%v was read", bad)
		}
	}
}

func TestWriteFails(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "families"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := family.WritePlan(state, make8(t).PlanFile); err == nil {
		t.Error("written into a file")
	}
}

// Even a plan whose hash is right is read strictly.
func TestParseIsStrict(t *testing.T) {
	good := string(make8(t).Text)
	if f, err := family.ParsePlan([]byte(good)); err != nil || f.Hash != digest.SHA256Hex([]byte(good)) {
		t.Fatal(err)
	}
	for change, pointer := range map[string]string{
		`"family-plan/v1"|"family-plan/v2"`:                     "/schema",
		`"slug":"sma_cross"|"slug":"../up"`:                     "/slug",
		`"Trends last."|" "`:                                    "/hypothesis",
		`"amends":null|"amends":"me"`:                           "/amends",
		`"seed":"7","selection|"seed":"07","selection`:          "/seed",
		`"max_failures":20|"max_failures":0`:                    "/stop_rule",
		`"max_failure_share":0.5|"max_failure_share":2`:         "/stop_rule",
		`"prior_trials":12|"prior_trials":-1`:                   "/prior_trials",
		`"kind":"trial"|"kind":"run"`:                           "/request/kind",
		`"family_id":"sma-cross","hyp|"family_id":"other","hyp`: "/request/family_id",
		`"index":0|"index":1`:                                   "/trials/0/index",
		`"max_trials":8|"max_trials":7`:                         "/trials",
		`"high":30|"high":6`:                                    "/trials/0/params/fast",
		`"values":["a","b"]|"values":["a","a"]`:                 "/space/exit/values/1",
		`"method":"sobol"|"method":"tpe"`:                       "/method",
		`"slow":50|"slow":6`:                                    "/trials/0/params",
		`"method":"sobol"|"method":"sha"`:                       "-", // without its block
		`"secondary":[],|`:                                      "-",
		`"slug":|"size":1,"slug":`:                              "-",
		`"step":1,|`:                                            "-",
		`"prior_trials":12|"prior_trials":12.5`:                 "-",
		`,"trials":| ,"trials":`:                                "-",
		`"amends":null,|`:                                       "-",
		good + `|[]`:                                            "-",
		good + `|{`:                                             "-",
		good + `|null`:                                          "-",
	} {
		from, with, _ := strings.Cut(change, "|")
		text := strings.Replace(good, from, with, 1)
		if text == good {
			t.Errorf("%.60s changes nothing", change)
		}
		_, err := family.ParsePlan([]byte(text))
		list := design.FieldErrors(err)
		if err == nil || pointer != "-" && (len(list) == 0 || list[0].Pointer != pointer) {
			t.Errorf("%.60s: %v, want %s", change, err, pointer)
		}
	}
	var twice []byte
	for i, part := range bytes.SplitAfter([]byte(good), []byte(`"index":`)) {
		if i == 2 { // the second trial becomes the first again
			first := bytes.SplitAfter([]byte(good), []byte(`"index":`))[1]
			part = append([]byte("1"), first[1:]...)
		}
		twice = append(twice, part...)
	}
	if list := design.FieldErrors(func() error {
		_, err := family.ParsePlan(twice)
		return err
	}()); len(list) != 1 || list[0].Pointer != "/trials/1/params" {
		t.Error(list)
	}
	if _, err := family.ParsePlan(make([]byte, 64<<20+1)); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Error("a huge plan", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(make8(f).Text)
	sha, err := family.MakePlan(subject(f, familyBlock), family.PlanOptions{Method: "sha"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sha.Text)
	f.Add([]byte(`{"schema":"family-plan/v1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := family.ParsePlan(text)
		if err != nil {
			return
		}
		if !bytes.Equal(file.Text, text) || file.Hash != digest.SHA256Hex(text) {
			t.Fatalf("%q is not what was read", text)
		}
		for i := range file.Plan.Trials {
			if _, err := file.Plan.Params(i); err != nil {
				t.Fatal(err)
			}
		}
	})
}
