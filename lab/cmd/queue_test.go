package cmd_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/search/queue"
)

// overQueue has trials that fail, some that the strategy refuses, and rungs.
const overQueue = `{"space": {"mode": {"type": "choice", "values": ["fade", "fail", "follow"]},
	"calm": {"type": "bool"}, "period": {"type": "int", "low": 12, "high": 17}},
	"method": "sha", "max_trials": 9}`

// process is a lab in a process of its own.
type process struct {
	*exec.Cmd
	output *hosttest.Buffer
	ended  chan struct{}
}

// startLab starts a lab; the test ends it.
func startLab(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, exec.Command("lab", args...))
}

func start(t *testing.T, c *exec.Cmd) *process {
	t.Helper()
	p := &process{c, &hosttest.Buffer{}, make(chan struct{})}
	p.Stdout, p.Stderr = p.output, p.output
	p.WaitDelay = time.Second // its plugins have its output, too
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends a process as a power cut does.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

// over reports whether it has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// signKeys makes a pair of keys and returns the path of the private one.
func signKeys(t *testing.T) string {
	t.Helper()
	key, err := dsse.Generate()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "me.key")
	if err := dsse.WriteKey(path, key); err != nil {
		t.Fatal(err)
	}
	return path
}

// startWorkers starts so many workers of one key, each a process with a state directory of its own.
func startWorkers(t *testing.T, n int, url, key string) (list []*process) {
	t.Helper()
	for range n {
		list = append(list, startWorker(t, t.TempDir(), url, key))
	}
	return list
}

func startWorker(t *testing.T, state, url, key string) *process {
	t.Helper()
	return startLab(t, "worker", "--join", url, "--allow", dsse.PublicPath(key), "--state-dir", state,
		"--sandbox", "off", "--workers", "1", "--lost-after", "1s")
}

