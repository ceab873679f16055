package registry

import (
	"bytes"
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
	"sort"

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

// legacyRow is a run of such a file.
type legacyRow struct {
	runID   string
	payload []byte
	columns legacyColumns
}

// legacyColumns is what the tables take from a payload; everything may be absent.
type legacyColumns struct {
	RequestHash string `json:"request_hash"`
	Slug        string `json:"slug"`
	FamilyID    string `json:"family_id"`
	Status      string `json:"status"`
	TrialKey    string `json:"trial_key"`
	PlanID      string `json:"plan_id"`
	CompletedAt string `json:"completed_at"`
	Volatile    struct {
		CompletedAt string `json:"completed_at"`
	} `json:"volatile"`
}

// importLegacy takes over the files of the time before the registry, in one
// transaction in which existing rows win, and renames them. A malformed file imports
// nothing and stays; it is remembered as a warning.
func (r *Registry) importLegacy(ctx context.Context) error {
	var requests, runs []legacyRow
	var files []string
	for _, f := range []struct {
		name string
		read func([]byte) ([]legacyRow, error)
		to   *[]legacyRow
	}{{legacyIndex, readLegacyIndex, &requests}, {legacyMetadata, readLegacyMetadata, &runs}} {
		path := filepath.Join(r.store.Root(), f.name)
		text, err := readLegacy(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			*f.to, err = f.read(text)
		}
		if err != nil {
			r.warn("LEGACY_MALFORMED", fmt.Sprintf("runs/%s was not imported: %v; mend or remove it", f.name, err))
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
			n, err := affected(row.insertRun(ctx, tx, hashOf(requests, row.runID)))
			if err != nil {
				return err
			}
			newRuns += n
		}
		for _, row := range requests {
			n, err := affected(row.insertRequest(ctx, tx, now))
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
		r.tellUnknown(runs)
	}
	return err
}

// tellUnknown names the statuses that were taken for failed.
func (r *Registry) tellUnknown(runs []legacyRow) {
	count := map[string]int{}
	for _, row := range runs {
		if s := row.columns.Status; s != "" && s != artifact.StatusCompleted && s != artifact.StatusFailed {
			count[s]++
		}
	}
	for _, status := range slices.Sorted(maps.Keys(count)) {
		r.warn("LEGACY_STATUS",
			fmt.Sprintf("%d imported runs have the status %.40q, which is neither completed nor failed: "+
				"they count as failed", count[status], status))
	}
}

func readLegacy(path string) ([]byte, error) {
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
	return raw, nil
}

// members is a JSON object, or the one under its key runs.
func members(text []byte) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return nil, errors.New("it is not a JSON object")
	}
	inner := object["runs"]
	var nested map[string]json.RawMessage
	if len(inner) > 0 && inner[0] == '{' && json.Unmarshal(inner, &nested) == nil {
		if _, run := nested["run_id"]; !run || len(nested) > 1 && allObjects(nested) {
			return nested, nil
		}
	}
	return object, nil
}

func allObjects(m map[string]json.RawMessage) bool {
	for _, v := range m {
		if v[0] != '{' {
			return false
		}
	}
	return true
}

// readLegacyIndex reads request hash -> run id.
func readLegacyIndex(text []byte) ([]legacyRow, error) {
	object, err := members(text)
	if err != nil {
		return nil, err
	}
	var rows []legacyRow
	for hash, value := range object {
		id, err := runIDOf(value)
		if err != nil || hash == "" || id == "" {
			return nil, fmt.Errorf("%.80q has no run id", hash)
		}
		rows = append(rows, legacyRow{runID: id, columns: legacyColumns{RequestHash: hash}})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].columns.RequestHash < rows[j].columns.RequestHash })
	return rows, nil
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

