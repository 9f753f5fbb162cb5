# todo-mcp: what a developer runs. Everything installs what it needs by itself.
GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS   = -s -w -X main.version=$(VERSION)
LINT      = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# What drives a browser, a terminal or npm packages is behind a build tag: plain
# `go test ./...` needs Go alone.
E2E       = -tags e2e
# The detector does not look at two libraries, so the tests take a third of the time: SQLite,
# which is C turned into Go and by far the most of what they run, and the reader of JSON text,
# which copies within its own buffer for each 4 kB. A write to the bytes that it reads is missed.
RACE      = -race '-gcflags=modernc.org/...=-race=false' '-gcflags=github.com/go-json-experiment/json/jsontext=-race=false'
# Other Go is compiled as for a release, and as the tests build the program: once for all
# of them. That takes two minutes of a processor each time.
PLAIN     = CGO_ENABLED=0 GOFLAGS=-trimpath
# The programs of developers are a module of their own, so that go.mod names what the
# product needs.
MODULES   = . internal/cmd
# The packages in which goroutines share what is ours: their tests run under the race
# detector. All others compute alone, or drive the program or a page, of which it sees
# nothing; it makes them several times as slow. `make long` runs every test under it.
RACED     = ./internal/audit ./internal/board ./internal/cli/run ./internal/hook ./internal/notify ./internal/remote ./internal/store ./internal/store/postgres ./internal/store/sqlite ./internal/store/tables ./internal/watch \
            ./server ./server/api ./server/auth ./server/edge ./server/mcphttp ./server/metrics ./server/sse ./server/stdio ./server/subscriptions ./server/web
# Those that wait most of their time, for killed programs and for browsers: they run beside
# all others.
WAITING   = ./internal/faults ./server/card ./server/panel ./internal/replicas
# What `make test` runs beside the tests.
BESIDE    = biome bits developers allocations functions fuzz-short windows-short
# What the other processors run: what is of the model, of files and of tools.
CORE      = ./internal/todo ./internal/board ./internal/store/sqlite ./internal/store/storetest ./internal/store/record ./internal/atomicfile ./tools ./internal/hook ./internal/install ./internal/render
# Tests that start their own program again, which qemu does not.
CHILDREN  = ^(TestLogDeleted|TestLogDeletedInASave|TestEightProcesses)$$
# Several programs on one store, some of which are killed.
SHARED    = ^(TestKilled|TestClaims)$$
# Tests that Windows, or Wine in its place, cannot pass: a store that is open is removed or
# renamed; modes of files, and pages read, which Wine does not tell; symbolic links; clients
# and folders as Linux has them; programs of POSIX; a browser that is opened.
NOWINDOWS = ^(TestMainFileDeleted|TestLogDeleted|TestLogDeletedInASave|TestReadsTheFileInItsPlace|TestCreatesFilesOnFirstSave|TestWorkDoesNotGrowWithLists|TestSteadyUpdateReadsNothing|TestLinkedFile|TestNotAFile|TestSameProgramByAnotherPath|TestClients|TestPlaces|TestClientsAreDocumented|TestHooksAreDocumented|TestHookKinds|TestCommand|TestTyped|TestByHand|TestGroup|TestEditIsTheSameOnAllFrontEnds|TestResumeCommandIsQuoted|TestServeLAN|TestDemo|TestCases|TestTextsOfWindows)$$
BIOME     = testdata/npm/node_modules/.bin/biome

.PHONY: test means build fmt vet biome lint race others waiting developers types cross golden deps long bits systems windows in-windows windows-short hosts allocations functions faults replicas conformance fuzz fuzz-short growth bench benchmarks cost attacks shots licenses packages owner release-snapshot release

# How long `make fuzz` gives each target, and which: ONLY=server/mcphttp for some.
FUZZTIME ?= 10m
ONLY     ?= .

