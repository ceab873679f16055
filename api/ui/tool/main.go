// Command tool builds the dashboard: it bundles src and third_party into dist. It is
// a module of its own, so that the bundler stays out of what authors import.
//
//	go run . [-o folder]           the dashboard: index.html, app-<hash>.js, charts-<hash>.js, app-<hash>.css, icon-<hash>.svg
//	go run . -gen [-o file]        src/gen/contract.ts, from openapi.json
//	go run . -tests file           the unit tests of the pure modules, as one script
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "..", "the folder api/ui")
	out := flag.String("o", "", "where the result goes (default: its place in the tree)")
	gen := flag.Bool("gen", false, "write contract.ts instead")
	tests := flag.String("tests", "", "bundle the unit tests into this file instead")
	flag.Parse()
	var err error
	switch {
	case *gen:
		err = writeContract(*root, cmp.Or(*out, filepath.Join(*root, "src", "gen", "contract.ts")))
	case *tests != "":
		err = buildTests(*root, *tests)
	default:
		err = build(*root, cmp.Or(*out, filepath.Join(*root, "dist")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
