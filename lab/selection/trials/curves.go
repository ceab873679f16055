package trials

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Windows are the walk-forward windows of a run.
func Windows(m *artifact.Metadata) []string {
	var ids []string
	for _, s := range m.Splits {
		if s.Kind == split.RoleWalkForward {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// curvesOf are the splits that the daily returns of a run are taken from.
func curvesOf(m *artifact.Metadata) []string {
	ids := Windows(m)
	if len(ids) == 0 && slices.ContainsFunc(m.Splits, func(s artifact.SplitSummary) bool { return s.ID == artifact.FullSplitID }) {
		ids = []string{artifact.FullSplitID}
	}
	return ids
}

func curveFile(id string) string { return "splits/" + id + "/equity_curve.csv" }

// sourceOf is the hash of what the daily returns of a run are derived from, "" where that
// is nothing.
func sourceOf(m *artifact.Metadata) string {
	ids := curvesOf(m)
	if len(ids) == 0 {
		return ""
	}
	parts := []string{"daily-returns/1", m.Timeframe}
	for _, id := range ids {
		name := curveFile(id)
		at := slices.IndexFunc(m.Artifacts, func(f artifact.File) bool { return f.Name == name })
		if at < 0 {
			return ""
		}
		parts = append(parts, name, m.Artifacts[at].SHA256)
	}
	return digest.SHA256Hex([]byte(strings.Join(parts, "\n")))
}

// Stitch makes one series of the curves of some splits of a run, from files whose hashes
// are those of its row. The reason says why there is no series, the error is an
// *artifact.MismatchError when a file is missing, changed, or not what its name says.
func Stitch(store *artifact.Store, m *artifact.Metadata, ids []string) (*series.Series, stat.Reason, error) {
	if len(ids) == 0 {
		return nil, stat.NotApplicable, nil
	}
	tf, err := market.ParseTimeframe(m.Timeframe)
	if err != nil {
		return nil, "", changed(m, err.Error())
	}
	var curves []series.Curve
	for _, id := range ids {
		name := curveFile(id)
		text, err := Verified(store, m, name)
		if err != nil {
			return nil, "", err
		}
		c, err := series.Read(text)
		if err != nil {
			return nil, "", changed(m, name+": "+err.Error())
		}
		curves = append(curves, c)
	}
	// The calendar decides how returns are annualised, not what they are.
	s, why, err := series.Of(tf, metric.Calendar24x7, curves)
	if err != nil {
		return nil, "", changed(m, err.Error())
	}
	return s, why, nil
}

// Verified is the content of one file of a run, which must be what the row of the run
// says: metadata.json beside it could have been changed with it. The error is an
// *artifact.MismatchError.
func Verified(store *artifact.Store, m *artifact.Metadata, name string) ([]byte, error) {
	at := slices.IndexFunc(m.Artifacts, func(f artifact.File) bool { return f.Name == name })
	if at < 0 {
		return nil, changed(m, name+" is not listed")
	}
	text, err := os.ReadFile(filepath.Join(store.Dir(m.RunID), filepath.FromSlash(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, changed(m, name+" is missing")
	case err != nil:
		return nil, changed(m, name+": "+err.Error())
	case digest.SHA256Hex(text) != m.Artifacts[at].SHA256:
		return nil, changed(m, name+" has other content")
	}
	return text, nil
}

func changed(m *artifact.Metadata, problem string) error {
	return &artifact.MismatchError{RunID: m.RunID, Problems: []string{problem}}
}