## test: all that must hold before a change lands
# The tests wait a third of their time, for browsers, programs and bounds. What only
# compiles and counts runs beside them meanwhile, and gives way to them; it is printed
# behind them. vet and types run while the programs that the tests drive come over the network.
test: fmt
	@$(MAKE) -k -j --no-print-directory deps vet types
	@log=$$(mktemp); nice -n 19 $(MAKE) -k -j2 -O --no-print-directory $(BESIDE) >$$log 2>&1 & beside=$$!; \
	waits=$$(mktemp); $(MAKE) -k --no-print-directory waiting >$$waits 2>&1 & waiting=$$!; \
	trap "kill $$beside $$waiting" INT TERM; \
	$(MAKE) -k --no-print-directory race others; tests=$$?; wait $$waiting; waited=$$?; wait $$beside; others=$$?; \
	cat $$waits $$log; rm $$waits $$log; exit $$((tests + waited + others))
	@$(MAKE) --no-print-directory golden
	@echo "== all passed"
	@$(MAKE) --no-print-directory means

## deps: programs the tests drive, from Debian's packages
deps:
	@echo "== test programs"
	@./.ci/deps

fmt:
	@echo "== gofmt"
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

## vet: what test has of lint, which has it, too
vet:
	@echo "== go vet"
	@for module in $(MODULES); do $(PLAIN) $(GO) vet -C $$module -tags e2e,hosts,wine ./... || exit 1; done

biome:
	@echo "== biome (JavaScript)"
	@$(BIOME) lint --error-on-warnings

# The linter itself takes longer to compile than SQLite does, so test has only vet; CI runs
# lint on a machine of its own.
## lint: go vet, staticcheck and others, and biome
lint: biome
	@echo "== golangci-lint"
	@for module in $(MODULES); do (cd $$module && $(PLAIN) $(GO) run $(LINT) run --allow-parallel-runners --build-tags e2e,hosts,wine ./...) || exit 1; done

# A program with the race detector sleeps for a second before it exits, unless told not to.
# vet is a step of its own, so the tests leave it out.
race:
	@echo "== tests under the race detector"
	@export GORACE=atexit_sleep_ms=0; $(GO) test -p 4 $(E2E) $(RACE) -vet=off -timeout 15m $(RACED)

## developers: tests of the programs of developers; `make long` runs them under the race detector
developers:
	@echo "== tests of internal/cmd"
	@$(PLAIN) $(GO) test -C internal/cmd $(E2E) -vet=off -timeout 15m ./...

## others: all other tests, but for those that wait
others:
	@echo "== tests of what computes alone, or drives the program or a page"
	@$(PLAIN) $(GO) test -p 4 $(E2E) -vet=off -timeout 15m $$($(GO) list $(E2E) ./... | grep -vxF "$$($(GO) list $(E2E) $(RACED) $(WAITING))")

## waiting: tests that wait most of their time
waiting:
	@echo "== tests that wait"
	@$(PLAIN) $(GO) test $(E2E) -vet=off -timeout 15m $(WAITING)

## allocations: what a call allocates beside one to a bare server, against a golden file; race cannot tell, since its detector allocates as well
allocations:
	@echo "== allocations of a call"
	@$(PLAIN) $(GO) test -count=1 -vet=off -run '^TestAllocations$$' ./server

# Only a program that is built to count its own functions can tell which a call passes.
## functions: what may only shrink, against testdata/ratchet.txt, and the functions that a call passes, which it lists in bin/functions; LOWER=-lower lowers limits to what is left
functions:
	@echo "== what may only shrink"
	@$(PLAIN) $(GO) build -buildvcs=false -ldflags='-s -w' -o bin/stripped .
	@$(PLAIN) $(GO) build -C internal/cmd -cover -covermode=atomic -coverpkg=github.com/todo-mcp/todo-mcp/... -o ../../bin/ratchet ./ratchet
	@folder=$$(mktemp -d); GOCOVERDIR=$$folder bin/ratchet $(LOWER) . bin/functions; result=$$?; rm -r $$folder; exit $$result

# Who may mount here is root, or who has fusermount.
means:
	@{ [ -w /dev/fuse ] && { unshare -m true || command -v fusermount3 || command -v fusermount; }; } >/dev/null 2>&1 || \
		echo "== NOT RUN, BECAUSE THIS MACHINE CANNOT MOUNT BY FUSE: power loss, broken disks and slow disks (internal/faults). Their tests passed without doing anything."

## golden: tests must leave the tree as it is in git
golden:
	@echo "== goldens unchanged"
	@if [ -n "$$(git status --porcelain -- testdata '*/testdata' 2>/dev/null)" ]; then git status --short -- testdata '*/testdata'; exit 1; fi

