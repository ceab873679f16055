package run

import (
	"context"
	"fmt"
	"testing"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/proc/sandbox"
)

// TestCarriers: a run of lockstep ends with the same bytes, or fails in the same words, whether gRPC or
// frames carry its messages. Outside of the walls an encrypted connection has gRPC alone.
func TestCarriers(t *testing.T) {
	l := newLab(t, 2000)
	names := []string{"randomly", "exits", "segfaults", "panics", "errs", "nan", "lateexit"}
	plugins := t.TempDir()
	playtest.Install(t, plugins, names...)
	c, err := catalog.Open(context.Background(), catalog.Options{Dir: plugins, StateDir: t.TempDir(),
		Sandbox: sandbox.Off, Logger: l.launcher.Logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	// played is all that a run tells, and whether frames carried it.
	played := func(name string, plain bool) (told string, framed bool) {
		opts := l.launcher.Options
		opts.Catalog, opts.Mode, opts.Many = c, ModeLockstep, plain
		over := &lab{t: t, catalog: c, store: l.store, launcher: NewLauncher(opts)}
		x := over.launch(request(name, nil))
		framed = x.plugin.Stream.glance != nil
		o := x.Run(context.Background())
		if f := o.Failure; f != nil {
			delete(f.Data, "stack") // it has addresses
			code := -1
			if f.PluginExitCode != nil {
				code = *f.PluginExitCode
			}
			return fmt.Sprintf("%s %s %s %d %v %.40s", f.Code, f.Message, f.CandleTime, code, f.Data,
				f.LogTail[:min(1, len(f.LogTail))]), framed
		}
		return fingerprint(t, x), framed
	}
	for _, name := range names {
		rpc, framed := played(name, false)
		if framed {
			t.Errorf("%s: frames carry what was to be encrypted", name)
		}
		over, framed := played(name, true)
		if !framed {
			t.Errorf("%s: gRPC carries lockstep", name)
		}
		if rpc != over {
			t.Errorf("%s over gRPC:\n%s\nin frames:\n%s", name, rpc, over)
		}
	}
}
