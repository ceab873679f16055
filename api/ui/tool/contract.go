package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// document is what the dashboard compiles in of openapi.json.
type document struct {
	Components struct {
		Schemas struct {
			ExecutionOptions   json.RawMessage
			PerformanceMetrics struct {
				Properties ordered `json:"properties"`
			}
		} `json:"schemas"`
	} `json:"components"`
}

// member is one key of an object with its value.
type member struct {
	key   string
	value json.RawMessage
}

// ordered is an object whose members keep the order of the document, which is the
// order in which a person reads them.
type ordered []member

// UnmarshalJSON implements json.Unmarshaler.
func (o *ordered) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("not an object: %w", err)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		m := member{key: t.(string)}
		if err := d.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

// writeContract writes the module that holds the execution schema and the metrics.
func writeContract(root, to string) error {
	spec, err := os.ReadFile(filepath.Join(root, "..", "v1", "openapi.json"))
	if err != nil {
		return err
	}
	module, err := contract(spec)
	if err != nil {
		return fmt.Errorf("openapi.json: %w", err)
	}
	return os.WriteFile(to, module, 0o644)
}

const contractHead = `// Generated from api/v1/openapi.json by tool -gen: do not edit.
import type { components } from "./api.ts";

/** One key of performance_metrics: what it means and what it counts. */
export interface MetricDefinition {
  name: keyof components["schemas"]["PerformanceMetrics"];
  description: string;
  unit: %s;
}

/** JSON Schema of the request's field execution. */
export const execution: { readonly [keyword: string]: unknown } = %s;

/** Every metric, in the order of the document. */
export const metrics: readonly MetricDefinition[] = [
`

// contract returns the text of the module.
func contract(spec []byte) ([]byte, error) {
	var doc document
	if err := json.Unmarshal(spec, &doc); err != nil {
		return nil, err
	}
	schemas := doc.Components.Schemas
	if len(schemas.ExecutionOptions) == 0 || len(schemas.PerformanceMetrics.Properties) == 0 {
		return nil, errors.New("ExecutionOptions or PerformanceMetrics is missing")
	}
	var schema bytes.Buffer
	if err := json.Indent(&schema, schemas.ExecutionOptions, "", "  "); err != nil {
		return nil, err
	}
	rows, units, err := definitions(schemas.PerformanceMetrics.Properties)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, contractHead, strings.Join(units, " | "), schema.Bytes())
	b.WriteString(rows + "];\n")
	return b.Bytes(), nil
}

// definitions are the lines of the list and the units in it, quoted, in the order of
// their first appearance.
func definitions(metrics ordered) (rows string, units []string, err error) {
	seen := map[string]bool{}
	for _, m := range metrics {
		var p struct {
			Description string `json:"description"`
			Unit        string `json:"x-unit"`
		}
		if err := json.Unmarshal(m.value, &p); err != nil {
			return "", nil, fmt.Errorf("%s: %w", m.key, err)
		}
		if p.Description == "" || p.Unit == "" {
			return "", nil, fmt.Errorf("metric %s has no description or no x-unit", m.key)
		}
		unit := quote(p.Unit)
		if !seen[unit] {
			seen[unit], units = true, append(units, unit)
		}
		rows += fmt.Sprintf("  { name: %s, description: %s, unit: %s },\n", quote(m.key),
			quote(p.Description), unit)
	}
	return rows, units, nil
}

// quote returns a string literal: JSON's are JavaScript's. Nothing is escaped for HTML.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSpace(b.String())
}

// verify compares the files of third_party with SHA256SUMS, in both directions.
func verify(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		return err
	}
	sums, err := parseSums(string(list))
	if err != nil {
		return err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); name == "README.md" || name == "SHA256SUMS" {
			return nil
		}
		want, listed := sums[name]
		delete(sums, name)
		if !listed {
			return fmt.Errorf("third_party/%s is not in SHA256SUMS", name)
		}
		return compare(path, name, want)
	})
	for name := range sums {
		if err == nil {
			err = fmt.Errorf("third_party/%s is in SHA256SUMS and missing", name)
		}
	}
	return err
}

func compare(path, name, want string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		return fmt.Errorf("third_party/%s is not the file of SHA256SUMS", name)
	}
	return nil
}

// parseSums reads the output of sha256sum.
func parseSums(list string) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(list) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		name = strings.TrimPrefix(name, "./")
		if !ok || len(sum) != 2*sha256.Size || !fs.ValidPath(name) || sums[name] != "" {
			return nil, fmt.Errorf("SHA256SUMS: %q is not a line of sha256sum", line)
		}
		sums[name] = sum
	}
	if len(sums) == 0 {
		return nil, errors.New("SHA256SUMS is empty")
	}
	return sums, nil
}
