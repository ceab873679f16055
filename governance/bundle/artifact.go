package bundle

import (
	"regexp"
	"strings"

	"github.com/assay-run/assay/governance/bundle/field"
)

// maxPath is how many bytes the name of an artifact may have.
const maxPath = 255

func readArtifacts(r *field.Reader, top field.Object, runs []Run) []Artifact {
	known := make(map[string]bool, len(runs))
	for _, run := range runs {
		known[run.RunID] = true
	}
	list, seen := []Artifact{}, map[string]bool{}
	top.Each("artifacts", MaxArtifacts, func(_ int, v any, at string) {
		o := r.Object(v, at, field.Names("name sha256 size run_id"), field.Names("media_type required"))
		a := Artifact{RunID: o.Identifier("run_id")}
		if !known[a.RunID] {
			o.Fail(field.UnknownRunReference, "run_id", "is not a run of this bundle")
		}
		under := func(name string) bool { return ValidArtifactPath(name, a.RunID) }
		a.Name = o.Match("name", field.InvalidArtifactPath, under, "a plain relative path under runs/<its run_id>/")
		// Disks that ignore case would keep one file for two hashes.
		if folded := strings.ToLower(a.Name); seen[folded] {
			o.Fail(field.DuplicateItem, "name", "this artifact stands twice in the bundle, case ignored")
		} else {
			seen[folded] = true
		}
		a.SHA256, a.Size = o.SHA256("sha256"), o.Integer("size", 0, field.MaxSize)
		a.MediaType, a.Required = o.Text("media_type"), o.Bool("required")
		list = append(list, a)
	})
	return list
}

var segment = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidArtifactPath says whether a path names a file of a run on every system: plain
// segments below runs/<run_id>/, no way up, no drive, no device, nothing to decode.
func ValidArtifactPath(path, runID string) bool {
	rest, ok := strings.CutPrefix(path, "runs/"+runID+"/")
	if !ok || len(path) > maxPath || !validSegment(runID) {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if !validSegment(part) {
			return false
		}
	}
	return true
}

func validSegment(s string) bool {
	return segment.MatchString(s) && !strings.HasSuffix(s, ".") && !device(s)
}

// device knows the names that Windows keeps for devices, with any extension.
func device(s string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(s), ".")
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "COM" || stem[:3] == "LPT") && stem[3] >= '0' && stem[3] <= '9'
}
