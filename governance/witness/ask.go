package witness

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/translog"
)

// At is a witness with its address, the submission prefix of C2SP tlog-witness.
type At struct {
	URL string
	Key translog.WitnessKey
}

// Tree is what is asked of a log: its newest checkpoint, and proofs that it has only grown.
type Tree struct {
	Head translog.Checkpoint
	Note string
	// Consistency is the proof from the first old entries to Head; Root is the root of the first size
	// entries.
	Consistency func(old int64) ([]tlog.Hash, error)
	Root        func(size int64) (tlog.Hash, error)
}

// File is where a log keeps the cosignatures that it was given: a line "<size> <root> <signature line>" for
// each, only ever added to.
const File = "cosignatures.log"

// Witnesses are those that a log asks. Its methods may be called from any goroutine.
type Witnesses struct {
	log    translog.LogKey
	at     []At
	need   int
	client *http.Client
	path   string

	asking sync.Mutex
	last   []int64 // what each witness has cosigned last, as far as it is known

	mu    sync.Mutex
	lines map[translog.Checkpoint][]string // the canonical order is that of the witnesses
	given []promotion.Given                // in the order in which they were given
}

// askTime bounds one request to a witness.
const askTime = 3 * time.Second

// NewWitnesses reads the cosignatures of a folder and compares them with the tree: one of another root shows
// that the log was rewritten. need is how many witnesses make a checkpoint one that is given out before
// newer ones, 0 for all. A witness whose key is the log's own is refused.
func NewWitnesses(dir string, log translog.LogKey, at []At, need int, tree Tree) (*Witnesses, error) {
	w := &Witnesses{log: log, at: at, need: need, path: filepath.Join(dir, File),
		last: make([]int64, len(at)), lines: map[translog.Checkpoint][]string{},
		client: &http.Client{Timeout: askTime, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
	if need == 0 {
		w.need = len(at)
	}
	if w.need < 0 || w.need > len(at) {
		return nil, &ConfigError{fmt.Sprintf("%d of %d witnesses cannot be asked for", need, len(at))}
	}
	for i, a := range at {
		if a.Key.Public.Equal(log.Public) {
			return nil, &ConfigError{fmt.Sprintf("witness %s has the key of the log: a log does not vouch "+
				"for itself", a.Key.Witness)}
		}
		if slices.ContainsFunc(at[:i], func(b At) bool { return b.Key.Public.Equal(a.Key.Public) }) {
			return nil, &ConfigError{fmt.Sprintf("witness %s is given twice", a.Key.Witness)}
		}
	}
	return w, w.load(tree)
}

// load reads the file. Lines of witnesses that are not asked any more are passed over.
func (w *Witnesses) load(tree Tree) error {
	text, err := os.ReadFile(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	scan := bufio.NewScanner(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]))
	for n := 1; scan.Scan(); n++ {
		bad := func(format string, args ...any) error {
			return &ConfigError{fmt.Sprintf("%s, line %d: %s", w.path, n, fmt.Sprintf(format, args...))}
		}
		parts := strings.SplitN(scan.Text(), " ", 3)
		if len(parts) != 3 {
			return bad("it is not a cosignature")
		}
		size, err := translog.ParseSize(parts[0])
		if err != nil {
			return bad("%v", err)
		}
		root, err := translog.ParseHex(parts[1])
		if err != nil {
			return bad("%v", err)
		}
		c, line := translog.Checkpoint{Origin: w.log.Origin, Size: size, Root: root}, parts[2]+"\n"
		if list, err := w.read(c, line); err != nil || len(list) == 0 {
			continue // of a witness that is not asked any more
		}
		if size > tree.Head.Size {
			return bad("a witness has cosigned %d entries, the log has %d: it is an older copy", size,
				tree.Head.Size)
		}
		if own, err := tree.Root(size); err != nil || own != root {
			return bad("a witness has cosigned another log: at %d entries its root is %s, here it is %s",
				size, translog.Hex(root), translog.Hex(own))
		}
		w.adopt(c, line)
	}
	return scan.Err()
}

// read is the cosignature in a line, none where its witness is not known.
func (w *Witnesses) read(c translog.Checkpoint, line string) ([]translog.Cosignature, error) {
	keys := make([]translog.WitnessKey, len(w.at))
	for i, a := range w.at {
		keys[i] = a.Key
	}
	return translog.Cosignatures(c.Text()+"\n"+line, keys...)
}

// adopt takes a cosignature in; one more of the same witness over the same checkpoint changes nothing.
func (w *Witnesses) adopt(c translog.Checkpoint, line string) (fresh bool) {
	list, err := w.read(c, line)
	if err != nil || len(list) != 1 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	prefix := line[:strings.LastIndexByte(line, ' ')+1]
	if slices.ContainsFunc(w.lines[c], func(l string) bool { return strings.HasPrefix(l, prefix) }) {
		return false
	}
	w.lines[c] = append(w.lines[c], line)
	slices.Sort(w.lines[c])
	w.given = append(w.given, promotion.Given{Checkpoint: c, Cosignature: list[0]})
	return true
}

// Ask asks every witness for its cosignature of the newest checkpoint, unless it has given it. The error
// joins those of the witnesses that have not; what the others gave is kept.
func (w *Witnesses) Ask(ctx context.Context, tree Tree) error {
	if tree.Head.Size == 0 {
		return nil
	}
	w.asking.Lock()
	defer w.asking.Unlock()
	faults := make([]error, len(w.at))
	var all sync.WaitGroup
	for i := range w.at {
		if w.last[i] == tree.Head.Size {
			continue
		}
		all.Go(func() { faults[i] = w.askOne(ctx, i, tree) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// askOne asks one witness. Where it has another size than was thought, it is asked once more from there.
func (w *Witnesses) askOne(ctx context.Context, i int, tree Tree) error {
	name := w.at[i].Key.Witness
	for range 2 {
		status, body, err := w.post(ctx, i, tree)
		if err != nil {
			return fmt.Errorf("witness %s: %w", name, err)
		}
		switch status {
		case http.StatusOK:
			return w.take(i, tree.Head, body)
		case http.StatusConflict:
			size, err := translog.ParseSize(strings.TrimSuffix(body, "\n"))
			if err != nil || size > tree.Head.Size || size == w.last[i] {
				return fmt.Errorf("witness %s has cosigned another log than this one, of %.20q entries: the "+
					"log was rewritten or restored from an old copy", name, strings.TrimSpace(body))
			}
			w.last[i] = size
		default:
			return fmt.Errorf("witness %s answered %d %.200q", name, status, strings.TrimSpace(body))
		}
	}
	return fmt.Errorf("witness %s has moved on twice: another process asks it for this log", name)
}

func (w *Witnesses) post(ctx context.Context, i int, tree Tree) (status int, body string, err error) {
	e := translog.Extension{Old: w.last[i], Note: tree.Note}
	if e.Hashes, err = tree.Consistency(e.Old); err != nil {
		return 0, "", err
	}
	to, err := url.JoinPath(w.at[i].URL, "add-checkpoint")
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(e.Format()))
	if err != nil {
		return 0, "", err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // an address may hold credentials
		}
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, translog.MaxExtension))
	return resp.StatusCode, string(text), err
}

// take keeps the cosignature of an answer, on disk before it is given out.
func (w *Witnesses) take(i int, c translog.Checkpoint, body string) error {
	key := w.at[i].Key
	list, err := translog.Cosignatures(c.Text()+"\n"+body, key)
	if err != nil || len(list) != 1 {
		return fmt.Errorf("the answer of witness %s is not a cosignature by the key %s", key.Witness,
			key.VKey())
	}
	if !w.adopt(c, list[0].Line) {
		w.last[i] = c.Size
		return nil
	}
	f, err := os.OpenFile(w.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %s %s", c.Size, translog.Hex(c.Root), list[0].Line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	w.last[i] = c.Size
	return nil
}

// Note is a signed checkpoint with the cosignatures that are known of it.
func (w *Witnesses) Note(c translog.Checkpoint, note string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return translog.WithCosignatures(note, w.lines[c]...)
}

// Newest is the newest checkpoint that enough witnesses have cosigned, nil if there is none.
func (w *Witnesses) Newest() *translog.Checkpoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	var best *translog.Checkpoint
	for c, lines := range w.lines {
		if len(lines) >= max(w.need, 1) && (best == nil || c.Size > best.Size) {
			best = &c
		}
	}
	return best
}

// Given are all cosignatures that are known, by the size of what they are of.
func (w *Witnesses) Given() []promotion.Given {
	w.mu.Lock()
	list := slices.Clone(w.given)
	w.mu.Unlock()
	slices.SortStableFunc(list, func(a, b promotion.Given) int { return cmp.Compare(a.Size, b.Size) })
	return list
}

// Earliest is when the entry of an index was under cosignatures of enough witnesses for the first time: the
// time that the last of these named. ok is false as long as it is not.
func (w *Witnesses) Earliest(index int64) (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := map[string]time.Time{}
	for _, c := range w.given {
		name := c.Key.VKey()
		if old, known := first[name]; c.Size > index && (!known || c.At.Before(old)) {
			first[name] = c.At
		}
	}
	var times []time.Time
	for _, at := range first {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	if w.need == 0 || len(times) < w.need {
		return time.Time{}, false
	}
	return times[w.need-1], true
}
