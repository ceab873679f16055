package queue

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/lab/request"
)

const (
	anEpoch = "0123456789abcdef"
	aRun    = "run_gxzvvha2szhitenn"
	aPlan   = "plan_6rvs7gxczpvrxcpd"
)

var aSum = strings.Repeat("ab", 32)

func aJob() *Job {
	q := request.Request{Kind: "trial", Slug: "choosy", Exchange: "sample", Symbols: []string{"BTC/USDT"},
		Timeframe: "1h"}
	q.Plugin.Path, q.Plugin.SHA256 = "choosy", aSum
	return &Job{Schema: jobSchema, Epoch: anEpoch, Slug: "choosy", PlanID: aPlan, Engine: aSum,
		Supplies: request.Supplies{Request: q, StepLimitMS: 30000,
			Candles: []request.CandleSupply{{Symbol: "BTC/USDT", SHA256: aSum}}, Inputs: []string{}}}
}

func aTask() *Task {
	return &Task{Schema: taskSchema, Epoch: anEpoch, RunID: aRun, ID: anEpoch + "." + aRun + "-1s",
		RequestHash: aSum, Params: json.RawMessage(`{"period":3}`), PlanID: aPlan, Attempt: 1}
}

// aReplay is a task that is a replay on candles of its own.
func aReplay() *Task {
	t := aTask()
	t.ID, t.PlanID, t.Params = anEpoch+"."+aRun+"-7r", "", nil
	t.Trial, t.Replay = 7, &request.Replay{ID: "search", To: 9, CostTenths: 15}
	t.Candles = []request.CandleSupply{{Symbol: "BTC/USDT", SHA256: aSum}}
	return t
}