func serveQueue(t *testing.T, listen, dir string) *queue.Server {
	t.Helper()
	s, err := queue.Serve(queue.ServeOptions{Listen: listen, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func planned(t *testing.T, dir string) (state string) {
	t.Helper()
	state = t.TempDir()
	if code, out := searching(t.Context(), t, dir, state, io.Discard, "family", "plan", "choosy"); code != 0 {
		t.Fatal(code, out)
	}
	return state
}

// TestWorkersOfAQueueChangeNothing: every byte of a search that two processes have played is that of one
// worker in this process, failures and refusals included.
func TestWorkersOfAQueueChangeNothing(t *testing.T) {
	ring.Slow(t, "it plays a search twice, once in other processes")
	dir := makeSearched(t, overQueue)
	alone, far := planned(t, dir), planned(t, dir)
	code, out := searching(t.Context(), t, dir, alone, io.Discard, "family", "run", "choosy", "--workers",
		"1")
	if code != 0 {
		t.Fatal(code, out)
	}
	key := signKeys(t)
	url := serveQueue(t, "127.0.0.1:0", t.TempDir()).URL()
	workers := startWorkers(t, 2, url, key)
	var said hosttest.Buffer
	code, out = searching(t.Context(), t, dir, far, &said, "family", "run", "choosy", "--on", url,
		"--sign-key", key)
	if code != 0 {
		t.Fatal(code, out, said.String(), workers[0].output, workers[1].output)
	}
	sameBytes(t, alone, far)
	code, answer := labIn(t.Context(), t, io.Discard, "workers", "--on", url, "--json")
	if err := validAnswer([]byte(answer)); err != nil || code != 0 ||
		strings.Count(answer, `"slots":1`) != 2 || !strings.Contains(answer, `"queue":[]`) {
		t.Errorf("exit %d, %v: %s", code, err, answer)
	}
	// One that is interrupted leaves in good order.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, answer = labIn(ctx, t, &watcher{"side by side", cancel}, "worker", "--join", url, "--allow",
		dsse.PublicPath(key), "--state-dir", t.TempDir(), "--json")
	if err := validAnswer([]byte(answer)); err != nil || code != 0 ||
		!strings.Contains(answer, `"played":0`) {
		t.Errorf("exit %d, %v: %s", code, err, answer)
	}
	if n := strings.Count(workers[0].output.String()+workers[1].output.String(), "choosy  t"); n < 9 {
		t.Errorf("the workers have played %d trials:\n%s\n%s", n, workers[0].output, workers[1].output)
	}
}

// TestWorkersPlayAhead: a search whose stop rule ends it among trials that workers have played already leaves
// the bytes of one that never began them, and so does one that goes on.
func TestWorkersPlayAhead(t *testing.T) {
	ring.Slow(t, "it plays two searches twice, once in another process")
	key := signKeys(t)
	url := serveQueue(t, "127.0.0.1:0", t.TempDir()).URL()
	worker := startWorkers(t, 1, url, key)[0]
	for _, c := range []struct {
		modes string
		runs  int
	}{{`"fail"`, 20}, {`"fade", "fail", "follow"`, 25}} {
		dir := makeSearched(t, fmt.Sprintf(`{"space": {"mode": {"type": "choice", "values": [%s]},
			"period": {"type": "int", "low": 12, "high": 90}}, "method": "sobol", "max_trials": 24}`, c.modes))
		alone, far := planned(t, dir), planned(t, dir)
		codeAlone, _ := searching(t.Context(), t, dir, alone, io.Discard, "family", "run", "choosy", "--workers",
			"1") // a capsule says how many threads a failed program had
		code, out := searching(t.Context(), t, dir, far, io.Discard, "family", "run", "choosy", "--on", url,
			"--sign-key", key)
		if code != codeAlone {
			t.Fatal(code, codeAlone, out, worker.output)
		}
		sameBytes(t, alone, far)
		text, err := filepath.Glob(filepath.Join(far, "runs", "run_*"))
		if err != nil || len(text) != c.runs {
			t.Errorf("%s: %d runs, not %d: %v", c.modes, len(text), c.runs, err)
		}
		t.Logf("%s: %d trials played", c.modes, strings.Count(worker.output.String(), "choosy  t"))
	}
}

// volatile is what differs between two executions of one search: the clock, and how busy the machine was.
var volatile = regexp.MustCompile(
	`20(2[5-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|"(duration_ms|gomaxprocs)": ?[0-9]+`)

// sameBytes compares every file of two state directories that a search writes, and every row of their
// registries.
func sameBytes(t *testing.T, a, b string) {
	t.Helper()
	compareAll(t, everything(t, a), everything(t, b))
}

func compareAll(t *testing.T, one, two map[string]string) {
	t.Helper()
	if len(one) < 20 {
		t.Errorf("only %d files", len(one))
	}
	for _, name := range slices.Sorted(maps.Keys(one)) {
		if one[name] != two[name] {
			at := max(0, sameFor(one[name], two[name])-300)
			t.Errorf("%s differs from byte %d on:\n%.1000s\n\n%.1000s", name, at, one[name][at:],
				two[name][min(at, len(two[name])):])
		}
		delete(two, name)
	}
	for name := range two {
		t.Errorf("%s is only in the second", name)
	}
}

// sameFor is for how many bytes two texts are the same.
func sameFor(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func everything(t *testing.T, state string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, top := range []string{"families", "runs", "reports"} {
		err := filepath.WalkDir(filepath.Join(state, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "progress.jsonl" ||
				strings.Contains(d.Name(), ".sqlite3") {
				return err
			}
			text, err := os.ReadFile(path)
			rel, _ := filepath.Rel(state, path)
			files[rel] = volatile.ReplaceAllString(string(text), "*")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(files, rows(t, state))
	return files
}

// rows are the rows of a registry by table, sorted, without the numbers that it gave them.
func rows(t *testing.T, state string) map[string]string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(state, "runs", "*.sqlite3"))
	if len(found) != 1 {
		t.Fatal(found)
	}
	db, err := sql.Open("sqlite", "file:"+found[0]+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := map[string]string{}
	for _, table := range column(t, db,
		`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`) {
		names := column(t, db, fmt.Sprintf(`SELECT name FROM pragma_table_info('%s')
			WHERE NOT (pk = 1 AND type = 'INTEGER')`, table))
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = fmt.Sprintf(`quote(CAST("%s" AS TEXT))`, n)
		}
		list := column(t, db, fmt.Sprintf(`SELECT %s FROM "%s"`, strings.Join(quoted, " || ',' || "), table))
		for i, text := range list {
			list[i] = volatile.ReplaceAllString(text, "*")
		}
		slices.Sort(list)
		out["table "+table] = strings.Join(list, "\n")
	}
	return out
}

func column(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
