package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
)

// Program reports whether all runs are of the program of the baseline, and what differs in the
// sources of those that are not.
type Program struct {
	Equal bool         `json:"equal"`
	Diff  []SourceDiff `json:"diff"`
}

// SourceDiff is how the sources of a run differ from those of the baseline. Note reports why Files
// is empty or not all.
type SourceDiff struct {
	RunID string     `json:"run_id"`
	Files []FileDiff `json:"files"`
	Note  *string    `json:"note"`
}

// FileDiff is a unified diff of one file, from the baseline to the run. Note reports what it leaves
// out; Diff is empty for a file that is no text.
type FileDiff struct {
	Path string  `json:"path"`
	Diff string  `json:"diff"`
	Note *string `json:"note"`
}

const (
	// mostLines and mostBytes are what is shown of one file, mostFiles of one run.
	mostLines = 400
	mostBytes = 64 << 10
	mostFiles = 20
	// mostText is what a file may have that is compared line by line.
	mostText = 256 << 10
)

// program compares the sources of runs with those of the baseline.
func (l *loader) program(ctx context.Context, runs []*loaded, base *loaded) (Program, error) {
	p := Program{Equal: true, Diff: []SourceDiff{}}
	var before sourced
	for _, x := range runs {
		same := x.meta.Plugin.SHA256 == base.meta.Plugin.SHA256
		p.Equal = p.Equal && same
		if same && x.meta.Plugin.SourceSHA256 == base.meta.Plugin.SourceSHA256 {
			continue
		}
		if before.sum == "" && before.why == "" {
			var err error
			if before, err = l.sources(ctx, base); err != nil {
				return p, err
			}
		}
		after, err := l.sources(ctx, x)
		if err != nil {
			return p, err
		}
		if same && (before.sum == "" || after.sum == "") {
			continue // one was not built here: nothing says that they differ
		}
		d := SourceDiff{RunID: x.row.RunID, Files: []FileDiff{}}
		if before.sum != "" && before.sum == after.sum {
			d.Note = new("The sources are the same: what differs is the SDK or the compiler that built them.")
		} else if why := strings.TrimSpace(before.why + " " + after.why); why != "" {
			d.Note = &why
		} else {
			d.Files, d.Note = diffFiles(before.files, after.files)
		}
		p.Diff = append(p.Diff, d)
	}
	return p, nil
}

// sourced is what the program of a run was built from: the hash, and the files or why they are not
// at hand.
type sourced struct {
	sum   string
	files map[string][]byte
	why   string
}

// sources finds what the program of a run was built from, also that of a run of the service, whose
// program a lab has built.
func (l *loader) sources(ctx context.Context, x *loaded) (s sourced, err error) {
	s.sum = x.meta.Plugin.SourceSHA256
	if s.sum == "" && x.meta.Plugin.SHA256 != "" {
		if s.sum, err = l.builtFrom(ctx, x.meta.Plugin.SHA256); err != nil {
			return s, err
		}
	}
	again := fmt.Sprintf("lab run %s in the folder as it was then keeps them.", x.slug(l.o.Slug))
	switch {
	case x.meta.Plugin.SHA256 == "":
		s.why = fmt.Sprintf("%s was made without a program that is known here.", x.row.RunID)
		return s, nil
	case s.sum == "":
		s.why = fmt.Sprintf("What %s was built from is not known, as no run of the lab has its program: %s",
			x.row.RunID, again)
		return s, nil
	}
	s.files, err = project.ReadSources(l.o.StateDir, s.sum)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.why = fmt.Sprintf("The sources of %s (%s) are not kept here: %s They may have %d MiB.", x.row.RunID,
			short(s.sum), again, project.MostSourceBytes>>20)
	case errors.Is(err, project.ErrSourcesChanged):
		s.why = fmt.Sprintf("The kept sources of %s were changed: remove %s/%s; %s", x.row.RunID,
			project.SourcesFolder, s.sum, again)
	default:
		return s, err
	}
	return s, nil
}

func (x *loaded) slug(asked string) string {
	if x.row.Slug != "" {
		return x.row.Slug
	}
	return asked
}

// builtFrom is the hash of the sources of a program, by the runs of a lab that built it; "" for none.
func (l *loader) builtFrom(ctx context.Context, program string) (string, error) {
	rows, err := l.reg.ListMetadata(ctx, registry.Filter{Slug: l.o.Slug})
	if err != nil {
		return "", err
	}
	for _, row := range slices.Backward(rows) {
		if !bytes.Contains(row.Payload, []byte(program)) {
			continue
		}
		m, err := artifact.DecodeMetadata(row.Payload)
		if err == nil && m.Plugin.SHA256 == program && m.Plugin.SourceSHA256 != "" {
			return m.Plugin.SourceSHA256, nil
		}
	}
	return "", nil
}

// diffFiles are the files that differ, by their paths.
func diffFiles(before, after map[string][]byte) (files []FileDiff, note *string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	files = []FileDiff{}
	left := 0
	for _, path := range slices.Sorted(maps.Keys(all)) {
		old, was := before[path]
		text, is := after[path]
		switch {
		case was && is && bytes.Equal(old, text):
		case len(files) == mostFiles:
			left++
		default:
			files = append(files, diffFile(path, old, text, was, is))
		}
	}
	if left > 0 {
		note = new(fmt.Sprintf("The first %d of %d files that differ are shown.", mostFiles, mostFiles+left))
	}
	return files, note
}

// diffFile is the difference of one file, which may be on one side only.
func diffFile(path string, old, text []byte, was, is bool) FileDiff {
	f := FileDiff{Path: path}
	switch {
	case !isText(old), !isText(text):
		f.Note = new("It is no text.")
		return f
	case len(old) > mostText, len(text) > mostText:
		f.Note = new(fmt.Sprintf("It has more than %d KiB.", mostText>>10))
		return f
	}
	from, to := "a/"+path, "b/"+path
	if !was {
		from = "/dev/null"
	}
	if !is {
		to = "/dev/null"
	}
	whole := string(diff.Diff(from, old, to, text))
	_, whole, _ = strings.Cut(whole, "\n") // its first line is a command
	lines := slices.Collect(strings.Lines(whole))
	shown := 0
	for shown < min(len(lines), mostLines) && len(f.Diff)+len(lines[shown]) <= mostBytes {
		f.Diff += lines[shown]
		shown++
	}
	if shown < len(lines) {
		f.Note = new(fmt.Sprintf("The first %d of %d lines are shown.", shown, len(lines)))
	}
	return f
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// sourceSections are the differences of the sources, a section per run and a note per file.
func (c *Comparison) sourceSections() (list []Section) {
	for _, d := range c.Program.Diff {
		s := Section{Title: "sources: " + d.RunID}
		if d.Note != nil {
			s.Notes = append(s.Notes, *d.Note)
		}
		for _, f := range d.Files {
			note := f.Path
			if f.Note != nil {
				note += ": " + *f.Note
			}
			s.Notes = append(s.Notes, note)
			if f.Diff != "" {
				s.Code = append(s.Code, visible(f.Diff))
			}
		}
		list = append(list, s)
	}
	return list
}

// visible is a text in which what would not be seen, or would hide other text, is replaced.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// fence is a text as a block of code of Markdown, whose fence is longer than any in it.
func fence(text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + "diff\n" + text + mark + "\n"
}
