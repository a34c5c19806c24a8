# Everything that is done with this repository by hand. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := bin
SDK ?= $(CURDIR)/$(BIN)/sdk
FUZZTIME ?= 30s
BEFORE ?= 4a940666
# Runs a command beside PostgreSQL, with what the end-to-end tests need.
E2E = SPANGROVE_E2E=1 SPANGROVE_E2E_ALL=1 SPANGROVE_E2E_SDK=$(SDK) SPANGROVE_E2E_BINARY=$(CURDIR)/$(BIN)/spangrove \
	SPANGROVE_TEST_PYTHON_GUEST=$(SDK)/evaluators e2e/with-postgres.sh

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "%-15s %s\n", $$1, $$2}'

build: ## the static binary, bin/spangrove
	CGO_ENABLED=0 go build -o $(BIN)/spangrove ./cmd/spangrove

release: ## what a release publishes, in bin/release: six platforms, all packages (RELEASE_FLAGS="-dirty -platforms linux/amd64")
	cd build/release && go run . $(RELEASE_FLAGS)

test: ## all tests that need nothing but Go
	go test ./...

test-postgres: ## the same on a throw-away PostgreSQL as well
	e2e/with-postgres.sh go test ./...

sdk: build ## what the end-to-end tests need: the published SDKs, and the interpreter of Python evaluators
	e2e/sdk/install.sh $(SDK)
	$(BIN)/spangrove evaluators install --dir $(SDK)/evaluators

race: ## all tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -gcflags=modernc.org/...=-race=false ./...

e2e: sdk ## the real binary on both databases: kills, samples, SDKs, README
	$(E2E) go test -count=1 -timeout 90m -v ./e2e/...

sdk-test: sdk ## only the published SDKs, on both databases
	$(E2E) go test -count=1 -timeout 90m -v -run 'SDK|Readme|Instrumentations|HoneyHiveSuite' ./e2e

api-test: sdk ## requests made up from openapi.yaml, on both databases
	$(E2E) go test -count=1 -timeout 90m -v -run 'Schemathesis|Scenarios' ./e2e

web-test: sdk ## the pages in a browser (Chromium), on both databases
	$(E2E) go test -count=1 -timeout 90m -v -run '^TestWeb' ./e2e

packages-test: export RELEASE_FLAGS += -dirty
packages-test: release ## each package of bin/release installed, started and asked for a first trace (root, Debian's debootstrap and rpm)
	SPANGROVE_E2E=1 SPANGROVE_E2E_RELEASE=$(CURDIR)/$(BIN)/release go test -count=1 -timeout 60m -v ./e2e/packages

upgrade-test: build ## two servers on one PostgreSQL replaced under load, by this program and back (BEFORE=COMMIT)
	rm -rf $(BIN)/before && git worktree prune && git worktree add --detach --force $(CURDIR)/$(BIN)/before $(BEFORE)
	cd $(BIN)/before && go build -buildvcs=false -o ../spangrove-before ./cmd/spangrove
	git worktree remove --force $(CURDIR)/$(BIN)/before
	SPANGROVE_E2E=1 SPANGROVE_E2E_BINARY=$(CURDIR)/$(BIN)/spangrove SPANGROVE_E2E_BEFORE=$(CURDIR)/$(BIN)/spangrove-before \
		go test -count=1 -timeout 20m -v -run '^TestRollingUpgrade$$' ./e2e

deploy-test: build ## the chart, the compose file, the dashboard and the alert rules, by the libraries of those who read them
	cd deploy/check && go vet ./... && SPANGROVE_E2E_BINARY=$(CURDIR)/$(BIN)/spangrove go test -count=1 ./...

pictures: build ## docs/images, taken anew from pages with demo data (Chromium)
	e2e/sdk/install.sh $(SDK)
	SPANGROVE_E2E_BINARY=$(CURDIR)/$(BIN)/spangrove SPANGROVE_WEB_PLAYWRIGHT=$(SDK)/web/node_modules/playwright-core/index.mjs \
		SPANGROVE_WEB_AXE=$(SDK)/web/node_modules/axe-core/axe.min.js node e2e/web/pictures.mjs docs/images

lint: ## gofmt, go vet, and golangci-lint if it is installed
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'not formatted: run gofmt -w'; exit 1; }
	go vet ./...
	cd e2e/loadgen && go vet ./...
	cd build/release && go vet ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; else echo 'golangci-lint is not installed: skipped'; fi

fuzz: ## every fuzz target for FUZZTIME (default 30s)
	.ci/fuzz $(FUZZTIME)

bench: ## Go benchmarks, then the load generator beside the fsync sink (N=200000 spans)
	go test -run '^$$' -bench . -benchmem ./...
	e2e/bench.sh

bench-scale: ## small events over 30 days and questions with known answers (N="100000 1000000 10000000" events, SERVERS="sqlite postgres")
	e2e/bench.sh scale

generate: ## generated files, from builder-config.yaml and the mapping tables
	go generate ./...

check: ## what CI runs
	.ci/run

check-all: ## what CI runs and what it has no time for, target by target; goes on where it was cut short on the same commit
	.ci/all check long-test sdk-test api-test web-all hostile-test packages-test upgrade-test deploy-test examined-test segments-test race-all fuzz

long-test: export SPANGROVE_E2E_MOVE = 2000000
long-test: export SPANGROVE_E2E_EDGE_SPANS = 100000
long-test: export SPANGROVE_E2E_FLEET = 5m
long-test: sdk ## a move of 2,000,000 events, 100,000 spans through the edge, five minutes of two servers on one PostgreSQL that are killed
	$(E2E) go test -count=1 -timeout 90m -v -run '^(TestMove|TestEdge|TestFleet)$$' ./e2e

web-all: export SPANGROVE_WEB_DATAPOINTS = 10000
web-all: export SPANGROVE_WEB_TIMES = 1
web-all: web-test ## the pages with runs of 10,000 datapoints and bounds of times: on a machine that does nothing else

hostile-test: ## all attacks on both databases
	SPANGROVE_E2E=1 e2e/with-postgres.sh go test -count=1 -timeout 60m ./e2e/hostile

examined-test: ## the store's suite, with an examination of the database after each case
	SPANGROVE_DOCTOR_CASES=1 e2e/with-postgres.sh go test -count=1 -timeout 60m -run '(TestSQLite|TestPostgres)$$' ./pkg/store

segments-test: ## 20,000 answers of segments on each database, compared with the rows'
	SPANGROVE_COMPARISONS=20000 e2e/with-postgres.sh go test -count=1 -timeout 60m -run '(TestSQLite|TestPostgres)$$/Segments' ./pkg/store

race-all: ## the whole store with the race detector: SQLite itself too, behind a pooler and with a replica (segments-test compares more answers)
	SPANGROVE_COMPARISONS=400 CGO_ENABLED=1 e2e/with-postgres.sh go test -race -count=1 -timeout 150m ./pkg/store/...

clean: ## what the targets above left in bin/
	rm -rf $(BIN)

.PHONY: help build sdk release packages-test test test-postgres race e2e sdk-test api-test web-test upgrade-test deploy-test pictures lint fuzz bench bench-scale generate check check-all long-test web-all hostile-test examined-test segments-test race-all clean
