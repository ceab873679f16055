package file

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestRoomsSideBySide: folders of one root are made, closed and the root removed at the same
// time, and no process loses its folder.
func TestRoomsSideBySide(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				r, err := NewWorkdir(root)
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(r.Dir(), "file"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				if err := RemoveWorkdirs(root); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("in the end: %v", err)
	}
}
