package artifact

import (
	"errors"
	"os"
	"testing"
)

// What is no run of this name leaves nothing in its place.
func TestReceiveRefuses(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"no metadata":  {"report.json": []byte("{}")},
		"bad metadata": {"metadata.json": []byte("{}")},
		"a path":       {"../report.json": []byte("{}")},
		"an absolute":  {"/report.json": []byte("{}")},
		"not clean":    {"a//b": nil},
		"nothing":      {},
	} {
		s := NewStore(t.TempDir())
		_, err := s.Receive("run_gxzvvha2szhitenn", files)
		if bad := (*MismatchError)(nil); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(s.Root()); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v", name, left, err)
		}
	}
	if _, err := NewStore(t.TempDir()).Receive("../run", nil); err == nil {
		t.Error("a path as a run")
	}
}
