package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestContractIsCurrent(t *testing.T) {
	to := filepath.Join(t.TempDir(), "contract.ts")
	if err := writeContract("..", to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../src/gen/contract.ts")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("src/gen/contract.ts is stale: make ui")
	}
}

func TestContract(t *testing.T) {
	spec := `{"components":{"schemas":{"ExecutionOptions":{"type":"object","properties":{"b":{"maximum":1e-8},"a":{}}},
		"PerformanceMetrics":{"properties":{"z":{"description":"A \"quoted\" <b>.","x-unit":"ratio"},"a":{"description":"Second.","x-unit":"count"},"m":{"description":"Third.","x-unit":"ratio"}}}}}}`
	module, err := contract([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range []string{
		`unit: "ratio" | "count";`, `"b": {`, `"maximum": 1e-8`, `"a": {}`,
		`{ name: "z", description: "A \"quoted\" <b>.", unit: "ratio" },`,
		`{ name: "a", description: "Second.", unit: "count" },`,
		`{ name: "m", description: "Third.", unit: "ratio" },`,
	} {
		next := strings.Index(string(module)[at:], part)
		if next < 0 {
			t.Fatalf("%s is missing or out of order in\n%s", part, module)
		}
		at += next
	}
}

func TestContractRefuses(t *testing.T) {
	const head = `{"components":{"schemas":{"ExecutionOptions":{},"PerformanceMetrics":{"properties":`
	for _, spec := range []string{
		`{`, `{}`, head + `{}}}}}`, head + `[]}}}}`, head + `{"a":{"x-unit":"ratio"}}}}}}`,
		head + `{"a":{"description":"A."}}}}}}`, head + `{"a":1}}}}}`,
		`{"components":{"schemas":{"PerformanceMetrics":{"properties":{"a":{"description":"A.","x-unit":"ratio"}}}}}}`,
	} {
		if module, err := contract([]byte(spec)); err == nil {
			t.Errorf("%s gives\n%s", spec, module)
		}
	}
}
