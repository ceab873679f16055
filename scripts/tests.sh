#!/usr/bin/env bash
# All tests, in the order that keeps them short on two cores. Arguments: go, gotestsum@version, -race or nothing.
#
# What drives many processes goes without the race detector, which sees one process only
# and makes the start of each slow; so do packages that start no goroutine and hold no lock, in
# which nothing can race. The browser waits more than it computes, so its suites run beside
# that; what it measures runs alone. Everything else has the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."
go=$1 sum=$2 race=${3:-}

processes=(./cmd ./lab ./lab/candidate ./lab/check ./lab/evaluate ./cmd/tools/calibrate)
apart=$(printf '%s\n' "${processes[@]#.}" /api/ui/e2e | sed 's#^#/assay#; s#$# #')
alone=() together=()
while read -r package files; do
	# shellcheck disable=SC2086
	if [ -n "$files" ] && grep -qE '^[[:space:]]*go |\.Go\(|"sync"|"sync/atomic"' $files; then
		together+=("$package")
	else
		alone+=("$package")
	fi
done < <("$go" list -f '{{$dir := .Dir}}{{.ImportPath}} {{range .GoFiles}} {{$dir}}/{{.}}{{end}}' ./... | grep -v -F -f <(echo "$apart"))
tools=$(mktemp -d) browser_log=$(mktemp) figures=$(mktemp)
trap 'rm -rf "$tools" "$browser_log" "$figures"' EXIT
GOBIN=$tools "$go" install "$sum"
export ASSAY_FIGURES=$figures

# Each part's own summary, and the failure of any of them at the end of the part. Vet has been run.
run() { $nicely "$tools/gotestsum" --format pkgname -- -count=1 -vet=off "$@"; }
nicely=

run -timeout 15m -skip TestBudget ./api/ui/e2e >"$browser_log" 2>&1 &
browser=$!
status=0

# In full here; with the detector below in part or not at all. Most of it computes, and leaves the
# processors to the browser, which somebody's patience is waiting for.
full='TestModesAgree|TestChunkedRandomStrategiesAgree|TestBundledStrategiesAgreeInEveryDrive|TestHistories|TestTampering|TestTamperingUnsigned|TestKill'
full+='|TestIncrementalEqualsFromScratch|TestPaperEqualsBacktest|TestMonthOfMinutes|TestCrashPoints|TestModel|TestMemoryLimit|TestTableOfProbabilities'
nicely='nice -n 10' run -timeout 15m -run "^($full)\$" ./api ./host/run ./host/proc/sandbox ./governance/store ./governance/control ./governance/promotion \
	./host/trade ./host/trade/engine ./host/trade/journal ./lab/selection || status=$?
"$go" -C api/ui/tool test -count=1 -shuffle=on ./... || status=$?

run -shuffle=on -timeout 15m "${processes[@]}" "${alone[@]}" || status=$?
wait "$browser" || status=$?
cat "$browser_log"
[ "$status" -eq 0 ] || exit "$status"

run -p 1 -timeout 5m -run '^(TestBudget|TestSelectionIsFast)$' ./api/ui/e2e ./lab/selection
# Three at a time on two cores: many of them wait for processes and clocks. The detector needs
# cgo; what the tests build does not. SQLite is C that was translated: it has locks of its own,
# and watched by the detector it is three times as slow.
detector=()
[ -z "$race" ] || detector=("$race" -gcflags='modernc.org/...=-race=false' -exec 'env CGO_ENABLED=0')
CGO_ENABLED=${race:+1} run ${detector[@]+"${detector[@]}"} -p 3 -shuffle=on -timeout 15m "${together[@]}"
# How often the proofs of live trading were really done: silent when it was often enough, so
# that the summary of the tests is the last line.
report=$("$go" run ./cmd/tools/figures -check 2>&1) || { echo "$report"; exit 1; }
