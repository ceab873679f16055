// Command benchgovernance measures the control plane over loopback against what it has to reach
// on two processors: ingests of new bundles, the race of posts of one id, reads at 10,000
// revisions, and the start and the rebuild of a log of 100,000 entries. The machine's own
// speed, plain commits of rows as large to an SQLite file of the same kind, is measured in the
// same run: the ratio means more than the rate.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing/fstest"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/sqlite"
)

const (
	clients = 8 // that post
	readers = 2
	readsAt = 10_000 // revisions
)

func main() {
	n := flag.Int("n", 33_334, "bundles to ingest, each of which makes three entries")
	size := flag.Int("size", 20_000, "bytes of a bundle")
	dir := flag.String("dir", "", "keep the log in this new folder (default: a temporary one)")
	flag.Parse()
	if err := run(*dir, *n, *size); err != nil {
		fmt.Fprintln(os.Stderr, "benchgovernance:", err)
		os.Exit(1)
	}
}

func run(dir string, n, size int) error {
	if dir == "" {
		temporary, err := os.MkdirTemp("", "benchgovernance-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	}
	plain, err := commits(dir, min(n, 3000), size)
	if err != nil {
		return err
	}
	report("plain commits", plain, "")
	state := filepath.Join(dir, "governance")
	p, err := planetest.Open(planetest.Options{Dir: state, RealTime: true})
	if err != nil {
		return err
	}
	err = serve(p, n, size, plain)
	entries := p.Store.Size()
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	return starts(state, entries)
}

// serve measures what a running plane does.
func serve(p *planetest.Plane, n, size int, plain timing) error {
	docs := make([]*bundle.Document, n)
	var whole timing
	for from := 0; from < n; from += readsAt {
		some := docs[from:min(n, from+readsAt)]
		for i := range some {
			some[i] = doc(from+i, size)
		}
		fresh, err := measure(len(some), func(i int) error { return expect(p.Post(some[i].Canonical))(201) })
		if err != nil {
			return err
		}
		whole = fresh
		report(fmt.Sprintf("ingests of %d bytes", len(some[0].Canonical)), fresh, ">= 300/s, p99 <= 150 ms")
		if from == 0 {
			if err := errors.Join(race(p, some[0]), reads(p, some)); err != nil {
				return err
			}
		}
	}
	fmt.Printf("ratio of the last ingests to plain commits %.2f\n", whole.rate/plain.rate)
	return nil
}

func doc(i, size int) *bundle.Document {
	return planetest.Good(time.Now(), planetest.Size(size-2000),
		planetest.Params(fmt.Sprintf(`{"fast":%d}`, i)), func(b *bundle.Bundle) {
			b.Candidate.CandidateID = fmt.Sprintf("sma-cross.c%d", i)
			b.Candidate.FamilyID = fmt.Sprintf("sma-cross-%d", i/100)
			b.Strategy.Name = fmt.Sprintf("sma_cross_%d", i/1000)
		})
}

// race is posts of one id that is known, half of them with another core under it.
func race(p *planetest.Plane, known *bundle.Document) error {
	other := bytes.Replace(known.Canonical, []byte(`"family_trials":12`), []byte(`"family_trials":13`), 1)
	t, err := measure(8000, func(i int) error {
		if i%2 == 0 {
			return expect(p.Post(known.Canonical))(200)
		}
		return expect(p.Post(other))(409)
	})
	report("race of one id", t, ">= 1000/s")
	return err
}

// reads are of each kind, over the revisions.
func reads(p *planetest.Plane, docs []*bundle.Document) error {
	subject := func(kind string) func(*bundle.Document) string {
		return func(d *bundle.Document) string {
			b := &d.Bundle
			return kind + "/" + map[string]string{
				bundle.SubjectRevision:  b.CandidateRevisionID,
				bundle.SubjectCandidate: b.Candidate.CandidateID,
				bundle.SubjectFamily:    b.Candidate.FamilyID, bundle.SubjectStrategy: b.Strategy.Name,
			}[kind]
		}
	}
	revision, family, strategy := subject(bundle.SubjectRevision), subject(bundle.SubjectFamily),
		subject(bundle.SubjectStrategy)
	for _, c := range []struct {
		what string
		path func(*bundle.Document) string
	}{
		{"state of a revision", func(d *bundle.Document) string { return "/promotion-state/" + revision(d) }},
		{"plan of a revision", func(d *bundle.Document) string {
			return "/promotion-plans/" + revision(d) + "/live"
		}},
		{"experiments", func(d *bundle.Document) string { return "/pending-experiments/" + revision(d) }},
		{"state of a family of 100", func(d *bundle.Document) string {
			return "/promotion-state/" + family(d)
		}},
		{"registry of 100", func(d *bundle.Document) string {
			return "/deployable-registry/" + d.Bundle.Candidate.FamilyID
		}},
		{"state of 1,000 revisions", func(d *bundle.Document) string {
			return "/promotion-state/" + strategy(d)
		}},
		{"experiments of 1,000 (6 MB)", func(d *bundle.Document) string {
			return "/pending-experiments/" + strategy(d)
		}},
		{"bundle", func(d *bundle.Document) string {
			return "/candidate-bundles/" + d.Bundle.CandidateRevisionID
		}},
		{"checkpoint", func(*bundle.Document) string { return "/checkpoint" }},
	} {
		t, err := measureAs(readers, 2000, func(i int) error {
			return expect(p.Get(c.path(docs[i*7919%len(docs)])))(200)
		})
		if err != nil {
			return err
		}
		report("read: "+c.what, t, "p99 <= 10 ms")
	}
	return nil
}

// starts times what a start and a rebuild do for a whole log.
func starts(state string, entries int64) error {
	began := time.Now()
	p, err := planetest.Open(planetest.Options{Dir: state, RealTime: true})
	if err != nil {
		return err
	}
	fmt.Printf("start with %d entries %s (of 100,000: <= 10 s)\n", entries,
		time.Since(began).Round(time.Millisecond))
	if err := errors.Join(damage(p), p.Close()); err != nil {
		return err
	}
	began = time.Now()
	if _, err := store.Rebuild(context.Background(), store.Place{Dir: state}, false); err != nil {
		return err
	}
	fmt.Printf("rebuild %s (<= 60 s)\n", time.Since(began).Round(time.Millisecond))
	return nil
}

// damage keeps a log that does not hold together from being called quick.
func damage(p *planetest.Plane) error {
	if d := p.Store.Damage(); d != nil {
		return d
	}
	return nil
}

func expect(a planetest.Answer, err error) func(int) error {
	return func(status int) error {
		if err == nil && a.Status != status {
			err = fmt.Errorf("answered with %d: %.300s", a.Status, a.Body)
		}
		return err
	}
}

// commits returns how fast this disk takes rows of the size, one by one and synced.
func commits(dir string, n, size int) (timing, error) {
	schema := fstest.MapFS{
		"0001_row.sql": {
			Data: []byte(`CREATE TABLE row (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT`)}}
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "plain"), schema, sqlite.Full)
	if err != nil {
		return timing{}, err
	}
	body := make([]byte, size)
	t, err := measure(n, func(int) error {
		return db.Tx(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO row (body) VALUES (?)`, body)
			return err
		})
	})
	return t, errors.Join(err, db.Close())
}

type timing struct {
	rate     float64 // per second
	p50, p99 time.Duration
}

func report(what string, t timing, target string) {
	if target != "" {
		target = "  (" + target + ")"
	}
	fmt.Printf("%-30s %8.0f/s  p50 %s  p99 %s%s\n", what, t.rate, t.p50.Round(10*time.Microsecond),
		t.p99.Round(10*time.Microsecond), target)
}

// measure does something n times from all clients that post.
func measure(n int, do func(i int) error) (timing, error) { return measureAs(clients, n, do) }

func measureAs(clients, n int, do func(i int) error) (timing, error) {
	took := make([]time.Duration, n)
	fails := make([]error, clients)
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				at := time.Now()
				if fails[c] = do(i); fails[c] != nil {
					return
				}
				took[i] = time.Since(at)
			}
		})
	}
	wg.Wait()
	whole := time.Since(began)
	slices.Sort(took)
	return timing{float64(n) / whole.Seconds(), took[n/2], took[n*99/100]}, errors.Join(fails...)
}