# Each further system and processor on which the program is compiled takes minutes, most of
# them for SQLite. So `make test` compiles there only what does without it, and checks the
# types of the rest; `make systems` and `make windows` have the whole.

## types: the types of the program and its tests, as compilers for other systems and 32 bits check them, without compiling
types:
	@echo "== types for darwin, windows and 32 bits"
	@$(PLAIN) $(GO) run -C internal/cmd ./types ../.. darwin/arm64 windows/amd64 linux/arm

# Under qemu all takes thirty times as long. The store in memory is tried by what the board
# does with it, and by itself in `make systems`.
## bits: tests of the model with 32 bits (arm, under qemu: a kernel may run no 32-bit x86)
bits: deps
	@echo "== tests of the model with 32 bits (arm, under qemu)"
	@CGO_ENABLED=0 GOARCH=arm GOARM=7 $(GO) test -vet=off -exec qemu-arm ./internal/todo ./internal/board ./internal/store/record

# Linux is what the tests run on. Build and vet have the same flags, so that what both
# need is compiled once.
cross:
	@echo "== builds for darwin and windows, tests too"
	@for os in darwin windows; do CGO_ENABLED=0 GOOS=$$os $(GO) build -ldflags '$(LDFLAGS)' -o /dev/null . && CGO_ENABLED=0 GOOS=$$os $(GO) vet ./... && CGO_ENABLED=0 GOOS=$$os $(GO) vet -C internal/cmd ./... || exit 1; echo "   $$os"; done

## systems: builds for darwin and windows; the program and the tests of the core on other processors, under qemu: arm with 32 bits, and arm64
systems: deps cross
	@for arch in arm arm64; do \
	echo "== on $$arch, under qemu"; \
	.ci/processor $$arch $(GO) test $(E2E) -count=1 -vet=off -run '$(SHARED)' ./internal/faults && \
	.ci/processor $$arch $(GO) test $(E2E) -count=1 -vet=off ./internal/cli/read ./internal/cli/change ./internal/cli/storage && \
	.ci/processor $$arch sh -c 'CGO_ENABLED=0 GOARCH='$$arch' $(GO) test -vet=off -timeout 30m -exec "$$QEMU" -skip "$(CHILDREN)" $(CORE)' || exit 1; done

## windows: the program for Windows under Wine: tests of the core and the command line, of the program as people have it, and of processes that are killed
windows: deps
	@echo "== tests of the program for Windows, under Wine"
	@.ci/windows $(MAKE) --no-print-directory in-windows

in-windows:
	@$(GO) test -tags 'e2e wine' -count=1 -vet=off ./internal/windows
	@$(GO) test $(E2E) -count=1 -vet=off -run '$(SHARED)' ./internal/faults
	@CGO_ENABLED=0 GOOS=windows $(GO) test -overlay $$OVERLAY -vet=off -exec $$WINE -timeout 20m -skip '$(NOWINDOWS)' $(CORE) ./internal/cli/...

# What of it runs with each change: what replaces and edits a person's files.
windows-short:
	@echo "== files of a person on Windows, under Wine"
	@WITHOUT_PROGRAM=1 .ci/windows sh -c 'export CGO_ENABLED=0 GOOS=windows; \
	$(GO) test -overlay $$OVERLAY -vet=off -exec $$WINE -skip "$(NOWINDOWS)" ./internal/atomicfile && \
	$(GO) test -overlay $$OVERLAY -vet=off -exec $$WINE -run "^(TestSeveralFiles|TestUninstallLeavesNothing|TestBackup|TestChangedMeanwhile)\$$" ./internal/install'

## build: the binary, in bin/
build:
	@CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/todo-mcp .

## long: the proofs that take longer than a change should wait
long: deps
	@for module in $(MODULES); do TODO_LONG=1 $(GO) test -C $$module $(E2E) $(RACE) -timeout 60m ./... || exit 1; done

## hosts: real clients from npm on a stand-in model; TestHosts/codex alone with RUN=TestHosts/codex
hosts:
	@./.ci/npm testdata/npm-hosts
	@$(GO) test -tags hosts -count=1 -v -timeout 30m -run '$(or $(RUN),.)' ./internal/hosts
	@$(GO) test -C internal/cmd -tags hosts -count=1 -v -timeout 30m -run '$(or $(RUN),.)' ./release

