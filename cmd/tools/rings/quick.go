package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// quick checks what differs from a commit, or the last commit if nothing differs: gofmt,
// vet, the arrows between the packages, and the short tests of what changed and what imports
// it. Go keeps the results of tests whose inputs are the same.
func (r *runner) quick(ctx context.Context) error {
	root, err := output(ctx, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	files, err := changedFiles(ctx, root, r.base)
	if err == nil && len(files) == 0 {
		files, err = changedFiles(ctx, root, r.base+"~1")
	}
	if err != nil {
		return err
	}
	all, err := load(ctx)
	if err != nil {
		return err
	}
	if sources := goFiles(files); len(sources) > 0 {
		unformatted, err := output(ctx, "gofmt", append([]string{"-l"}, sources...)...)
		if err != nil {
			return err
		}
		if unformatted != "" {
			return fmt.Errorf("gofmt needed:\n%s", unformatted)
		}
	}
	packages := affected(all, files)
	tree := module + "/cmd/tools/tree"
	packages = slices.DeleteFunc(packages, func(p string) bool { return p == tree })
	if len(packages) > 0 {
		if err := shown(ctx, append([]string{"vet"}, packages...)...); err != nil {
			return errors.New("go vet has findings")
		}
	}
	if err := shown(ctx, "test", tree); err != nil {
		return errors.New("the tree is not as it should be")
	}
	if len(packages) == 0 {
		return nil
	}
	if err := shown(ctx, append([]string{"test", "-short", "-vet=off"}, packages...)...); err != nil {
		return errors.New("tests fail")
	}
	return nil
}

// changedFiles returns the absolute paths of the files that differ from a commit and still
// exist, those that git does not know among them.
func changedFiles(ctx context.Context, root, base string) ([]string, error) {
	tracked, err := output(ctx, "git", "-C", root, "diff", "--name-only", "--diff-filter=d", base)
	if err != nil {
		return nil, err
	}
	others, err := output(ctx, "git", "-C", root, "ls-files", "--others", "--exclude-standard", "--full-name")
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range append(splitLines(tracked), splitLines(others)...) {
		files = append(files, filepath.Join(root, name))
	}
	return files, nil
}

// shown runs go and shows what it prints.
func shown(ctx context.Context, args ...string) error {
	cmd := command(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
