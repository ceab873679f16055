package library

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
)

// File is a file of a run. Hash and size of a locked one are empty: a size tells how many trades
// there were.
type File struct {
	artifact.File
	Locked bool `json:"locked"`
}

const logFile = "log.jsonl"

// shut reports whether a file belongs to what is locked: the files of the splits, the log, which
// has their lines, and capsules.
func shut(name string, locked []string) bool {
	if len(locked) == 0 {
		return false
	}
	if name == logFile || strings.HasPrefix(name, "capsules/") {
		return true
	}
	return slices.ContainsFunc(locked, func(id string) bool {
		return strings.HasPrefix(name, "splits/"+id+"/")
	})
}

// Files lists the files of a run by name.
func (l *Library) Files(ctx context.Context, runID string) ([]File, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return nil, err
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return nil, err
	}
	out := make([]File, 0, len(e.meta.Artifacts))
	for _, f := range e.meta.Artifacts {
		hidden := shut(f.Name, locked)
		if hidden {
			f.SHA256, f.Size = "", 0
		}
		out = append(out, File{f, hidden})
	}
	return out, nil
}

// Open opens a file of a run that is listed, not locked, and has the hash that is listed. The
// caller closes it.
func (l *Library) Open(ctx context.Context, runID, name string) (File, io.ReadCloser, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return File{}, nil, err
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return File{}, nil, err
	}
	f, listed := e.meta.File(name)
	if !listed {
		return File{}, nil, &NotFoundError{KindFile, name}
	}
	if shut(name, locked) {
		return File{}, nil, &LockedError{runID, name}
	}
	body, err := l.store.Open(e.meta, name)
	return File{File: f}, body, kept(err)
}