## fuzz: every fuzz target in turn, FUZZTIME (10m) each; what is found becomes a case
fuzz:
	@.ci/fuzz $(FUZZTIME) '$(ONLY)'

# 2,000 runs of each target that does without SQLite: in a second a busy machine may not run
# one. What fuzzing builds is built anew, with instruments, and with SQLite that takes
# minutes. The cases of the others run in race, as those of all do.
fuzz-short:
	@echo "== fuzz, 2,000 runs each"
	@$(PLAIN) .ci/fuzz 2000x '^./(tools|internal/(todo|render|store/record)):'

## conformance: the official MCP suite in every protocol version, as a table; part of test
conformance: deps
	@$(GO) test $(E2E) $(RACE) -count=1 -v ./internal/conformance

## faults: kill -9, power loss, broken disks, racing processes, SIGTERM, with a table of what was lost; one of them with RUN=TestKilled
faults:
	@TODO_LONG=1 $(GO) test $(E2E) -count=1 -v -timeout 30m -run '$(or $(RUN),.)' ./internal/faults

## replicas: several servers on one PostgreSQL, restarted and killed, the database too, with a table of what was lost; one of them with RUN=TestRollingRestart
replicas: deps
	@TODO_LONG=1 $(GO) test $(E2E) -count=1 -v -timeout 30m -run '$(or $(RUN),.)' ./internal/replicas

## growth: what a year of a developer leaves in a store, and the commands and a server on it
growth: build
	@$(GO) build -C internal/cmd -o ../../bin/growth ./growth
	@bin/growth bin/todo-mcp

## bench: calls beside a bare server of mcp-go and one that also keeps a row of SQLite, starts, hooks and memory at rest, in one run; writes internal/cmd/bench/RESULTS.md, or with BENCH="-only TEXT" shows some of it
bench: build
	@$(GO) build -C internal/cmd -o ../../bin/bench ./bench
	@bin/bench $(BENCH) bin/todo-mcp $(if $(findstring -only,$(BENCH)),,internal/cmd/bench/RESULTS.md)

## cost: what a list costs a model in each known client, and beside other servers from npm; written to docs/cost.md and internal/cmd/cost/RESULTS.md
cost: build
	@command -v strace >/dev/null || DEPS=strace ./.ci/deps
	@./.ci/npm testdata/npm-peers
	@$(GO) build -C internal/cmd -o ../../bin/cost ./cost
	@bin/cost $(COST) . bin/todo-mcp testdata/npm-peers

## benchmarks: what Go measures, package by package, with a board in a browser; benchstat compares two runs; BENCH="-bench Call -count 10" for some of it
benchmarks:
	@$(GO) test -tags e2e -run '^$$' -benchmem -timeout 60m $(or $(BENCH),-bench .) ./...

## attacks: strangers and slow clients at full size, as a table of memory and time
attacks:
	@TODO_ATTACKS=full $(GO) test $(E2E) -count=1 -v -timeout 30m -run TestAttacks ./internal/attacks

## packages: what is in packaging/, by the linters of its formats
packages:
	@./.ci/packages

## owner: makes the module's path and all links name the account on GitHub that publishes this; OWNER=name
owner:
	@test -n "$(OWNER)" || { echo "make owner OWNER=name: the account that publishes is missing"; exit 2; }
	@path=$$($(GO) list -m) && git grep -lI "$$path" | xargs sed -i "s#$$path#github.com/$(OWNER)/todo-mcp#g" && $(GO) list -m

## release-snapshot: what a release of the newest commit would publish, into dist/; TWICE=1 builds it twice and compares
release-snapshot:
	@./.ci/release

## release: builds the tag at the newest commit into dist/, publishes nothing; CI runs it
release:
	@./.ci/release-tools $(CURDIR)/bin
	@PATH=$(CURDIR)/bin:$$PATH goreleaser release --clean --skip=publish

## licenses: the licence texts of what the binary contains, in LICENSES/
licenses:
	@$(GO) run -C internal/cmd ./licenses ../.. ../../LICENSES

## shots: the README's pictures, from a running program
shots: deps
	@DEPS="chromium fonts-noto-cjk fonts-noto-color-emoji" ./.ci/deps
	@$(GO) run -C internal/cmd ./shots ../../docs/images
