package literal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/lab/project"
)

// Sources are the folder that a strategy's program was built from.
type Sources struct{ Dir string }

// Build makes the program of a variant in a folder of its own, under the name of the
// strategy. The error is a *project.BuildError where the variant is no program.
func (s *Sources) Build(ctx context.Context, v Variant, folder, slug string) (project.Built, error) {
	path := filepath.Join(s.Dir, filepath.FromSlash(v.File))
	text, err := os.ReadFile(path)
	if err != nil {
		return project.Built{}, err
	}
	end := v.Offset + len(v.From)
	if end > len(text) || string(text[v.Offset:end]) != v.From {
		return project.Built{}, fmt.Errorf("%s has changed while it was falsified", path)
	}
	changed := filepath.Join(folder, "changed.go")
	if err := os.WriteFile(changed, slices.Concat(text[:v.Offset], []byte(v.To), text[end:]), 0o600); err != nil {
		return project.Built{}, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return project.Built{}, err
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return project.Built{}, err
	}
	made := filepath.Join(folder, slug)
	if err := project.Compile(ctx, s.Dir, made, "-overlay", file); err != nil {
		return project.Built{}, err
	}
	return project.Finished(made)
}
