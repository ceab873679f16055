package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

// legacy opens a registry beside files of the time before it.
func legacy(t *testing.T, files map[string]string) (*Registry, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "runs")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, root), root
}

func TestLegacyShapes(t *testing.T) {
	const payload = `{"run_id":"r1","request_hash":"h1","slug":"s","family_id":"f","status":"failed","trial_key":"k","completed_at":"2024-01-02T00:00:00.000Z","more":[1]}`
	for name, files := range map[string]map[string]string{
		"strings and array": {legacyIndex: `{"h1":"r1"}`, legacyMetadata: `[` + payload + `]`},
		"objects": {legacyIndex: `{"h1":{"run_id":"r1","at":1}}`,
			legacyMetadata: `{"r1":` + payload + `}`},
		"under runs": {legacyIndex: `{"version":1,"runs":{"h1":"r1"}}`,
			legacyMetadata: `{"version":1,"runs":[` + payload + `]}`},
		"objects under runs": {legacyIndex: `{"runs":{"h1":{"run_id":"r1"}}}`,
			legacyMetadata: `{"runs":{"r1":` + payload + `}}`},
		"payload without its run id": {legacyIndex: `{"h1":"r1"}`,
			legacyMetadata: `{"r1":` + strings.Replace(payload, `"run_id":"r1",`, "", 1) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			r, root := legacy(t, files)
			row, err := r.Get(t.Context(), "r1")
			if err != nil || row.RequestHash != "h1" || row.Slug != "s" || row.FamilyID != "f" ||
				row.Kind != "legacy" || row.Status != "failed" ||
				row.TrialKey != "k" || row.CompletedAt != "2024-01-02T00:00:00.000Z" ||
				!strings.Contains(string(row.Payload), `"more":[1]`) {
				t.Errorf("%+v, %v", row, err)
			}
			request, err := r.GetRequest(t.Context(), "h1")
			if err != nil || request.RunID != "r1" || request.Kind != "legacy" || request.Status != "failed" {
				t.Errorf("%+v, %v", request, err)
			}
			for file := range files {
				if _, err := os.Stat(filepath.Join(root, file+".migrated")); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Join(root, file)); err == nil {
					t.Errorf("%s is still there", file)
				}
			}
			if len(r.Warnings()) != 0 {
				t.Error(r.Warnings())
			}
		})
	}
}

func TestLegacyMalformed(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": `{"h1":`, "duplicate": `{"h1":"r1","h1":"r2"}`, "array": `["r1"]`, "number": `{"h1":1}`,
		"empty id": `{"h1":""}`, "empty hash": `{"":"r1"}`,
		"null": `{"h1":null}`, "one bad of two": `{"h1":"r1","h2":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, root := legacy(t, map[string]string{legacyIndex: text, legacyMetadata: `[{"run_id":"kept"}]`})
			if _, err := r.GetRequest(t.Context(), "h1"); err == nil {
				t.Error("a part of the file was imported")
			}
			if _, err := r.Get(t.Context(), "kept"); err != nil {
				t.Errorf("the sound file was not imported: %v", err)
			}
			if w := r.Warnings(); len(w) != 1 || w[0].Code != "LEGACY_MALFORMED" ||
				!strings.Contains(w[0].Message, "runs/index.json") {
				t.Errorf("%v", w)
			}
			if text2, err := os.ReadFile(filepath.Join(root, legacyIndex)); err != nil ||
				string(text2) != text {
				t.Errorf("the file did not stay: %q, %v", text2, err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if again := open(t, root); len(again.Warnings()) != 1 {
				t.Error("the second open does not warn")
			}
		})
	}
	for name, text := range map[string]string{
		"text": `"r1"`, "payload is no object": `{"r1":"x"}`, "two ids": `{"r1":{"run_id":"r2"}}`,
		"no id": `[{"slug":"s"}]`, "twice": `[{"run_id":"a"},{"run_id":"a"}]`, "empty": ` `,
	} {
		t.Run("metadata "+name, func(t *testing.T) {
			r, _ := legacy(t, map[string]string{legacyMetadata: text})
			if runs, err := r.ListMetadata(t.Context(), Filter{}); err != nil || len(runs) != 0 ||
				len(r.Warnings()) != 1 {
				t.Errorf("%v, %v, %v", runs, err, r.Warnings())
			}
		})
	}
}

// Existing rows win, a second import of the same file changes nothing (the crash
// before the rename), and names that are taken get a number.
func TestLegacyTwice(t *testing.T) {
	r, root := legacy(t,
		map[string]string{legacyIndex: `{"h1":"r1"}`, legacyMetadata: `[{"run_id":"r1","slug":"first"}]`})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{legacyIndex: `{"h1":"other","h2":"r2"}`,
		legacyMetadata: `[{"run_id":"r1","slug":"second"}]`} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r = open(t, root)
	row, err := r.Get(t.Context(), "r1")
	if err != nil || row.Slug != "first" {
		t.Errorf("%+v, %v", row, err)
	}
	if q, err := r.GetRequest(t.Context(), "h1"); err != nil || q.RunID != "r1" {
		t.Errorf("%+v, %v", q, err)
	}
	if q, err := r.GetRequest(t.Context(), "h2"); err != nil || q.RunID != "r2" {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := os.Stat(filepath.Join(root, legacyIndex+".migrated.1")); err != nil {
		t.Error(err)
	}
}

// A request that only a legacy row answers is executed: that row has no files.
func TestLegacyIsNoAnswer(t *testing.T) {
	run := newRun("run_x", 1)
	m, err := artifact.Begun(run)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := legacy(t, map[string]string{legacyIndex: `{"` + m.RequestHash + `":"old"}`})
	c, err := r.Claim(t.Context(), m, "me")
	if err != nil || c.Standing != Execute || c.RunID != "run_x" || c.Attempt != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestLegacyStatus: a request has the status of its run, and what is neither completed nor
// failed counts as failed, which is told.
func TestLegacyStatus(t *testing.T) {
	r, _ := legacy(t, map[string]string{
		legacyIndex:    `{"h1":"done","h2":"bad","h3":"odd","h4":"silent","h5":"unlisted","h6":"on"}`,
		legacyMetadata: `{"done":{"status":"completed"},"bad":{"status":"failed"},"odd":{"status":"aborted"},"silent":{},"on":{"status":"running"}}`,
	})
	for hash, want := range map[string]string{"h1": "completed", "h2": "failed", "h3": "failed",
		"h4": "completed", "h5": "completed", "h6": "failed"} {
		request, err := r.GetRequest(t.Context(), hash)
		if err != nil || request.Status != want {
			t.Errorf("%s: %+v, %v, want %s", hash, request, err, want)
		}
		if row, err := r.Get(t.Context(), request.RunID); hash != "h5" && (err != nil || row.Status != want) {
			t.Errorf("%s: %+v, %v, want %s", request.RunID, row, err, want)
		}
	}
	w := r.Warnings()
	if len(w) != 2 || w[0].Code != "LEGACY_STATUS" || !strings.Contains(w[0].Message, `"aborted"`) ||
		!strings.Contains(w[1].Message, `"running"`) {
		t.Errorf("%v", w)
	}
}
