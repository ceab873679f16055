package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/lab/project"
)

// buildOptions are the flags of lab build.
type buildOptions struct {
	folderOption
	Out    string `flag:"out" usage:"folder to put it into, such as the service's folder of strategies" complete:"folder"`
	Python string `flag:"python" usage:"interpreter for a strategy in Python (default: .venv, or python3)" complete:"file"`
}

func buildCommand(a *App) *cobra.Command {
	o := buildOptions{Out: "."}
	c := &cobra.Command{
		Use:   "build <slug>",
		Short: "Build a strategy for the service",
		Long: "Build makes what the service finds in its folder of strategies when it starts: the " +
			"program of a\n" +
			"strategy in Go, or the bundle of one in Python, with the interpreter and\n" +
			"the libraries that it needs in .layers beside it.",
		Example: Examples(
			"lab build my_first --out bin/strategies",
			"lab build my_python --out bin/strategies --python python3.12",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return buildStrategy(ctx, a, args[0], o)
	})
}

// builtStrategy is the result of lab build.
type builtStrategy struct {
	Slug         string `json:"slug"`
	Path         string `json:"path"`
	SHA256       string `json:"sha256"`
	SourceSHA256 string `json:"source_sha256"`
}

func buildStrategy(ctx context.Context, a *App, slug string, o buildOptions) (Outcome, error) {
	p, err := findProject(a, slug, o.Dir)
	if err != nil {
		return Outcome{}, err
	}
	out, err := filepath.Abs(o.Out)
	if err == nil {
		err = os.MkdirAll(out, 0o755)
	}
	if err != nil {
		return Outcome{}, err
	}
	b := builtStrategy{Slug: slug}
	var built project.Built
	if p.Config.Plugin.Python != "" {
		built, err = p.Bundle(ctx, out, o.Python)
		b.Path = filepath.Dir(built.Path)
	} else {
		built, err = buildProgram(ctx, p, out)
		b.Path = built.Path
	}
	if err != nil {
		return Outcome{}, err
	}
	b.SHA256, b.SourceSHA256 = built.SHA256, built.SourceSHA256
	return Outcome{Result: b, Print: func(w io.Writer) {
		fmt.Fprintf(w, "built %s\nsha256 %s\n", b.Path, b.SHA256)
	}}, nil
}

// buildProgram compiles beside the place first: the service may be starting what is there.
func buildProgram(ctx context.Context, p *project.Project, out string) (project.Built, error) {
	if p.Config.Plugin.Path != "" {
		return project.Built{}, Usage(slugArgument, "%s names a finished program: copy it", project.FileName)
	}
	temp, err := os.MkdirTemp(out, file.TempPrefix)
	if err != nil {
		return project.Built{}, err
	}
	defer os.RemoveAll(temp)
	made, place := filepath.Join(temp, p.Slug), filepath.Join(out, p.Slug)
	if err := project.Compile(ctx, p.Dir, made); err != nil {
		return project.Built{}, err
	}
	if info, err := os.Stat(place); err == nil && info.IsDir() {
		return project.Built{}, Usage("--out", "%s is a folder: name another one with --out", place)
	}
	if err := os.Rename(made, place); err != nil {
		return project.Built{}, err
	}
	built, err := project.Finished(place)
	if err != nil {
		return project.Built{}, err
	}
	built.SourceSHA256, err = project.SourceHash(p.Dir)
	return built, err
}