// readLegacyMetadata reads an array of payloads, or run id -> payload.
func readLegacyMetadata(text []byte) ([]legacyRow, error) {
	list, err := payloads(text)
	if err != nil {
		return nil, err
	}
	var rows []legacyRow
	seen := map[string]bool{}
	for _, p := range list {
		if len(p.payload) == 0 || p.payload[0] != '{' {
			return nil, fmt.Errorf("the payload of %.80q is not an object", p.runID)
		}
		id, err := runIDOf(p.payload)
		if err != nil || id == "" && p.runID == "" || id != "" && p.runID != "" && id != p.runID {
			return nil, fmt.Errorf("a payload has no run id of its own (%.80q, %.80q)", p.runID, id)
		}
		if p.runID == "" {
			p.runID = id
		}
		if seen[p.runID] {
			return nil, fmt.Errorf("run %.80q comes twice", p.runID)
		}
		seen[p.runID] = true
		p.columns = columnsOf(p.payload)
		rows = append(rows, p)
	}
	return rows, nil
}

func payloads(text []byte) ([]legacyRow, error) {
	var outer struct {
		Runs json.RawMessage `json:"runs"`
	}
	list := bytes.TrimSpace(text)
	if list[0] == '{' && json.Unmarshal(list, &outer) == nil && len(outer.Runs) > 0 && outer.Runs[0] == '[' {
		list = outer.Runs
	}
	var rows []legacyRow
	if list[0] == '[' {
		var array []json.RawMessage
		if err := json.Unmarshal(list, &array); err != nil {
			return nil, err
		}
		for _, p := range array {
			rows = append(rows, legacyRow{payload: p})
		}
		return rows, nil
	}
	object, err := members(list)
	if err != nil {
		return nil, err
	}
	for id, p := range object {
		if id == "" {
			return nil, errors.New("a run id is empty")
		}
		rows = append(rows, legacyRow{runID: id, payload: p})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].runID < rows[j].runID })
	return rows, nil
}

// columnsOf takes what is a string of each field; anything else counts as absent.
func columnsOf(payload []byte) legacyColumns {
	var c legacyColumns
	var object map[string]json.RawMessage
	if json.Unmarshal(payload, &object) != nil {
		return c
	}
	for name, to := range map[string]*string{
		"request_hash": &c.RequestHash, "slug": &c.Slug, "family_id": &c.FamilyID, "status": &c.Status,
		"trial_key": &c.TrialKey, "plan_id": &c.PlanID, "completed_at": &c.CompletedAt,
	} {
		if len(object[name]) > 0 {
			_ = json.Unmarshal(object[name], to) // another type counts as absent
		}
	}
	if c.CompletedAt == "" && len(object["volatile"]) > 0 {
		_ = json.Unmarshal(object["volatile"], &c.Volatile)
		c.CompletedAt = c.Volatile.CompletedAt
	}
	return c
}

func hashOf(requests []legacyRow, runID string) string {
	for _, r := range requests {
		if r.runID == runID {
			return r.columns.RequestHash
		}
	}
	return ""
}

// insertRun adds the row of a run. One without a status has ended: only such were listed.
func (l *legacyRow) insertRun(ctx context.Context, tx *sql.Tx, hash string) (sql.Result, error) {
	c := l.columns
	if c.RequestHash == "" {
		c.RequestHash = hash
	}
	if c.Status != "" && c.Status != artifact.StatusCompleted {
		c.Status = artifact.StatusFailed
	}
	return tx.ExecContext(ctx, `INSERT INTO run_metadata
		(run_id, request_hash, slug, family_id, kind, status, trial_key, plan_id, completed_at, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING`,
		l.runID, c.RequestHash, c.Slug, c.FamilyID, KindLegacy, cmp.Or(c.Status, artifact.StatusCompleted),
		orNull(c.TrialKey), orNull(c.PlanID), orNull(c.CompletedAt), l.payload)
}

// insertRequest adds the row of a request, with the status that its run has.
func (l *legacyRow) insertRequest(ctx context.Context, tx *sql.Tx, now string) (sql.Result, error) {
	return tx.ExecContext(ctx, `INSERT INTO request_runs
		(request_hash, run_id, kind, status, attempt, owner, lease_until, created_at, updated_at)
		VALUES (?, ?, ?, COALESCE((SELECT status FROM run_metadata WHERE run_id = ?), 'completed'), 1, NULL,
			NULL, ?, ?)
		ON CONFLICT (request_hash) DO NOTHING`,
		l.columns.RequestHash, l.runID, KindLegacy, l.runID, now, now)
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
