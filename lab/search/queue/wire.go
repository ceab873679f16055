package queue

import (
	"archive/tar"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/lab/request"
)

const (
	jobSchema    = "search-job/v1"
	taskSchema   = "search-task/v1"
	resultSchema = "search-result/v1"
	// PayloadJob is the payload type of a signed job.
	PayloadJob = "application/vnd.assay.search-job+json"

	maxMessage = 1 << 20
	maxFiles   = 8192
	maxCandles = 1000 // files of one task
	maxRun     = 256 << 20
)

// Job is what a submitter signs: the program, the candles and the request of one execution of a search.
type Job struct {
	Schema   string           `json:"schema"`
	Epoch    string           `json:"epoch"`
	Slug     string           `json:"slug"`
	PlanID   string           `json:"plan_id"`
	Engine   string           `json:"engine"`
	Supplies request.Supplies `json:"supplies"`
}

// Task is one trial to play.
type Task struct {
	Schema string `json:"schema"`
	// ID names the result.
	ID          string          `json:"id"`
	Epoch       string          `json:"epoch"`
	RunID       string          `json:"run_id"`
	RequestHash string          `json:"request_hash"`
	Params      json.RawMessage `json:"params"`
	// Windows are the first ones that are played, 0 for all.
	Windows  int    `json:"windows"`
	PlanID   string `json:"plan_id"`
	Trial    int64  `json:"trial"`
	Attempt  int    `json:"attempt"`
	PostPeek bool   `json:"post_peek"`
	Apart    bool   `json:"apart"`
	// Replay is the replay to make instead of the trial, nil for a trial; Trial is its number then, and
	// Candles those that it is made on, none for those of the job.
	Replay  *request.Replay        `json:"replay,omitempty"`
	Candles []request.CandleSupply `json:"candles,omitempty"`
}

// number is how a task is called.
func (t *Task) number() string {
	if t.Replay != nil {
		return fmt.Sprint("replay ", t.Trial)
	}
	return fmt.Sprint("trial ", t.Trial)
}

// isOf reports by an error that a request is not the one that a task asks for.
func (t *Task) isOf(p *request.Prepared) error {
	if p.RequestHash != t.RequestHash || p.RunID != t.RunID {
		return fmt.Errorf("run %s has the request hash %.12s here, not %.12s", p.RunID, p.RequestHash,
			t.RequestHash)
	}
	return nil
}

// Result is how a trial went: a run whose files are an object, or the refusal of a strategy.
type Result struct {
	Schema string `json:"schema"`
	RunID  string `json:"run_id"`
	Worker string `json:"worker"`
	// Content is the hash of everything that does not depend on when and where it was played.
	Content string `json:"content"`
	// Object is the SHA-256 of the files as one archive, empty for a refusal.
	Object string `json:"object"`
	// Code and Message are those of a refusal.
	Code    string `json:"code"`
	Message string `json:"message"`
}

var (
	epochForm = regexp.MustCompile(`^[0-9a-f]{16}$`)
	runForm   = regexp.MustCompile(`^run_[a-z2-7]{16}$`)
	planForm  = regexp.MustCompile(`^plan_[a-z2-7]{16}$`)
	idForm    = regexp.MustCompile(`^[0-9a-f]{16}\.run_[a-z2-7]{16}-[0-9]{1,9}[sar]$`)
)

