#!/usr/bin/env bash
# The long form of every proof, once. Arguments: go, minutes of what goes on for a time, commit, file for the figures.
#
# Every part is run whatever becomes of the others. The packages of live trading run all of
# their tests, because each sizes itself (package soak); of the others those named Soak.
set -uo pipefail
cd "$(dirname "$0")/.."
go=$1 commit=$3 out=$4
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
export ASSAY_SOAK=$2 ASSAY_FIGURES=$figures

status=0
# A part may take as long as its minutes, and three hours for what is counted and not timed.
part() { "$go" test -count=1 -v -p 1 -timeout "$((ASSAY_SOAK * 2 + 180))m" "$@" || status=$?; }
part -run Soak ./cmd ./api/ui/e2e ./governance/control ./governance/store
part -run TestModel$ ./api
part ./host/trade/... ./host/exchange/...
"$go" run ./cmd/tools/figures -o "$out" -date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" -commit "$commit" || status=$?
exit "$status"
