// Package witness is the two sides of C2SP tlog-witness: a witness, which keeps the last checkpoint of each
// log that it follows and cosigns nothing but its continuation, and what a log asks its witnesses with.
//
// A witness holds no entries and judges none: its cosignature states that the log has only grown since the
// witness first saw it. Its state is one file for each log, replaced as a whole before a cosignature is
// given out, under a lock, so that two extensions of one checkpoint never both get one.
package witness

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/translog"
)

// The files in the folder of a witness: its key, its verifier key, and the logs that it follows.
const (
	KeyFile  = "witness.key"
	VKeyFile = "witness.vkey"
	logsDir  = "logs"
	lockName = "witness.lock"
)

// Options are what a witness is opened with.
type Options struct {
	Dir string
	// Name is that of the witness, fixed at its first start; "" takes the one that it has.
	Name string
	// Logs are the keys of the logs that it follows; of a log that has changed its keys all, in their order.
	Logs []translog.LogKey
	Now  func() time.Time
	// Unlock is asked for the passphrase of an encrypted key; it may be nil.
	Unlock dsse.Unlock
}

// ConfigError is a configuration that does not fit: name, key or logs.
type ConfigError struct{ Message string }

// Error implements error.
func (e *ConfigError) Error() string { return e.Message }

// Witness is an open witness. Its methods may be called from any goroutine.
type Witness struct {
	opts   Options
	lock   *file.Lock
	signer crypto.Signer
	key    translog.WitnessKey
	logs   map[string]*followed
}

// followed is one log.
type followed struct {
	// keys are those that the log has had, the oldest first.
	keys []translog.LogKey
	path string

	mu   sync.Mutex
	kept *translog.Kept // nil before the first checkpoint
}

// Open opens or begins the folder of a witness. Its first start makes the key and fixes the name.
func Open(o Options) (_ *Witness, err error) {
	w := &Witness{opts: o, logs: map[string]*followed{}}
	if w.lock, err = file.LockState(o.Dir, lockName); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if w.signer, err = openKey(filepath.Join(o.Dir, KeyFile), o.Unlock); err != nil {
		return nil, err
	}
	if err := w.identify(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, logsDir), 0o700); err != nil {
		return nil, err
	}
	for _, key := range o.Logs {
		if err := w.follow(key); err != nil {
			return nil, err
		}
	}
	return w, w.checkKeys()
}

// Close gives the folder back.
func (w *Witness) Close() { w.lock.Release() }

// Key is the witness's public key.
func (w *Witness) Key() translog.WitnessKey { return w.key }

// openKey reads the key of a witness, or makes it where there is none.
func openKey(path string, unlock dsse.Unlock) (crypto.Signer, error) {
	key, err := dsse.ReadKey(path, unlock)
	if errors.Is(err, fs.ErrNotExist) {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		return private, dsse.WriteKey(path, private)
	}
	if err != nil {
		return nil, &ConfigError{fmt.Sprintf("key of the witness: %v", err)}
	}
	if _, ok := key.Public().(ed25519.PublicKey); !ok {
		return nil, &ConfigError{path + " is not an Ed25519 key"}
	}
	return key, nil
}

// identify compares name and key with those of the first start.
func (w *Witness) identify() error {
	path := filepath.Join(w.opts.Dir, VKeyFile)
	text, err := os.ReadFile(path)
	begun := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	name := w.opts.Name
	if begun {
		first, err := translog.ParseWitnessKey(string(text))
		if err != nil {
			return &ConfigError{fmt.Sprintf("%s: %v", path, err)}
		}
		if name == "" {
			name = first.Witness
		}
	}
	public := w.signer.Public().(ed25519.PublicKey) // was checked
	if w.key, err = translog.NewWitnessKey(name, public); err != nil {
		return &ConfigError{err.Error()}
	}
	vkey := w.key.VKey() + "\n"
	if begun && vkey != string(text) {
		return &ConfigError{fmt.Sprintf("%s has another name or key than this witness: both are fixed at "+
			"the first start", path)}
	}
	if begun {
		return nil
	}
	return file.WriteNew(path, []byte(vkey), 0o644)
}

// follow reads what was seen of a log.
func (w *Witness) follow(key translog.LogKey) error {
	if l := w.logs[key.Origin]; l != nil && l.place(key.VKey()) >= 0 {
		return &ConfigError{fmt.Sprintf("log %s is named twice", key.Origin)}
	}
	if key.Public.Equal(w.key.Public) {
		return &ConfigError{fmt.Sprintf("the key of log %s is the witness's own: it would vouch for itself",
			key.Origin)}
	}
	if l := w.logs[key.Origin]; l != nil {
		l.keys = append(l.keys, key)
		return nil
	}
	l := &followed{keys: []translog.LogKey{key}, path: filepath.Join(w.opts.Dir, logsDir, key.Origin+".json")}
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		w.logs[key.Origin] = l
		return nil
	}
	if err == nil {
		l.kept, err = translog.ParseKept(text)
	}
	if err != nil {
		return &ConfigError{fmt.Sprintf("%s: %v. Restore it from a back-up; without it a rewritten log "+
			"would be cosigned", l.path, err)}
	}
	w.logs[key.Origin] = l
	return nil
}