func aResult(content string) *Result {
	return &Result{Schema: resultSchema, RunID: aRun, Worker: "one", Content: content, Object: aSum}
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := dsse.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Only what an allowed key has signed, as a job, and byte for byte.
func TestOpenJob(t *testing.T) {
	mine, other := newKey(t), newKey(t)
	sealed, err := sign(aJob(), mine)
	if err != nil {
		t.Fatal(err)
	}
	j, err := OpenJob(sealed, &other.PublicKey, &mine.PublicKey)
	if err != nil || j.Epoch != anEpoch || j.Supplies.Request.Plugin.SHA256 != aSum {
		t.Fatal(j, err)
	}
	for name, change := range map[string]func() ([]byte, []*ecdsa.PublicKey){
		"another key": func() ([]byte, []*ecdsa.PublicKey) {
			return sealed, []*ecdsa.PublicKey{&other.PublicKey}
		},
		"no key": func() ([]byte, []*ecdsa.PublicKey) { return sealed, nil },
		"another type": func() ([]byte, []*ecdsa.PublicKey) {
			e, err := dsse.Sign("application/vnd.in-toto+json", encoded(t, aJob()), mine)
			if err != nil {
				t.Fatal(err)
			}
			return encoded(t, e), []*ecdsa.PublicKey{&mine.PublicKey}
		},
		"another program": func() ([]byte, []*ecdsa.PublicKey) {
			var e dsse.Envelope
			if err := json.Unmarshal(sealed, &e); err != nil {
				t.Fatal(err)
			}
			changed := aJob()
			changed.Supplies.Request.Plugin.SHA256 = strings.Repeat("cd", 32)
			o, err := dsse.Sign(PayloadJob, encoded(t, changed), other)
			if err != nil {
				t.Fatal(err)
			}
			e.Payload = o.Payload
			return encoded(t, e), []*ecdsa.PublicKey{&mine.PublicKey}
		},
		"a path": func() ([]byte, []*ecdsa.PublicKey) {
			bad := aJob()
			bad.Supplies.Request.Plugin.Path = "../choosy"
			text, err := sign(bad, mine)
			if err != nil {
				t.Fatal(err)
			}
			return text, []*ecdsa.PublicKey{&mine.PublicKey}
		},
	} {
		text, keys := change()
		if _, err := OpenJob(text, keys...); err == nil {
			t.Errorf("%s: it was opened", name)
		}
	}
}

// A bad field is named.
func TestMessagesAreReadStrictly(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{strings.Replace(string(encoded(t, aTask())), aRun+`",`, `run_UP",`, 1), "/run_id"},
		{strings.Replace(string(encoded(t, aTask())), `-1s`, `-1x`, 1), "/id"},
		{strings.Replace(string(encoded(t, aTask())), `"attempt":1`, `"attempt":0`, 1), "/attempt"},
		{strings.Replace(string(encoded(t, aTask())), `"trial"`, `"size":1,"trial"`, 1), "size"},
		{string(encoded(t, aTask())) + "{}", "more than one"},
		{strings.Replace(string(encoded(t, aReplay())), `-7r`, `-7s`, 1), "/replay"},
		{strings.Replace(string(encoded(t, aTask())), `-1s`, `-1r`, 1), "/replay"},
		{strings.Replace(string(encoded(t, aReplay())), `"to":9`, `"to":0`, 1), "/replay/to"},
		{strings.Replace(string(encoded(t, aReplay())), `"sha256":"ab`, `"sha256":"zb`, 1), "/candles"},
	} {
		if _, err := DecodeTask([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	both := aResult(aSum)
	both.Code = "RUN_FAILED"
	if _, err := DecodeResult(encoded(t, both)); err == nil || !strings.Contains(err.Error(), "/code") {
		t.Error(err)
	}
	for _, good := range []error{
		second(DecodeTask(encoded(t, aTask()))), second(DecodeResult(encoded(t, aResult(aSum)))),
		second(DecodeJob(encoded(t, aJob()))), second(DecodeTask(encoded(t, aReplay()))),
	} {
		if good != nil {
			t.Error(good)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Files keep their bytes, and nothing leaves the folder.
func TestArchive(t *testing.T) {
	files := map[string][]byte{"metadata.json": []byte("{}"), "splits/a/equity_curve.csv": nil,
		"capsules/x.json": []byte("x")}
	text, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(text)
	if err != nil || !maps.EqualFunc(got, files, bytes.Equal) {
		t.Error(got, err)
	}
	for _, h := range []tar.Header{
		{Name: "../up", Typeflag: tar.TypeReg}, {Name: "/etc/x", Typeflag: tar.TypeReg},
		{Name: "a/./b", Typeflag: tar.TypeReg}, {Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		{Name: "dir/", Typeflag: tar.TypeDir}, {Name: `a\b`, Typeflag: tar.TypeReg},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(b.Bytes()); err == nil {
			t.Errorf("%s was unpacked", h.Name)
		}
	}
	a, b := contentOf(files), contentOf(map[string][]byte{"splits/a/equity_curve.csv": nil})
	if a != b {
		t.Error("metadata.json and capsules count as content")
	}
}

// FuzzMessages: what is read is in its form, and says the same when it is written again.
func FuzzMessages(f *testing.F) {
	f.Add(encoded(f, aTask()))
	f.Add(encoded(f, aReplay()))
	f.Add(encoded(f, aResult(aSum)))
	f.Add(encoded(f, aJob()))
	f.Add(encoded(f, &State{Schema: stateSchema, ID: "one", Engine: aSum, Allows: []string{aSum}, Slots: 1,
		Doing: []Doing{{Slug: "choosy"}}}))
	f.Add([]byte(`{"stream":"assay-tasks","stream_seq":7,"deliveries":20}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if task, err := DecodeTask(text); err == nil {
			again, err := DecodeTask(encoded(t, task))
			if err != nil || again.ID != task.ID || strings.ContainsAny(task.ID, " *>/") {
				t.Fatal(task, err)
			}
		}
		if r, err := DecodeResult(text); err == nil {
			if again, err := DecodeResult(encoded(t, r)); err != nil || *again != *r {
				t.Fatal(r, err)
			}
		}
		if j, err := DecodeJob(text); err == nil {
			if name := j.Supplies.Request.Plugin.Path; strings.ContainsAny(name, `/\`) || name == ".." {
				t.Fatalf("%q", name)
			}
		}
		if s, err := DecodeState(text); err == nil && len(s.Doing) > s.Slots {
			t.Fatal(s)
		}
		if l, err := decodeLost(text); err == nil && l.StreamSeq == 0 {
			t.Fatal(l)
		}
	})
}

// FuzzOpenJob: nothing opens that the key has not signed.
func FuzzOpenJob(f *testing.F) {
	mine, other := newKey(f), newKey(f)
	for _, key := range []*ecdsa.PrivateKey{mine, other} {
		sealed, err := sign(aJob(), key)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sealed)
	}
	stranger := newKey(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := OpenJob(text, &stranger.PublicKey); err == nil {
			t.Fatalf("%q was opened", text)
		}
	})
}

// FuzzUnpack: every file is inside of its folder, and packs to the same files again.
func FuzzUnpack(f *testing.F) {
	text, err := pack(map[string][]byte{"a/b": []byte("1"), "c": nil})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:600])
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := unpack(text)
		if err != nil {
			return
		}
		for name := range files {
			if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "..") {
				t.Fatalf("%q", name)
			}
		}
		again, err := pack(files)
		if err != nil {
			return // a name that this format cannot write
		}
		if got, err := unpack(again); err != nil || !maps.EqualFunc(got, files, bytes.Equal) {
			t.Fatal(err)
		}
	})
}
