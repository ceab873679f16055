package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/candle/importer"
)

// section is the part of a page below a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, page), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no section %s", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// sameNames wants the first cells of a table to be exactly the names.
func sameNames(t *testing.T, what string, described map[string]bool, names []string) {
	t.Helper()
	for _, n := range names {
		if !described[n] {
			t.Errorf("data.md does not describe the %s %s", what, n)
		}
	}
	for n := range described {
		if !slices.Contains(names, n) {
			t.Errorf("data.md describes the %s %s, which does not exist", what, n)
		}
	}
}

func TestDataPageIsComplete(t *testing.T) {
	var formats, codes []string
	for _, p := range importer.Profiles() {
		formats = append(formats, p.Name)
	}
	for _, c := range importer.Codes() {
		codes = append(codes, string(c))
	}
	sameNames(t, "format", firstCells(section(t, "data.md", "Formats")), formats)
	sameNames(t, "refusal", firstCells(section(t, "data.md", "Refusals")), codes)
	sameNames(t, "warning", firstCells(section(t, "data.md", "The report")), importer.WarningCodes())
}

// The options are those that the command declares.
func TestDataPageHasTheOptions(t *testing.T) {
	var flags []string
	_, options, _ := strings.Cut(read(t, "../lab/cmd/data.go"), "type dataImportOptions struct {")
	options, _, _ = strings.Cut(options, "\n}")
	for _, m := range regexp.MustCompile("`flag:\"([a-z-]+)\"").FindAllStringSubmatch(options, -1) {
		flags = append(flags, "--"+m[1])
	}
	if len(flags) < 10 {
		t.Fatalf("found the options %v only", flags)
	}
	sameNames(t, "option", firstCells(section(t, "data.md", "Importing")), flags)
}
