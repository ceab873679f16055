package v1

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assay-run/assay/host/base/edge"
)

func TestKeyringKeepsTheLast64(t *testing.T) {
	k := newKeyring()
	calls := 0
	start := func(key string) {
		t.Helper()
		if _, err := k.once(key, "/p", []byte("{}"), func() (*edge.Answer, error) {
			calls++
			return &edge.Answer{Header: http.Header{}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 65 {
		start(fmt.Sprint(i))
	}
	start("1")
	if calls != 65 {
		t.Errorf("key 1 is forgotten: %d calls", calls)
	}
	start("0")
	if calls != 66 {
		t.Errorf("key 0 is still there: %d calls", calls)
	}
}

func TestKeyringSerialisesOneKey(t *testing.T) {
	k := newKeyring()
	var calls, replays atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			a, err := k.once("k", "/p", []byte(`{"a":1}`), func() (*edge.Answer, error) {
				if calls.Add(1) < 3 {
					return nil, errors.New("not yet")
				}
				return &edge.Answer{Header: http.Header{}}, nil
			})
			if err == nil && a.Header.Get("Idempotency-Replayed") == "true" {
				replays.Add(1)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 3 || replays.Load() != 47 {
		t.Errorf("%d calls, %d replays", calls.Load(), replays.Load())
	}
}

func TestKeyOf(t *testing.T) {
	for _, good := range []string{"k", strings.Repeat("~", 128), "!"} {
		if got, err := header(http.Header{"Idempotency-Key": {good}}, "Idempotency-Key"); err != nil ||
			got != good {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range [][]string{{""}, {"a b"}, {"é"}, {strings.Repeat("x", 129)}, {"a", "b"}, {"\x7f"}} {
		if _, err := header(http.Header{"Idempotency-Key": bad}, "Idempotency-Key"); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
