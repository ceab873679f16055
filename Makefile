# Assay. `make run` and `make test` need Go and make only.

GO        ?= go
PORT      ?= 8000
VERSION   := 1.0.0
COMMIT    := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
BUILD     := CGO_ENABLED=0 GOAMD64=v1 $(GO) build -trimpath -buildvcs=false
# What is checked and tested is compiled as what is built, so that nothing is compiled twice.
export CGO_ENABLED := 0
export GOFLAGS     := $(GOFLAGS) -trimpath -buildvcs=false
# Programs are stripped: a panic still names file and line.
STRIP     := -s -w
LDFLAGS   := $(STRIP) -X main.version=$(VERSION) -X main.commit=$(COMMIT)
# The builder of the dashboard is a module of its own: ./... does not reach it.
UITOOL    := api/ui/tool
STRATEGIES := $(notdir $(patsubst %/main.go,%,$(wildcard strategies/*/main.go)))
CONNECTORS := $(notdir $(patsubst %/main.go,%,$(wildcard cmd/connectors/*/main.go)))

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
OASDIFF     := github.com/oasdiff/oasdiff@v1.32.1

# The race detector needs a C compiler; without one the tests run all the same.
RACE := $(shell command -v gcc >/dev/null 2>&1 && echo -race)

RINGS := $(GO) run ./cmd/tools/rings -gotestsum $(GOTESTSUM)

.PHONY: help build service run demo-live quick test check fmt vet staticcheck proto ui screenshots generated contract tests prove fuzz bench bench-peers bench-api bench-governance calibrate soak python clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: service ## everything into bin/
	@mkdir -p bin/connectors bin/tools
	$(BUILD) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/lab ./cmd/governance
	@echo "$(GO) build $(CONNECTORS:%=./cmd/connectors/%)" && $(BUILD) -ldflags '$(STRIP)' -o bin/connectors/ $(CONNECTORS:%=./cmd/connectors/%)
	$(BUILD) -ldflags '$(STRIP)' -o bin/tools/testvenue ./cmd/tools/testvenue

# What `make run` starts, and nothing else: the lab, which its jobs need, is built beside it.
service:
	@mkdir -p bin/strategies
	$(BUILD) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/assay
	@echo "$(GO) build $(STRATEGIES:%=./strategies/%)" && $(BUILD) -ldflags '$(STRIP)' -o bin/strategies/ $(STRATEGIES:%=./strategies/%)

run: service ## build, start the service, run one demonstration backtest, go on serving
	@nice env $(BUILD) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/lab & exec bin/assay --demo --port $(PORT)

python: ## wheels of the Python SDK and of what it and signals need into bin/wheels, to install from without a network
	python3 -m pip wheel -q --disable-pip-version-check -w bin/wheels './plugin-sdk/python[signals]'

quick: ## what changed since the last commit: format, vet, arrows, short tests of it and of what imports it
	@$(GO) run ./cmd/tools/rings quick

test: check ## everything once, proofs at a small scale: what a change needs

check: fmt vet staticcheck generated contract tests ## formatting, vet, staticcheck, generated code, API contract, all tests

fmt:
	@out=$$(gofmt -l .); test -z "$$out" || { echo "gofmt needed:"; echo "$$out"; exit 1; }

vet:
	$(GO) vet ./...
	$(GO) -C $(UITOOL) vet ./...

staticcheck:
	$(GO) run $(STATICCHECK) ./...
	$(GO) -C $(UITOOL) run $(STATICCHECK) ./...

# The document of the last release is api/v1/testdata/released.json: what it promises
# stays, or is announced as deprecated for 90 days first. A new error code is an addition.
contract:
	$(GO) run $(OASDIFF) breaking --severity-levels api/v1/testdata/contract-severity.txt --deprecation-days-stable 90 --fail-on ERR api/v1/testdata/released.json api/v1/openapi.json

proto: ## regenerate the protobuf code (needs protoc)
	@scripts/proto.sh

ui: ## bundle the dashboard into api/ui/dist (its API types too where npm ci was run in api/ui)
	$(GO) -C $(UITOOL) run . -gen
	@if [ -d api/ui/node_modules ]; then \
		echo "openapi-typescript -> api/ui/src/gen/api.ts" && cd api/ui && node_modules/.bin/openapi-typescript ../v1/openapi.json -o src/gen/api.ts; \
	else echo "api/ui/src/gen/api.ts is left as it is: run npm ci in api/ui to regenerate it"; fi
	$(GO) -C $(UITOOL) run .

demo-live: build ## a live run on the test venue whose host is killed: what the connector does then, and what the next start knows
	$(GO) run ./cmd/tools/demolive

screenshots: build ## the dashboard in each state, both themes, two widths: images in OUT (default api/ui/e2e/screenshots)
	ASSAY_SCREENSHOTS='$(abspath $(or $(OUT),api/ui/e2e/screenshots))' ASSAY_E2E=required $(GO) test -count=1 -timeout 30m -run Screenshots ./api/ui/e2e

generated:
	@scripts/check-generated.sh

tests: build
	@$(RINGS) $(RACE) test

prove: build ## the proofs at scale: mutants, kills, histories, drives, attacks, public clients, the longer browser suites
	@$(RINGS) $(RACE) prove

fuzz: ## every fuzz target, FUZZTIME each (default 5s; 100000000x is so many executions), FUZZ: those whose path or name match
	@scripts/fuzz.sh '$(or $(FUZZTIME),5s)' '$(FUZZ)'

bench: build ## speed: in-process loop, co-simulation, lockstep, store, import
	$(GO) run ./cmd/tools/bench

bench-peers: build ## the same rule on the same candles in backtesting.py, vectorbt and NautilusTrader (Python packages are installed)
	$(GO) run ./cmd/tools/bench -peers -sizes 200000

bench-api: build ## speed: the API under load, over loopback
	$(GO) run ./cmd/tools/benchapi $(BENCHFLAGS)
	ASSAY_BENCH_SECONDS=$(or $(SECONDS),30) $(GO) test -run '^$$' -bench 'Hub|Deaf' -benchtime 1x ./api/v1/stream

calibrate: ## false-positive and detection rates of lab falsify, into docs/calibration.md (CALIBRATEFLAGS: see go run ./cmd/tools/calibrate -h)
	$(GO) run ./cmd/tools/calibrate -o docs/calibration.md $(CALIBRATEFLAGS)

bench-governance: ## speed: ingests, known posts and reads of the control plane, its start and rebuild
	$(GO) run ./cmd/tools/benchgovernance $(BENCHFLAGS)

soak: build ## the long form of every proof, MINUTES of what goes on for a time (default 10); the figures go into OUT (soak.json)
	@$(RINGS) -minutes '$(or $(MINUTES),10)' -commit '$(COMMIT)' -date "$$(date -u +%Y-%m-%dT%H:%M:%SZ)" -o '$(or $(OUT),soak.json)' soak

clean: ## remove bin/
	rm -rf bin
