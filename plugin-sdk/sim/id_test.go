package sim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/sim/simtest"
)

var update = flag.Bool("update", false, "rewrite simtest/digests.golden and the hash of it in id.go")

const digestTable = "simtest/digests.golden"

// TestScenarios: the simulator keeps every rule that a scenario shows.
func TestScenarios(t *testing.T) { simtest.Run(t, simtest.Simulator) }

// TestScenarioDigests: the ledgers that the scenarios lead to are those of the table,
// and ID has its hash. A comment or another word in a script changes neither.
func TestScenarioDigests(t *testing.T) {
	got, err := simtest.Digests(simtest.Simulator)
	if err != nil {
		t.Fatal(err)
	}
	hash := hashOutcomes(got)
	if *update {
		writeID(t, got, hash)
		return
	}
	table, err := os.ReadFile(digestTable)
	if err != nil {
		t.Fatal(err)
	}
	const cure = "if that is wanted: go test ./plugin-sdk/sim -run TestScenarioDigests -update"
	if string(table) != got {
		t.Fatalf("the scenarios lead to other ledgers: %s; %s", firstChange(string(table), got), cure)
	}
	if id := sim.ID(); !strings.HasPrefix(id, sim.Semantics+"/") || !strings.HasSuffix(id, "/"+hash) {
		t.Errorf("ID is %s, the hash of the table is %s; %s", id, hash, cure)
	}
}

// hashOutcomes is the hash of the digests in a table, each once: neither the name of a
// scenario nor its place counts.
func hashOutcomes(table string) string {
	words := strings.Fields(table)
	var digests []string
	for i := 1; i < len(words); i += 2 {
		digests = append(digests, words[i])
	}
	slices.Sort(digests)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(digests), "\n")))
	return hex.EncodeToString(sum[:8])
}

func writeID(t *testing.T, table, hash string) {
	t.Helper()
	code, err := os.ReadFile("id.go")
	if err != nil {
		t.Fatal(err)
	}
	constant := regexp.MustCompile(`(const outcomes = )"[0-9a-f]{16}"`)
	if !constant.Match(code) {
		t.Fatal("id.go has no constant outcomes")
	}
	code = constant.ReplaceAll(code, []byte(`${1}"`+hash+`"`))
	for name, text := range map[string][]byte{digestTable: []byte(table), "id.go": code} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// firstChange is the first line in which two tables differ.
func firstChange(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, b[i], a[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(b), len(a))
}

// TestScenarioWordsAreNotInTheDigest: what a script says beside the run is not in its
// digest, what the run does is.
func TestScenarioWordsAreNotInTheDigest(t *testing.T) {
	play := func(text string) string {
		t.Helper()
		all, err := simtest.Parse("script.txt", text)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := all[0].Play(simtest.Simulator, false)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	const script = "scenario a\nflat 100 x3\nintent buy quantity 1\nflat 100\nexpect fill buy 1 @ 100\n"
	plain := play(script)
	commented := "# Another title.\n" + strings.Replace(script, "scenario a", "scenario b # why", 1)
	if play(commented+"expect position 1\n") != plain {
		t.Error("a name, a comment or an expectation changes the digest")
	}
	if play(strings.Replace(script, "flat 100 x3", "options fee_taker=0.001\nflat 100 x3", 1)) == plain {
		t.Error("another fee leaves the digest as it was")
	}
}
