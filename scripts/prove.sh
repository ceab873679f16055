#!/usr/bin/env bash
# The proofs that take longer than a test run may. Arguments: go, gotestsum@version.
#
# A proof is a test whose name begins with TestProve and which calls prove.Only: whatever package has one is
# found here. One after the other, because some measure what a machine of its own would show.
set -euo pipefail
cd "$(dirname "$0")/.."
go=$1 sum=$2
mapfile -t suites < <("$go" list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... |
	sed -n 's#^\([^ ]*\) .*assay/host/hosttest/prove[] ].*#\1#p')
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools "$go" install "$sum"
ASSAY_PROVE=1 "$tools/gotestsum" --format standard-verbose -- -count=1 -vet=off -p 1 -timeout 40m -run '^TestProve' "${suites[@]}"
