#!/usr/bin/env bash
# Runs every fuzz target of the tree for the given time each, or so many times (100000000x).
# With a second argument only those whose "folder name" matches it.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	dir=$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | sed 's/^func //' | while read -r target; do
		[[ "$dir $target" =~ ${2:-} ]] || continue
		echo "$dir $target"
		# Shrinking inputs that are merely new takes all the time where a file has a kilobyte.
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 20x "$dir"
	done
done