// decode reads one JSON object without unknown fields, of a bounded size.
func decode(text []byte, to any) error {
	if len(text) > maxMessage {
		return fmt.Errorf("a message of %d bytes is longer than %d", len(text), maxMessage)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// form refuses a field that has not its form.
func form(pointer, value string, ok bool) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s: %.80q is not of its form", pointer, value)
}

// DecodeJob reads what was signed.
func DecodeJob(text []byte) (*Job, error) {
	j := &Job{}
	if err := decode(text, j); err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	s := &j.Supplies
	err := errors.Join(form("/schema", j.Schema, j.Schema == jobSchema),
		form("/epoch", j.Epoch, epochForm.MatchString(j.Epoch)),
		form("/plan_id", j.PlanID, j.PlanID == "" || planForm.MatchString(j.PlanID)),
		form("/engine", j.Engine, field.IsSHA256(j.Engine)),
		form("/supplies/question/Plugin/Path", s.Request.Plugin.Path, isName(s.Request.Plugin.Path)),
		form("/supplies/question/Plugin/SHA256", s.Request.Plugin.SHA256,
			field.IsSHA256(s.Request.Plugin.SHA256)))
	for _, sum := range s.Files() {
		err = errors.Join(err, form("/supplies", sum, field.IsSHA256(sum)))
	}
	if len(s.Candles) == 0 || len(s.Candles) > maxCandles || len(s.Inputs) > maxCandles {
		err = errors.Join(err, errors.New("/supplies/candles: must be 1 to 1000"))
	}
	if s.StepLimitMS < 1 {
		err = errors.Join(err, errors.New("/supplies/step_limit_ms: must be above 0"))
	}
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	return j, nil
}

func isName(s string) bool {
	return s != "" && s != "." && len(s) <= 255 && filepath.IsLocal(s) && !strings.ContainsAny(s, `/\`)
}

// DecodeTask reads a task.
func DecodeTask(text []byte) (*Task, error) {
	t := &Task{}
	if err := decode(text, t); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	err := errors.Join(form("/schema", t.Schema, t.Schema == taskSchema),
		form("/epoch", t.Epoch, epochForm.MatchString(t.Epoch)),
		form("/run_id", t.RunID, runForm.MatchString(t.RunID)),
		form("/id", t.ID, idForm.MatchString(t.ID) && strings.HasPrefix(t.ID, t.Epoch+"."+t.RunID+"-")),
		form("/plan_id", t.PlanID, t.Replay != nil && t.PlanID == "" || planForm.MatchString(t.PlanID)),
		form("/request_hash", t.RequestHash, field.IsSHA256(t.RequestHash)))
	if t.Windows < 0 || t.Trial < 0 || t.Attempt < 1 {
		err = errors.Join(err, errors.New("/windows, /trial and /attempt: must not be negative"))
	}
	if (t.Replay != nil) != strings.HasSuffix(t.ID, "r") || t.Replay == nil && len(t.Candles) > 0 ||
		len(t.Candles) > maxCandles {
		err = errors.Join(err, errors.New("/replay: its id says otherwise, or it has too many candles"))
	}
	for _, c := range t.Candles {
		err = errors.Join(err, form("/candles", c.SHA256, field.IsSHA256(c.SHA256)))
	}
	if r := t.Replay; r != nil && (r.From < 0 || r.To <= r.From) {
		err = errors.Join(err, errors.New("/replay/from: is not before /replay/to"))
	}
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return t, nil
}

// DecodeResult reads a result.
func DecodeResult(text []byte) (*Result, error) {
	r := &Result{}
	if err := decode(text, r); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	err := errors.Join(form("/schema", r.Schema, r.Schema == resultSchema),
		form("/run_id", r.RunID, runForm.MatchString(r.RunID)),
		form("/content", r.Content, field.IsSHA256(r.Content)),
		form("/object", r.Object, r.Object == "" || field.IsSHA256(r.Object)))
	if (r.Object == "") == (r.Code == "") {
		err = errors.Join(err, errors.New("/code: a result is a run or a refusal"))
	}
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return r, nil
}

// lost is the advisory about a task that was delivered too often.
type lost struct {
	Stream     string `json:"stream"`
	StreamSeq  uint64 `json:"stream_seq"`
	Deliveries int    `json:"deliveries"`
}

func decodeLost(text []byte) (*lost, error) {
	l := &lost{}
	if len(text) > maxMessage {
		return nil, errors.New("advisory: too long")
	}
	if err := json.Unmarshal(text, l); err != nil { // the server's own format, which grows
		return nil, fmt.Errorf("advisory: %w", err)
	}
	if l.Stream != tasksStream || l.StreamSeq == 0 {
		return nil, errors.New("advisory: not about a task")
	}
	return l, nil
}

// sign makes the envelope of a job.
func sign(j *Job, key crypto.Signer) ([]byte, error) {
	text, err := digest.JCS(j)
	if err != nil {
		return nil, err
	}
	e, err := dsse.Sign(PayloadJob, text, key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// OpenJob reads a signed job and checks that one of these keys has signed it.
func OpenJob(envelope []byte, keys ...*ecdsa.PublicKey) (*Job, error) {
	var e dsse.Envelope
	if err := decode(envelope, &e); err != nil {
		return nil, fmt.Errorf("signed job: %w", err)
	}
	signed := &dsse.Signed{Envelope: e, Payload: dsse.Base64(e.Payload)}
	for _, s := range e.Signatures {
		if b := dsse.Base64(s.Sig); b != nil && len(signed.Signatures) < dsse.MaxSignatures {
			signed.Signatures = append(signed.Signatures, b)
		}
	}
	if e.PayloadType != PayloadJob || len(signed.Verify(keys...)) == 0 {
		return nil, errors.New("signed job: none of the allowed keys has signed it")
	}
	return DecodeJob(signed.Payload)
}

// contentOf is the hash of the files that depend on the request alone.
func contentOf(files map[string][]byte) string {
	sums := map[string]string{}
	for name, b := range files {
		if name != "metadata.json" && name != "log.jsonl" && !strings.HasPrefix(name, "capsules/") {
			sums[name] = digest.SHA256Hex(b)
		}
	}
	sum, err := digest.Of(sums)
	if err != nil {
		panic(err) // texts by texts
	}
	return sum
}

// pack puts files into one archive, in the order of their names.
func pack(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name])),
			Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// unpack reads an archive of pack: plain files below their folder, bounded in number and size.
func unpack(text []byte) (map[string][]byte, error) {
	files, total := map[string][]byte{}, 0
	r := tar.NewReader(bytes.NewReader(text))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		_, twice := files[h.Name]
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(h.Name)) ||
			path.Clean(h.Name) != h.Name || strings.Contains(h.Name, `\`) || twice {
			return nil, fmt.Errorf("archive: %.80q is not a plain file of its own inside the folder",
				h.Name)
		}
		b, err := io.ReadAll(io.LimitReader(r, maxRun+1))
		if err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		if total += len(b); total > maxRun || len(files) == maxFiles {
			return nil, errors.New("archive: a run has fewer and smaller files")
		}
		files[h.Name] = b
	}
}
