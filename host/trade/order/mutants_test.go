package order

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// mutant is one way in which money could be lost, as an edit of the source.
type mutant struct {
	name, file, from, to string
	pkg                  string // whose tests must notice; this one's when empty
}

var mutants = []mutant{
	{"no write-ahead", "state.go", "\t{None, Commit, Intent},",
		"\t{None, Commit, Intent},\n\t{None, HandOver, Sent},\n\t{Denied, HandOver, Sent},", ""},
	{"no fill dedupe", "record.go", "if old, ok := r.trades[f.TradeID]; ok {",
		"if old, ok := r.trades[f.TradeID]; ok && old.TradeID == \"\" {", ""},
	{"retry under a new id", "apply.go", "\te.Order, e.Symbol = a.r.spec.ClientOrderID, a.r.spec.Symbol\n",
		"\te.Order, e.Symbol = a.r.spec.ClientOrderID, a.r.spec.Symbol\n\tif e.Do == Send && e.Attempt > " +
			"1 {\n\t\ttwin := *a.r\n\t\ttwin.spec.ClientOrderID += " +
			"\"x\"\n\t\ta.book.byID[twin.spec.ClientOrderID], e.Order = &twin, " +
			"twin.spec.ClientOrderID\n\t}\n", ""},
	{"time-out = reject", "state.go", "{Sent, Doubt, Lost},", "{Sent, Doubt, Rejected},", ""},
	{"network error = absence", "apply.go", "\tcase exchange.NotFound:\n",
		"\tcase exchange.NotFound, exchange.Unknown:\n", ""},
	{"verdict from a list", "apply.go", "if from == FromList && o.Status",
		"if from == \"nowhere\" && o.Status", ""},
	{"last writer wins", "apply.go", "cum.Cmp(r.reported) > 0", "cum.Cmp(r.reported) != 0", ""},
	{"terminal ignores fills", "apply.go", "\ta.do(Effect{Do: Count, Fill: f})\n",
		"\tif r.state.Terminal() {\n\t\treturn\n\t}\n\ta.do(Effect{Do: Count, Fill: f})\n", ""},
	{"submit after barrier", "book.go", "\tb.barrier.Close()\n", "", ""},
	{"unknown not exposure", "state.go", "{ return s == Sent || s == Lost || s == Open || s == Partial }",
		"{ return s == Sent || s == Open || s == Partial }", ""},
	{"re-send without query", "state.go", "{Sent, Doubt, Lost},", "{Sent, Doubt, Intent},", ""},
	{"seq reused", "oms/place.go", "\tpl.seq++\n", "\tif pl.seq == 0 {\n\t\tpl.seq++\n\t}\n", "./oms"},
}

// TestMutants edits a copy of the source and expects the tests, in their short form, to fail.
func TestMutants(t *testing.T) {
	ring.Proof(t, "it compiles and runs the short form of these tests twelve times")
	dead := 0
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if m.dies(t) {
				dead++
			}
		})
	}
	ring.Count(t, "mutants", dead, len(mutants))
}

func (m mutant) dies(t *testing.T) bool {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(here, filepath.FromSlash(m.file))
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), m.from) != 1 {
		t.Fatalf("%s has the text of the mutation %d times, want once", m.file,
			strings.Count(string(source), m.from))
	}
	dir := t.TempDir()
	edited := filepath.Join(dir, "edited.go")
	if err := os.WriteFile(edited, []byte(strings.Replace(string(source), m.from, m.to, 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: edited}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	pkg := m.pkg
	if pkg == "" {
		pkg = "."
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-short", "-vet=off", "-count=1", "-failfast", "-overlay",
		list, pkg)
	cmd.Env = append(os.Environ(), ring.Variable+"=", "ASSAY_FIGURES=")
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		t.Errorf("it lives: the tests notice nothing")
	case strings.Contains(text, "[build failed]") || !strings.Contains(text, "--- FAIL"):
		t.Errorf("it could not be judged: %v\n%s", err, text)
	default:
		return true
	}
	return false
}
