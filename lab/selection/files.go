package selection

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// read stitches the walk-forward of a run from files whose hashes are those of its row.
// The reason says why there is no series, the error is an *artifact.MismatchError when a
// file is missing, changed, or not what its name says.
func read(store *artifact.Store, m *artifact.Metadata) (*series.Series, stat.Reason, error) {
	windows := windowsOf(m)
	if len(windows) == 0 {
		return nil, stat.NotApplicable, nil
	}
	tf, err := market.ParseTimeframe(m.Timeframe)
	if err != nil {
		return nil, "", changed(m, err.Error())
	}
	var curves []series.Curve
	for _, id := range windows {
		name := "splits/" + id + "/equity_curve.csv"
		text, err := verified(store, m, name)
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

// verified is the content of one file of a run, which must be what the row of the run
// says: metadata.json beside it could have been changed with it.
func verified(store *artifact.Store, m *artifact.Metadata, name string) ([]byte, error) {
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

func reportOf(store *artifact.Store, m *artifact.Metadata) (*artifact.Report, error) {
	text, err := verified(store, m, "report.json")
	if err != nil {
		return nil, err
	}
	rep := &artifact.Report{}
	if err := json.Unmarshal(text, rep); err != nil {
		return nil, changed(m, "report.json: "+err.Error())
	}
	return rep, nil
}
