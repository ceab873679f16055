package witness_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/translog"
)

const origin = "governance.lab.example"

var now = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

func clock() time.Time { return now }

func keyOf(name string) ed25519.PrivateKey {
	d := sha256.Sum256([]byte("TEST ONLY " + name))
	return ed25519.NewKeyFromSeed(d[:])
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// history is a log of so many leaves, those of one name; branch makes leaves behind the first shared ones
// another log.
type history struct {
	t    testing.TB
	tree ledger.Tree
	key  ed25519.PrivateKey
}

func newHistory(t testing.TB, shared, more int, branch string) *history {
	t.Helper()
	h := &history{t: t, key: keyOf("log key")}
	for i := range shared + more {
		leaf := fmt.Sprintf("leaf %d", i)
		if i >= shared {
			leaf += branch
		}
		_, err := h.tree.Append(translog.LeafHash([]byte(leaf)))
		check(t, err)
	}
	return h
}

func (h *history) logKey() translog.LogKey {
	key, err := translog.NewLogKey(origin, h.key.Public().(ed25519.PublicKey))
	check(h.t, err)
	return key
}

func (h *history) tree1(size int64) witness.Tree {
	h.t.Helper()
	root, err := h.tree.Root(size)
	check(h.t, err)
	head := translog.Checkpoint{Origin: origin, Size: size, Root: root}
	note, err := translog.SignCheckpoint(head, h.key)
	check(h.t, err)
	return witness.Tree{Head: head, Note: note, Root: h.tree.Root, Consistency: func(old int64) ([]tlog.Hash, error) {
		if old == 0 || old == size {
			return nil, nil
		}
		return h.tree.Consistency(old, size)
	}}
}

// extension leads from old to size.
func (h *history) extension(old, size int64) *translog.Extension {
	h.t.Helper()
	t := h.tree1(size)
	hashes, err := t.Consistency(old)
	check(h.t, err)
	return &translog.Extension{Old: old, Hashes: hashes, Note: t.Note}
}

func open(t testing.TB, dir string, logs ...translog.LogKey) *witness.Witness {
	t.Helper()
	w, err := witness.Open(witness.Options{Dir: dir, Name: "witness.example.com", Logs: logs, Now: clock})
	check(t, err)
	t.Cleanup(w.Close)
	return w
}

// served is the address of a witness.
func served(t testing.TB, w *witness.Witness) string {
	t.Helper()
	s := httptest.NewServer(w.Handler(edge.NewHosts("127.0.0.1"), hclog.NewNullLogger()))
	t.Cleanup(s.Close)
	return s.URL
}

func post(t testing.TB, url, body string) (status int, kind, text string) {
	t.Helper()
	resp, err := http.Post(url+"/add-checkpoint", "text/plain", strings.NewReader(body))
	check(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	check(t, err)
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(b)
}

// TestProtocol goes through the answers of C2SP tlog-witness in their order.
func TestProtocol(t *testing.T) {
	h := newHistory(t, 20, 0, "")
	w := open(t, t.TempDir(), h.logKey())
	url := served(t, w)
	fork := newHistory(t, 4, 16, " forked")
	stranger := newHistory(t, 20, 0, "")
	stranger.key = keyOf("another key")
	elsewhere, err := translog.SignCheckpoint(translog.Checkpoint{Origin: "elsewhere.example", Size: 1}, h.key)
	check(t, err)
	broken := h.extension(5, 9)
	broken.Hashes[0][3] ^= 1
	for _, c := range []struct {
		name, body string
		status     int
		answer     string
	}{
		{"no extension", "hello", 400, ""},
		{"an unknown log", translog.Extension{Note: elsewhere}.Format(), 404, ""},
		{"another key", stranger.extension(0, 5).Format(), 403, ""},
		{"not from nothing", h.extension(3, 5).Format(), 409, "0\n"},
		{"a proof from nothing", translog.Extension{Hashes: []tlog.Hash{{}}, Note: h.tree1(5).Note}.Format(), 422, ""},
		{"the first", h.extension(0, 5).Format(), 200, "— witness.example.com "},
		{"the same again", h.extension(5, 5).Format(), 200, "— witness.example.com "},
		{"from nothing again", h.extension(0, 9).Format(), 409, "5\n"},
		{"backwards", translog.Extension{Old: 5, Note: h.tree1(4).Note}.Format(), 400, ""},
		{"a fork of the same size", fork.extension(5, 5).Format(), 409, "5\n"},
		{"a fork that has grown", fork.extension(5, 9).Format(), 422, ""},
		{"a spoilt proof", broken.Format(), 422, ""},
		{"no proof", translog.Extension{Old: 5, Note: h.tree1(9).Note}.Format(), 422, ""},
		{"an extension", h.extension(5, 9).Format(), 200, "— witness.example.com "},
	} {
		status, kind, text := post(t, url, c.body)
		if status != c.status || !strings.HasPrefix(text, c.answer) {
			t.Errorf("%s: %d %q, want %d %q", c.name, status, text, c.status, c.answer)
		}
		if status == 409 && kind != "text/x.tlog.size" {
			t.Errorf("%s: %s", c.name, kind)
		}
		if status == 200 {
			list, err := translog.Cosignatures(strings.SplitN(c.body, "\n\n", 2)[1]+text, w.Key())
			if err != nil || len(list) != 1 || !list[0].At.Equal(now) {
				t.Errorf("%s: %v, %v", c.name, list, err)
			}
		}
	}
	last, err := w.Last(origin)
	check(t, err)
	if head, err := translog.OpenCheckpoint(last, h.logKey()); err != nil || head.Size != 9 {
		t.Errorf("%v, %v", head, err)
	}
}

// TestRestart: what was cosigned counts after a restart, name and key are fixed, and a folder that was
// spoilt cosigns nothing.
func TestRestart(t *testing.T) {
	dir, h := t.TempDir(), newHistory(t, 20, 0, "")
	w := open(t, dir, h.logKey())
	_, err := w.Add(h.extension(0, 7))
	check(t, err)
	if _, err := witness.Open(witness.Options{Dir: dir, Logs: []translog.LogKey{h.logKey()}, Now: clock}); err == nil {
		t.Error("two witnesses have one folder")
	}
	w.Close()
	again, err := witness.Open(witness.Options{Dir: dir, Logs: []translog.LogKey{h.logKey()}, Now: clock})
	check(t, err)
	if again.Key().VKey() != w.Key().VKey() {
		t.Error("another key after a restart")
	}
	if _, err := again.Add(newHistory(t, 3, 17, " forked").extension(0, 12)); err == nil {
		t.Error("it has forgotten what it has seen")
	}
	_, err = again.Add(h.extension(7, 12))
	check(t, err)
	again.Close()
	own, err := translog.NewLogKey("own.example", w.Key().Public)
	check(t, err)
	other, err := translog.NewLogKey(origin, keyOf("another key").Public().(ed25519.PublicKey))
	check(t, err)
	for name, o := range map[string]witness.Options{
		"another name": {Name: "other.example"}, "its own log": {Logs: []translog.LogKey{own}},
		"a log twice": {Logs: []translog.LogKey{h.logKey(), h.logKey()}}, "another key of the log": {Logs: []translog.LogKey{other}},
	} {
		o.Dir, o.Now = dir, clock
		if w, err := witness.Open(o); err == nil {
			t.Errorf("%s is accepted", name)
			w.Close()
		}
	}
	check(t, os.WriteFile(filepath.Join(dir, "logs", origin+".json"), []byte("{}"), 0o600))
	if w, err := witness.Open(witness.Options{Dir: dir, Logs: []translog.LogKey{h.logKey()}, Now: clock}); err == nil {
		t.Error("a spoilt memory begins anew")
		w.Close()
	}
}

// TestRaceOfTwoExtensions: of many extensions that fork at one checkpoint only those of one branch are
// cosigned, however they meet.
func TestRaceOfTwoExtensions(t *testing.T) {
	base := newHistory(t, 8, 0, "")
	for range 20 {
		w, err := witness.Open(witness.Options{Dir: t.TempDir(), Name: "w", Logs: []translog.LogKey{base.logKey()}, Now: clock})
		check(t, err)
		_, err = w.Add(base.extension(0, 8))
		check(t, err)
		var all sync.WaitGroup
		var mu sync.Mutex
		won := map[string]int{}
		for i := range 8 {
			branch := []string{" left", " right"}[i%2]
			e := newHistory(t, 8, 1+i/2, branch).extension(8, int64(9+i/2))
			all.Go(func() {
				if _, err := w.Add(e); err == nil {
					mu.Lock()
					won[branch]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("cosigned: %v", won)
		}
		w.Close()
	}
}

// TestAsk: a log collects the cosignatures of its witnesses, keeps them over a restart, and finds out that
// it was rewritten by what they have cosigned.
func TestAsk(t *testing.T) {
	h, dir := newHistory(t, 30, 0, ""), t.TempDir()
	one := open(t, t.TempDir(), h.logKey())
	two, err := witness.Open(witness.Options{Dir: t.TempDir(), Name: "two", Logs: []translog.LogKey{h.logKey()}, Now: func() time.Time { return now.Add(time.Minute) }})
	check(t, err)
	t.Cleanup(two.Close)
	at := []witness.At{{URL: served(t, one), Key: one.Key()}, {URL: served(t, two), Key: two.Key()}}
	asked, err := witness.NewWitnesses(dir, h.logKey(), at, 0, h.tree1(4))
	check(t, err)
	if _, ok := asked.Earliest(2); ok || asked.Newest() != nil {
		t.Error("cosigned before they were asked")
	}
	for _, size := range []int64{4, 9, 10} {
		check(t, asked.Ask(t.Context(), h.tree1(size)))
	}
	q, err := translog.NewQuorum([]string{one.Key().VKey(), two.Key().VKey()}, 0)
	check(t, err)
	note := asked.Note(h.tree1(10).Head, h.tree1(10).Note)
	check(t, q.Check(note, h.logKey()))
	if at, ok := asked.Earliest(2); !ok || !at.Equal(now.Add(time.Minute)) {
		t.Errorf("entry 2 was cosigned at %v, %v", at, ok)
	}
	if _, ok := asked.Earliest(10); ok {
		t.Error("entry 10 is in no checkpoint")
	}
	// After a restart it goes on from there, although it does not know where they are.
	again, err := witness.NewWitnesses(dir, h.logKey(), at, 0, h.tree1(12))
	check(t, err)
	if newest := again.Newest(); newest == nil || newest.Size != 10 || again.Note(h.tree1(10).Head, h.tree1(10).Note) != note {
		t.Errorf("after a restart: %v", newest)
	}
	check(t, again.Ask(t.Context(), h.tree1(12)))

	fork := newHistory(t, 8, 12, " forked")
	if _, err := witness.NewWitnesses(dir, h.logKey(), at, 0, fork.tree1(20)); err == nil || !strings.Contains(err.Error(), "another log") {
		t.Errorf("a fork begins with the cosignatures of another log: %v", err)
	}
	if _, err := witness.NewWitnesses(dir, h.logKey(), at, 0, h.tree1(9)); err == nil || !strings.Contains(err.Error(), "older copy") {
		t.Errorf("an older copy: %v", err)
	}
	elsewhere, err := witness.NewWitnesses(t.TempDir(), h.logKey(), at, 0, fork.tree1(20))
	check(t, err)
	for _, size := range []int64{12, 20} {
		if err := elsewhere.Ask(t.Context(), fork.tree1(size)); err == nil || elsewhere.Newest() != nil {
			t.Errorf("a fork of %d entries was cosigned: %v", size, err)
		}
	}
}

// TestWitnessAway: what one of two has cosigned is kept, and is no quorum of two.
func TestWitnessAway(t *testing.T) {
	h := newHistory(t, 5, 0, "")
	one := open(t, t.TempDir(), h.logKey())
	other, err := translog.NewWitnessKey("away", keyOf("away").Public().(ed25519.PublicKey))
	check(t, err)
	at := []witness.At{{URL: served(t, one), Key: one.Key()}, {URL: "http://127.0.0.1:1", Key: other}}
	asked, err := witness.NewWitnesses(t.TempDir(), h.logKey(), at, 0, h.tree1(5))
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := asked.Ask(ctx, h.tree1(5)); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("%v", err)
	}
	if asked.Newest() != nil || !strings.Contains(asked.Note(h.tree1(5).Head, h.tree1(5).Note), "— witness.example.com ") {
		t.Error("one of two is not kept, or is a quorum")
	}
	own, err := translog.NewWitnessKey("own", h.key.Public().(ed25519.PublicKey))
	check(t, err)
	for name, at := range map[string][]witness.At{
		"the log's key": {{URL: "http://127.0.0.1:1", Key: own}}, "one twice": {at[0], at[0]},
	} {
		if _, err := witness.NewWitnesses(t.TempDir(), h.logKey(), at, 0, h.tree1(5)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
