#!/usr/bin/env bash
# All tests, in the order that keeps them short on two cores. Arguments: go, gotestsum@version, -race or nothing.
#
# What drives many processes goes without the race detector, which sees one process only
# and makes the start of each slow. The browser waits more than it computes, so its suites run
# beside that; what it measures runs alone. Everything else has the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."
go=$1 sum=$2 race=${3:-}

processes=(./cmd ./lab ./lab/candidate ./lab/check ./lab/evaluate ./internal/calibrate)
left_out=$(printf '%s\n' "${processes[@]#.}" /api/ui/e2e | sed 's#^#/assay#; s#$#$#')
browser_log=$(mktemp)
trap 'rm -f "$browser_log"' EXIT

# Each part's own summary, and the failure of any of them at the end of the part.
run() { "$go" run "$sum" --format pkgname -- -count=1 "$@"; }

# In full here, in part with the detector below.
"$go" test -count=1 -run TestModesAgree ./host/backtest
"$go" test -count=1 -run 'TestHistories|TestTampering|TestKill' ./governance/store ./governance/control
"$go" -C api/ui/tool test -count=1 -shuffle=on ./...

run -timeout 15m -skip TestBudget ./api/ui/e2e >"$browser_log" 2>&1 &
browser=$!
status=0
run -shuffle=on -timeout 15m "${processes[@]}" || status=$?
wait "$browser" || status=$?
cat "$browser_log"
[ "$status" -eq 0 ] || exit "$status"

run -timeout 5m -run TestBudget ./api/ui/e2e
# shellcheck disable=SC2046
run $race -shuffle=on -timeout 15m $("$go" list ./... | grep -v -f <(echo "$left_out"))
