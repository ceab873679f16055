package registry

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The files that runs were listed in before there was a registry.
const (
	legacyIndex    = "index.json"
	legacyMetadata = "metadata_index.json"
)

// maxLegacy bounds such a file.
const maxLegacy = 1 << 30

// importLegacy takes over the files of the time before the registry, in one
// transaction in which existing rows win, and renames them. A malformed file imports
// nothing and stays; it is remembered as a warning.
func (r *Registry) importLegacy(ctx context.Context) error {
	var requests, runs []Run // of a request its hash and its run
	var files []string
	for _, f := range []struct {
		name string
		read func([]Run) ([]Run, error)
		to   *[]Run
	}{{legacyIndex, legacyRequests, &requests}, {legacyMetadata, legacyRuns, &runs}} {
		path := filepath.Join(r.store.Root(), f.name)
		list, err := readLegacy(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			*f.to, err = f.read(list)
		}
		if err != nil {
			r.warn("LEGACY_MALFORMED",
				fmt.Sprintf("runs/%s was not imported: %v; repair or remove it", f.name, err))
			continue
		}
		files = append(files, path)
	}
	if len(files) == 0 {
		return nil
	}
	now := market.FromTime(r.now()).String()
	var newRuns, newRequests int64
	err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, row := range runs {
			n, err := affected(insertLegacy(ctx, tx, row, requests))
			if err != nil {
				return err
			}
			newRuns += n
		}
		for _, row := range requests {
			q := Request{
				RequestHash: row.RequestHash, RunID: row.RunID, Kind: KindLegacy, Attempt: 1, CreatedAt: now,
				UpdatedAt: now,
			}
			const status = `SELECT COALESCE((SELECT status FROM run_metadata WHERE run_id = ?), 'completed')`
			err := tx.QueryRowContext(ctx, status, row.RunID).Scan(&q.Status)
			if err != nil {
				return err
			}
			n, err := affected(insertRequest(ctx, tx, q, `ON CONFLICT (request_hash) DO NOTHING`))
			if err != nil {
				return err
			}
			newRequests += n
		}
		return nil
	})
	for _, path := range files {
		if err == nil {
			var to string
			to, err = retire(path)
			r.log.Info("imported a list of runs from before the registry", "file", path, "now", to)
		}
	}
	if err == nil {
		r.log.Info("what the lists had", "runs", len(runs), "new_runs", newRuns, "requests", len(requests),
			"new_requests", newRequests)
		r.warnUnknown(runs)
	}
	return err
}

// warnUnknown names the statuses that were taken for failed.
func (r *Registry) warnUnknown(runs []Run) {
	count := map[string]int{}
	for _, row := range runs {
		if s := row.Status; s != "" && s != artifact.StatusCompleted && s != artifact.StatusFailed {
			count[s]++
		}
	}
	for _, status := range slices.Sorted(maps.Keys(count)) {
		r.warn("LEGACY_STATUS",
			fmt.Sprintf("%d imported runs have the status %.40q, which is neither completed nor failed: "+
				"they count as failed", count[status], status))
	}
}

// readLegacy reads the entries of such a file, each under its key: an array, an object, or the one
// of them under the key runs. Of an array no entry has a key. The key stands in RunID, the entry in
// Payload.
func readLegacy(path string) ([]Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxLegacy {
		return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxLegacy)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	raw := jsontext.Value(text)
	if err := raw.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		return unnamed(list), nil
	}
	var object, nested map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, errors.New("it is not a JSON object")
	}
	switch inner := object["runs"]; {
	case len(inner) > 0 && inner[0] == '[' && json.Unmarshal(inner, &list) == nil:
		return unnamed(list), nil
	case len(inner) > 0 && inner[0] == '{' && json.Unmarshal(inner, &nested) == nil:
		if _, run := nested["run_id"]; !run || len(nested) > 1 && allObjects(nested) {
			object = nested
		}
	}
	var rows []Run
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if key == "" {
			return nil, errors.New("a key is empty")
		}
		rows = append(rows, Run{RunID: key, Payload: object[key]})
	}
	return rows, nil
}

