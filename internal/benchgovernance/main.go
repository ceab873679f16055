// Command benchgovernance measures the control plane over loopback: ingests of new bundles,
// posts of one that is known, reads, and the next start. The machine's own speed, plain
// commits of rows as large to an SQLite file of the same kind, is measured in the same run:
// the ratio says more than the rate.
package main

import (
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
	"github.com/assay-run/assay/host/sqlite"
)

const clients = 8

func main() {
	n := flag.Int("n", 3000, "bundles to ingest")
	size := flag.Int("size", 20_000, "bytes of a bundle")
	flag.Parse()
	if err := run(*n, *size); err != nil {
		fmt.Fprintln(os.Stderr, "benchgovernance:", err)
		os.Exit(1)
	}
}

func run(n, size int) error {
	dir, err := os.MkdirTemp("", "benchgovernance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plain, err := commits(dir, n, size)
	if err != nil {
		return err
	}
	report("plain commits", plain)
	state := filepath.Join(dir, "governance")
	p, err := planetest.Open(planetest.Options{Dir: state, RealTime: true})
	if err != nil {
		return err
	}
	docs := make([]*bundle.Document, n)
	for i := range docs {
		docs[i] = planetest.Good(time.Now(), planetest.Size(size-2000), planetest.Params(fmt.Sprintf(`{"fast":%d}`, i)), func(b *bundle.Bundle) {
			b.Candidate.CandidateID = fmt.Sprintf("sma-cross.c%d", i)
			b.Candidate.FamilyID = fmt.Sprintf("sma-cross-%d", i/100)
		})
	}
	fresh, err := measure(n, func(i int) error { return expect(p.Post(docs[i].Canonical))(201) })
	if err != nil {
		return errors.Join(err, p.Close())
	}
	report(fmt.Sprintf("ingests of %d bytes", len(docs[0].Canonical)), fresh)
	fmt.Printf("ratio to plain commits %.2f\n", fresh.rate/plain.rate)
	known, err := measure(n, func(int) error { return expect(p.Post(docs[0].Canonical))(200) })
	if err == nil {
		report("posts of a known one", known)
		var reads timing
		if reads, err = measure(n, func(i int) error {
			return expect(p.Get("/promotion-state/candidate_revision/" + docs[i].Bundle.CandidateRevisionID))(200)
		}); err == nil {
			report("reads of a state", reads)
		}
	}
	entries := p.Store.Size()
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	return starts(state, entries)
}

// starts times what a start and a rebuild do for a whole log.
func starts(state string, entries int64) error {
	began := time.Now()
	p, err := planetest.Open(planetest.Options{Dir: state, RealTime: true})
	if err != nil {
		return err
	}
	fmt.Printf("start with %d entries %s\n", entries, time.Since(began).Round(time.Millisecond))
	if err := p.Close(); err != nil {
		return err
	}
	began = time.Now()
	if _, err := store.Rebuild(context.Background(), state, false); err != nil {
		return err
	}
	fmt.Printf("rebuild %s\n", time.Since(began).Round(time.Millisecond))
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

// commits is how fast this disk takes rows of the size, one by one and synced.
func commits(dir string, n, size int) (timing, error) {
	schema := fstest.MapFS{"0001_row.sql": {Data: []byte(`CREATE TABLE row (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT`)}}
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

func report(what string, t timing) {
	fmt.Printf("%-24s %8.0f/s  p50 %s  p99 %s\n", what, t.rate, t.p50.Round(10*time.Microsecond), t.p99.Round(10*time.Microsecond))
}

// measure does something n times from all clients.
func measure(n int, do func(i int) error) (timing, error) {
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
