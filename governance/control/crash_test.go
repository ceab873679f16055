//go:build unix

package control_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// points are where a plane may be killed, in the order in which an ingest comes to them.
var points = []string{
	"ingest.read", "ingest.parsed", "ingest.attested", "ingest.artifacts", "ingest.judged", "update.locked",
	"append.seal", "append.attestation-recorded", "update.said", "append.stage-decision", "update.decided",
	"commit.prepared",
	"write.begun", "write.ledger", "write.tree_nodes", "write.checkpoints", "write.submissions",
	"write.attestations",
	"write.facts", "write.revisions", "write.promotion_state", "write.projection", "commit.done",
	"commit.adopted", "commit.witnessed", "ingest.written",
}

const childVariable = "ASSAY_GOVERNANCE_TEST_PLANE"

// TestMain lets the test binary be a plane that kills itself: the variable says state
// directory, point, and at which time of coming there.
func TestMain(m *testing.M) {
	if spec, ok := os.LookupEnv(childVariable); ok {
		dying(strings.Split(spec, "\n"))
	}
	os.Exit(m.Run())
}

func dying(spec []string) {
	left, err := strconv.ParseInt(spec[2], 10, 64)
	if err != nil {
		panic(err)
	}
	var count, armed atomic.Int64
	p, err := planetest.Open(planetest.Options{
		Dir: spec[0], Trust: planetest.Trust(1), ArtifactRoot: filepath.Dir(spec[0]),
		At: func(point string) {
			if point == spec[1] && armed.Load() == 1 && count.Add(1) == left {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	armed.Store(1)
	fmt.Println(p.URL)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

// TestKill kills a plane at each point while clients post, and checks that nothing
// acknowledged is lost and that the log goes on.
func TestKill(t *testing.T) {
	ring.Slow(t, "it starts a plane for each kill")
	rounds := ring.Size(1, 3, 20)
	for _, point := range points {
		dir := filepath.Join(t.TempDir(), "g")
		acknowledged := map[string]*bundle.Document{}
		for round := range rounds {
			kill(t, dir, point, round, acknowledged)
		}
		recovered(t, dir, point, acknowledged)
	}
}

// kill runs a plane until it dies at the point.
func kill(t *testing.T, dir, point string, round int, acknowledged map[string]*bundle.Document) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(),
		childVariable+"="+strings.Join([]string{dir, point, strconv.Itoa(1 + round%3)}, "\n"))
	in := must[io.WriteCloser](t)(cmd.StdinPipe())
	defer in.Close()
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(url, "http") {
		t.Fatalf("%s: the plane did not start: %q %v", point, url, err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	client := &http.Client{}
	for c := range 2 {
		wg.Go(func() {
			for i := range 50 {
				doc := planetest.Good(planetest.Start,
					planetest.Title(fmt.Sprintf("%s %d %d %d", point, round, c, i)))
				env, err := doc.Attest(bundle.TypeBundle, map[string]any{}, planetest.Key("packer"))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := bundle.EncodePost(doc.Canonical, env)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Post(strings.TrimSpace(url)+"/candidate-bundles/ingest",
					"application/json", strings.NewReader(string(body)))
				if err != nil {
					return // it is dead
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					t.Errorf("%s: %s", point, resp.Status)
					return
				}
				mu.Lock()
				acknowledged[doc.FileSHA256] = doc
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%s: the plane was not killed: %v", point, err)
	}
}

func recovered(t *testing.T, dir, point string, acknowledged map[string]*bundle.Document) {
	t.Helper()
	p := must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1)}))
	if d := p.Store.Damage(); d != nil {
		t.Errorf("%s: %v", point, d)
	}
	for _, doc := range acknowledged {
		if a := must[planetest.Answer](t)(p.Submit(doc, planetest.Signed())); a.Status != http.StatusOK {
			t.Errorf("%s: what was acknowledged is answered with %d %s", point, a.Status, a.Body)
		}
	}
	submit(t, p, http.StatusCreated, planetest.Good(planetest.Start, planetest.Title("after "+point)))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if different, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); err != nil || len(different) > 0 {
		t.Errorf("%s: %v %v", point, different, err)
	}
}