// checkKeys reports that a log was followed with a key that is not named any more: whoever names another
// one alone could put another log in the place of the one that was seen.
func (w *Witness) checkKeys() error {
	for origin, l := range w.logs {
		if l.kept != nil && (l.kept.Origin != origin || l.place(l.kept.Key) < 0) {
			return &ConfigError{fmt.Sprintf("%s was followed with the key %s: name it by --log, and behind "+
				"it the key that the log has changed to, which governance verify --log shows", origin,
				l.kept.Key)}
		}
	}
	return nil
}

// place is that of a key among those of the log, -1 where it has none.
func (l *followed) place(vkey string) int {
	return slices.IndexFunc(l.keys, func(k translog.LogKey) bool { return k.VKey() == vkey })
}

// open reads a checkpoint that one of the keys has signed: the one that was seen last, or a later one.
func (l *followed) open(note string) (*translog.Checkpoint, translog.LogKey, error) {
	from := 0
	if l.kept != nil {
		from = l.place(l.kept.Key)
	}
	var fault error
	for _, key := range l.keys[from:] {
		head, err := translog.OpenCheckpoint(note, key)
		if err == nil {
			return head, key, nil
		}
		fault = err
	}
	return nil, translog.LogKey{}, fault
}

// Refusal is an answer of no by the protocol.
type Refusal struct {
	Status int
	// Size is, of a conflict, how many entries the last cosigned checkpoint has.
	Size    int64
	Message string
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

func refuse(status int, format string, args ...any) error {
	return &Refusal{Status: status, Message: fmt.Sprintf(format, args...)}
}

// Add cosigns a checkpoint that continues the one that was cosigned last, and returns the signature line.
// It is on disk when Add returns. The error is a *Refusal where the protocol has one.
func (w *Witness) Add(e *translog.Extension) (line string, err error) {
	claimed, err := translog.PeekCheckpoint(e.Note)
	if err != nil {
		return "", refuse(http.StatusBadRequest, "%v", err)
	}
	l := w.logs[claimed.Origin]
	if l == nil {
		return "", refuse(http.StatusNotFound, "this witness does not follow the log %s", claimed.Origin)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	head, key, err := l.open(e.Note)
	if err != nil {
		return "", refuse(http.StatusForbidden, "the checkpoint is not signed by the log's key %s",
			l.keys[len(l.keys)-1].VKey())
	}
	if e.Old > head.Size || head.Size == 0 {
		return "", refuse(http.StatusBadRequest, "a checkpoint of %d entries does not continue %d", head.Size,
			e.Old)
	}
	if err := l.continues(e, head); err != nil {
		return "", err
	}
	if line, err = translog.Cosign(*head, w.key.Witness, w.signer, w.opts.Now()); err != nil {
		return "", err
	}
	own, err := translog.SoleNote(e.Note, key)
	if err != nil {
		return "", err
	}
	return line, l.keep(translog.Keep(*head, key, translog.WithCosignatures(own, line)))
}

// continues reports why an extension is not one of the checkpoint that was cosigned last.
func (l *followed) continues(e *translog.Extension, head *translog.Checkpoint) error {
	old := translog.Checkpoint{Origin: head.Origin}
	if l.kept != nil {
		var err error
		if old, err = l.kept.Checkpoint(); err != nil {
			return err
		}
	}
	if e.Old != old.Size || head.Size == old.Size && head.Root != old.Root {
		return &Refusal{http.StatusConflict, old.Size,
			fmt.Sprintf("the last cosigned checkpoint is %s", old)}
	}
	if err := translog.Continues(e.Hashes, old, *head); err != nil {
		return refuse(http.StatusUnprocessableEntity, "the consistency proof does not hold: %v", err)
	}
	return nil
}

func (l *followed) keep(k *translog.Kept) error {
	text, err := k.Encode()
	if err == nil {
		err = file.Write(l.path, text, 0o600)
	}
	if err == nil {
		l.kept = k
	}
	return err
}

// Last is the note that was cosigned last of a log, with the witness's cosignature; "" before the first.
// The error is a *Refusal for a log that is not followed.
func (w *Witness) Last(origin string) (string, error) {
	l := w.logs[origin]
	if l == nil {
		return "", refuse(http.StatusNotFound, "this witness does not follow the log %.253s", origin)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		return "", nil
	}
	return l.kept.Note, nil
}