func unnamed(list []json.RawMessage) (rows []Run) {
	for _, p := range list {
		rows = append(rows, Run{Payload: p})
	}
	return rows
}

func allObjects(m map[string]json.RawMessage) bool {
	for _, v := range m {
		if v[0] != '{' {
			return false
		}
	}
	return true
}

// legacyRequests are request hash -> run id.
func legacyRequests(list []Run) ([]Run, error) {
	for i, entry := range list {
		id, err := runIDOf(entry.Payload)
		if err != nil || entry.RunID == "" || id == "" {
			return nil, fmt.Errorf("%.80q has no run id", entry.RunID)
		}
		list[i] = Run{RequestHash: entry.RunID, RunID: id}
	}
	return list, nil
}

// runIDOf reads a string, or an object with run_id.
func runIDOf(value json.RawMessage) (string, error) {
	var id string
	if value[0] != '{' {
		return id, json.Unmarshal(value, &id)
	}
	var object struct {
		RunID string `json:"run_id"`
	}
	err := json.Unmarshal(value, &object)
	return object.RunID, err
}

// legacyRuns are payloads, with or without a run id of their own.
func legacyRuns(list []Run) ([]Run, error) {
	seen := map[string]bool{}
	for i := range list {
		p := &list[i]
		if p.Payload[0] != '{' {
			return nil, fmt.Errorf("the payload of %.80q is not an object", p.RunID)
		}
		id, err := runIDOf(p.Payload)
		if err != nil || id == "" && p.RunID == "" || id != "" && p.RunID != "" && id != p.RunID {
			return nil, fmt.Errorf("a payload has no run id of its own (%.80q, %.80q)", p.RunID, id)
		}
		p.RunID = cmp.Or(p.RunID, id)
		if seen[p.RunID] {
			return nil, fmt.Errorf("run %.80q comes twice", p.RunID)
		}
		seen[p.RunID] = true
		readColumns(p)
	}
	return list, nil
}

// readColumns takes what is a string of each field of the payload; anything else counts as absent.
func readColumns(p *Run) {
	var object, volatile map[string]json.RawMessage
	_ = json.Unmarshal(p.Payload, &object)            // it is an object
	_ = json.Unmarshal(object["volatile"], &volatile) // another type counts as absent
	for name, to := range map[string]*string{
		"request_hash": &p.RequestHash, "slug": &p.Slug, "family_id": &p.FamilyID, "status": &p.Status,
		"trial_key": &p.TrialKey, "plan_id": &p.PlanID, "completed_at": &p.CompletedAt,
	} {
		_ = json.Unmarshal(object[name], to) // the same
	}
	if p.CompletedAt == "" {
		_ = json.Unmarshal(volatile["completed_at"], &p.CompletedAt) // the same
	}
}

// insertLegacy adds the row of a run. One without a status has ended: only such were listed.
func insertLegacy(ctx context.Context, tx *sql.Tx, row Run, requests []Run) (sql.Result, error) {
	row.Kind = KindLegacy
	i := slices.IndexFunc(requests, func(q Run) bool { return q.RunID == row.RunID })
	if row.RequestHash == "" && i >= 0 {
		row.RequestHash = requests[i].RequestHash
	}
	if row.Status == "" {
		row.Status = artifact.StatusCompleted
	}
	if row.Status != artifact.StatusCompleted {
		row.Status = artifact.StatusFailed
	}
	return insertRun(ctx, tx, row, `ON CONFLICT (run_id) DO NOTHING`)
}

// retire renames a file that has been imported, so that it is never read again, and
// returns its new name.
func retire(path string) (string, error) {
	for i := 0; ; i++ {
		to := path + ".migrated"
		if i > 0 {
			to = fmt.Sprintf("%s.migrated.%d", path, i)
		}
		_, err := os.Lstat(to)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(path, to)
			if errors.Is(err, fs.ErrNotExist) {
				return to, nil // another process has been faster
			}
			return to, err
		}
		if err != nil {
			return "", err
		}
	}
}
