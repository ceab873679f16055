package trials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
)

// PointsFile is where a falsification keeps the parameters that its test
// param_neighbourhood has played, a Point a line.
const PointsFile = "falsify/param_neighbourhood/points.jsonl"

// Point is one replay of param_neighbourhood.
type Point struct {
	ID           string          `json:"id"`
	Params       json.RawMessage `json:"params"`
	DecisionHash string          `json:"decision_hash"`
}

var errPoints = errors.New(PointsFile + " cannot be read")

// WritePoints makes the content of PointsFile.
func WritePoints(points []Point) ([]byte, error) {
	var out []byte
	for _, p := range points {
		line, err := digest.JCS(p)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// ReadPoints reads the lines of PointsFile.
func ReadPoints(text []byte) ([]Point, error) {
	var out []Point
	for line := range bytes.Lines(text) {
		var p Point
		if json.Unmarshal(line, &p) != nil || p.ID == "" {
			return nil, errPoints
		}
		canonical, err := digest.CanonicalJSON(p.Params)
		if err != nil {
			return nil, errPoints
		}
		p.Params = slices.Clip(canonical)
		out = append(out, p)
	}
	return out, nil
}

// chosenAmong are the replays that count: those of each test param_neighbourhood one of
// whose points has been tried after it, by its family or with its program. A replay with
// the parameters of a trial is that trial.
func chosenAmong(ctx context.Context, reg *registry.Registry, store *artifact.Store, members []*Member) ([]*Member, error) {
	rows, err := reg.ListMetadata(ctx, registry.Filter{Kind: artifact.KindFalsification, Status: artifact.StatusCompleted})
	if err != nil {
		return nil, err
	}
	var out []*Member
	params := map[string][]*Member{} // by canonical parameters
	if len(rows) > 0 {
		for _, m := range members {
			if text, err := digest.CanonicalJSON(m.Meta.Params); err == nil {
				params[string(text)] = append(params[string(text)], m)
			}
		}
	}
	for _, row := range rows {
		attack := &artifact.Metadata{}
		if json.Unmarshal(row.Payload, attack) != nil {
			continue
		}
		text, err := Verified(store, attack, PointsFile)
		if err != nil {
			continue // it has none, or its files are gone
		}
		points, err := ReadPoints(text)
		if err != nil {
			continue
		}
		out = append(out, replaysOf(attack, row.CompletedAt, points, params)...)
	}
	return out, nil
}

// replaysOf are the points of one falsification that count, none if nobody has tried one.
func replaysOf(attack *artifact.Metadata, ended string, points []Point, params map[string][]*Member) []*Member {
	var out []*Member
	began := ""
	for _, p := range points {
		m := &Member{
			Key: digest.SHA256Hex([]byte(attack.RunID + "\n" + p.ID)), RunID: attack.RunID, FamilyID: attack.FamilyID,
			decisions: p.DecisionHash, days: DaysOf(attack.Data),
		}
		for _, t := range params[string(p.Params)] {
			if t.FamilyID != attack.FamilyID && t.Meta.Plugin.SHA256 != attack.Plugin.SHA256 || !t.days.Overlap(m.days) {
				continue
			}
			m.Key = t.Key
			if t.CompletedAt > ended && (began == "" || t.CompletedAt < began) {
				began = t.CompletedAt
			}
		}
		out = append(out, m)
	}
	if began == "" {
		return nil
	}
	for _, m := range out {
		m.CompletedAt = began
	}
	return out
}
