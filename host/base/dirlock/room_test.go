package dirlock

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestRoomsSideBySide: rooms of one root are entered, left and the root removed at the same
// time, and nobody loses the room that he is in.
func TestRoomsSideBySide(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				r, err := Enter(root)
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
				if err := RemoveRoot(root); err != nil {
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
