# Copyright The Poundlock Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Needs Go, git, make and a C compiler (for the race detector); everything else is a Go module at a pinned version.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Tools have a module file of their own, so that their dependencies never move the product's.
TOOL := go tool -modfile=tools/go.mod

# Test binaries without DWARF and symbols: a hundred are linked, and no debugger looks at them; stack traces have names all the same. And by Go's own linker: what can load kustomize's plugins is otherwise linked once more, by
# the C compiler's, which takes as long again.
LINKED := -ldflags='-s -w$(if $(filter Linux,$(shell uname)), -linkmode=internal)'
# Compilers, linkers, linters and tests that collect garbage less often take a fifth less of the processors, and some hundred MB more. What a test starts as a process of its own does not inherit it.
LATER := GOGC=400
# The same for what only compiles, as test/build has it.
COMPILED := GOGC=off GOMEMLIMIT=1536MiB
TESTSUM := $(LATER) $(TOOL) gotestsum --format pkgname --format-hide-empty-pkg -- $(LINKED) -vet=off

# What decides or renders, and starts no goroutine: the race detector would find nothing there, and take three times as long.
NOUNS := (^|/)(policies|conversion|controlplanetemplate|mirroring|bundle|bundling|installation|translation|docs|manifests|$\
	kubectl-poundlock/(check|cleanup|controlplane|convert|diff|krew|migrate|printers|readiness|standing|status|topics)|machine/(health|scaling)|$\
	internal/(build|conditionlist|eventnote|jsonmembers|jsonnumbers|licences|requeue|spelling|versioned))(/|$$)
# What plays the product's binaries on a stage, and the walk. Under the race detector Poundlock takes fifteen times as long and the two cores are never idle, so that
# is a proof of its own (raced-stories); the code of those binaries is tested with it in the packages of its own.
STORIES := (^|/)(test/(journeys|absent|schemas|installed|platforms|private(/converter)?|modelcheck)|kubectl-poundlock/e2e)$$

# Those of them that have long stories.
PLAYED := (^|/)(test/(journeys|absent|installed|platforms)|kubectl-poundlock/e2e)$$

# What takes longest begins first: the last to end would otherwise run alone.
LONGEST := /(reconcilers/(handoff|mirror|rollout)|machine/controller|kubectl-poundlock/e2e|webhooks|test/(journeys|private))$$

# Tests of these packages call their reconcilers themselves, in one goroutine, where the race detector finds nothing and takes five times as long. Only those that have a
# manager, two installers or readers beside them run with it (raced-stories has all). Their names are in no other package.
ALONE := /reconcilers/(handoff|install|rollout)$$
TOGETHER := ^(TestManager|TestFollowsChanges|TestTwoInstallers|TestAServerThatHangs|TestEventsAndGauges|TestInAManager|TestTwoOperatorsMakeNoMoreThanOne)$$

# Packages that are tested at once. Some start a control plane of 1 GB, and wait more than they work.
P ?= 3
# What is tested, linted, benchmarked: PKG=./certs/... narrows it.
PKG ?= ./...
# What `make run` plays a cluster on: aws, azure, gcp, openstack, vsphere, powervs, nutanix.
PLATFORM ?= $(or $(platform),aws)
# How many Machines `make run` and `make proof WHAT=platforms` give the control plane, to have it managed: 3 or 5. 0 leaves the one Machine of the fleet by itself.
CONTROL_PLANE ?= 0
# MANAGER=off has `make run` install Poundlock without starting it; typing start in its terminal does that. BARE=1 leaves Poundlock out.
MANAGER ?= on
# More arguments for `go test`, such as ARGS='-run Rotate -v'.
ARGS ?=

# What may be given as NAME=VALUE. Another name, a misspelt one say, would be passed over in silence.
GIVEN := P PKG PLATFORM platform CONTROL_PLANE MANAGER BARE NEIGHBOURS INSTALL PRIVATE ARGS WHAT ON SHARE SEED VERSION PUSH
UNKNOWN := $(filter-out $(GIVEN) GO% CGO_% KUBE% SHELL MAKE%,$(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$v)))
$(if $(UNKNOWN),$(error $(UNKNOWN): there is no such variable. There are $(GIVEN); make help has what they are for))

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start a control plane, Poundlock, the real Cluster API, a simulated cloud (PLATFORM=azure, …) and a small fleet (CONTROL_PLANE=3 and its masters; MANAGER=off and no manager, BARE=1 and no Poundlock; NEIGHBOURS=1 and OpenShift's other writers; INSTALL=1 and nothing but Cluster API, by its installer; PRIVATE=1 and private types); up until Ctrl-C
	$(if $(filter-out on off,$(MANAGER)),$(error MANAGER is on or off, and not $(MANAGER)))
	@echo "Building what runs the stage. The first start also builds etcd, Kubernetes and Cluster API: five to eight minutes on two cores"
	@$(COMPILED) go build $(LINKED) -o .run/bin/run ./test/run # no go run: that would not hand a SIGTERM on
	@exec .run/bin/run --platform=$(PLATFORM) --control-plane=$(CONTROL_PLANE) --neighbours=$(if $(filter 1,$(NEIGHBOURS)),true,false) --install=$(if $(filter 1,$(INSTALL)),true,false) \
		--manager=$(if $(filter off,$(MANAGER)),false,true) --bare=$(if $(filter 1,$(BARE)),true,false) --private=$(if $(filter 1,$(PRIVATE)),true,false)

.PHONY: test
test: plane ## Run vet, unit, CEL and the main journeys on a real API server: some eight minutes on two cores, and then what a change reaches. `make proof` has the race detector and long stories
	$(LATER) go vet $(PKG)
	all=$$(go list $(PKG)); all=$$(grep -E '$(LONGEST)' <<<"$$all" || true; grep -vE '$(LONGEST)' <<<"$$all" || true); \
	$(TESTSUM) -p $(P) -timeout 40m $(ARGS) $$all
	if [ '$(PKG)' = ./... ]; then go -C tools test ./image; fi

# What is proved at length: all, or some of these with commas between. ARGS goes to each.
WHAT ?= all
# SHARE=3 plays a third of the long stories, and of the packages that run under the race detector, as SEED draws them: .ci/run has forty minutes, and each run draws another third.
SHARE ?= 1
SEED ?= $(shell date +%s)
# The lines of standard input that are drawn; the same for the same seed on every machine.
DRAWN := while read -r name; do if [ $$(( $$(printf '%s %s' $(SEED) "$$name" | cksum | cut -d' ' -f1) / 7 % $(SHARE) )) -eq 0 ]; then echo "$$name"; fi; done
# The folders with stories that -long plays.
TOLD := git grep -l 'poundlock/test/stories"' -- '*_test.go' | xargs -n1 dirname | sort -u
PROOFS := race stories walk deletions chaos platforms rollouts neighbours providers private restarts raced-stories fuzz
comma := ,

.PHONY: proof
proof: plane ## Prove at length what `make test` plays in part: WHAT=race,stories,walk,deletions,chaos,platforms,rollouts,neighbours,providers,private,restarts,raced-stories,fuzz (all: some hours)
	@if [ $(SHARE) -gt 1 ]; then echo "One in $(SHARE) of what is long is played, drawn by SEED=$(SEED): set SEED and SHARE to draw the same again"; fi
	@for what in $(if $(filter all,$(WHAT)),$(PROOFS),$(subst $(comma), ,$(WHAT))); do $(MAKE) --no-print-directory proof-$$what; done

# The race detector wherever anything is concurrent; without a SHARE, in long stories too. .ci/run plays a third of this.
proof-race: plane
	all=$$(go list $(PKG) | $(DRAWN)); all=$$(grep -E '$(LONGEST)' <<<"$$all" || true; grep -vE '$(LONGEST)' <<<"$$all" || true); \
	raced=$$(grep -vE '$(NOUNS)|$(STORIES)|$(ALONE)|^$$' <<<"$$all" || true); \
	alone=$$(grep -E '$(ALONE)' <<<"$$all" || true); \
	failed=0; \
	if [ -n "$$alone" ]; then $(TESTSUM) -race -p $(P) -timeout 40m -run '$(TOGETHER)' $(ARGS) $$alone -long || failed=1; fi; \
	long=$$(grep -E -f <($(TOLD) | sed 's,.*,poundlock/&$$,') <<<"$$raced" || true); \
	rest=$$(grep -vxF "$$long" <<<"$$raced" || true); \
	if [ -n "$$long" ]; then $(TESTSUM) -race -p $(P) -timeout 40m $(ARGS) $$long $(if $(filter 1,$(SHARE)),-long) || failed=1; fi; \
	if [ -n "$$rest" ]; then $(TESTSUM) -race -p $(P) -timeout 40m $(ARGS) $$rest || failed=1; fi; \
	exit $$failed

# The stories that `make test` leaves out: each test that calls stories.Long or Times, or that has a part which does (PARTLY; test/stories holds it complete). .ci/run plays this, too.
PARTLY := TestMirror|TestOnAnAPIServer|TestQuickWalks|TestPlanted
proof-stories: plane
	files=$$(git grep -l 'poundlock/test/stories"' -- '*_test.go'); \
	long=$$({ tr '|' '\n' <<<'$(PARTLY)'; awk '/^func /{name=""} match($$0,/^func Test[A-Za-z0-9_]*/){name=substr($$0,6,RLENGTH-5)} /stories\.(Long|Times)\(/&&name!=""{print name}' $$files; } | sort -u | $(DRAWN) | paste -sd'|'); \
	folders=$$($(TOLD) | sed 's,^,./,'); if [ '$(PKG)' != ./... ]; then folders=$$(go list -f '{{.Dir}}' $(PKG) | sed "s,^$$PWD,.," | grep -xF "$$folders" || true); fi; \
	if [ -z "$$folders" ]; then echo "No package of PKG=$(PKG) has long stories: make test PKG=$(PKG) plays all of its tests" >&2; exit 1; fi; \
	$(TESTSUM) -p $(P) -timeout 40m -run "^($$long)$$" $$folders $(or $(ARGS),-long)

# Every state that people, controllers, caches and crashes can lead to.
proof-walk:
	go run ./test/modelcheck $(ARGS)

# Each deletion of a MachineSet in each moment, and of each thing that Machines live in.
proof-deletions: plane
	go test -count=1 -timeout 2h -v -run TestDeletionsOfASet ./test/journeys -long $(or $(ARGS),-complete)
	go test -count=1 -timeout 2h -v -run TestSurroundingsAreDeleted ./test/absent -long $(or $(ARGS),-complete)

# Poundlock killed, cut off and confused at each of its writes, in every story.
proof-chaos: plane
	go test -count=1 -timeout 3h -v ./test/chaos $(or $(ARGS),-complete)

# One story on a stage of each platform, or of those that ON=azure,gcp names; CONTROL_PLANE=3 plays that of a control plane, too.
proof-platforms: plane
	go test -count=1 -timeout 1h -v ./test/platforms -long -on=$(or $(ON),all) -control-plane=$(CONTROL_PLANE) $(ARGS)

# Random worlds of a control plane, twenty times as many as in `make test`, and each write of a rollout cut off.
proof-rollouts: plane
	go test -count=20 -timeout 1h -v -run 'TestWhatIsForecastHappens|TestARolloutComesToItsEnd|WhateverAProviderSpecHas|TestWhatIsKept|TestZeroValues' ./policies/controlplane -long $(ARGS)
	go test -count=1 -timeout 1h -v -run 'TestARolloutIsCutOff|TestARemoval|TestTwoOperators' ./reconcilers/rollout -long $(ARGS)

# The journeys, with OpenShift's own controllers of MachineSets and MachineHealthChecks. They are built at the first time.
proof-neighbours: plane
	go test -count=1 -timeout 2h ./test/journeys -long -real-machine-api $(ARGS)

# All stories of the installer: `make test` plays those that 90 seconds are enough for. Among the others are every provider's real manifests, installed on a platform of each,
# and an upgrade of Cluster API's core with its real conversion.
proof-providers: plane
	go test -count=1 -timeout 2h -v ./reconcilers/install -long $(or $(ARGS),-complete)

# Private types: the real core manager of an older and a newer release, a cluster's whole life with real providers, AWS's until it needs a cloud, a thousand objects of each kind through the conversion shim and the real converter (from a new
# seed, which the log has), five minutes of load on the proxy, and alerts and dashboard by promtool. What is missing is built at the first time.
proof-private: plane
	go test -count=1 -timeout 2h -v ./test/private -long -complete $(ARGS)
	go test -count=1 -timeout 1h -v ./test/private/converter -objects=1000 $(ARGS)
	go test -count=1 -timeout 1h -v -run TestRules ./manifests/privatetypes -promtool=build $(ARGS)

# Ten rolling restarts of the Deployment under load, in each way to a certificate.
proof-restarts: plane
	go test -count=1 -timeout 1h -v ./test/installed -long $(or $(ARGS),-complete)

# The stories with the race detector in the binaries that they play, and what works in one goroutine.
proof-raced-stories: plane
	go test -count=1 -race -p 1 -timeout 2h $$(go list ./... | grep -E '$(ALONE)' | grep -v "/install$$") -long $(ARGS)
	go test -count=1 -race -timeout 2h -skip '^TestUpgradeOfRealCore$$|^TestRealProviders$$/^([^a]|azure)' ./reconcilers/install -long $(or $(ARGS),-complete)
	go test -count=1 -race -p 1 -timeout 2h $$(go list ./... | grep -E '$(STORIES)' | grep -vE '$(PLAYED)') $(ARGS)
	go test -count=1 -race -p 1 -timeout 4h $$(go list ./... | grep -E '$(PLAYED)|/(certs|reconcilers/mirror|test/(simulation|capimanager))$$') -long $(ARGS)

# Each fuzz target for a time: ARGS=-fuzztime=10m.
proof-fuzz:
	@git grep -o -E '^func Fuzz[A-Za-z]+' -- '*_test.go' | while IFS=: read -r file target; do \
		echo "$$(dirname "$$file"): $${target#func }"; go test -run '^$$' -fuzz "^$${target#func }$$" $(or $(ARGS),-fuzztime=1m) "./$$(dirname "$$file")"; \
	done

.PHONY: unit
unit: ## Run the tests that need no control plane, without the race detector: half a minute on two cores once all is compiled
	$(TESTSUM) -short -p $(P) $(ARGS) $(PKG)

.PHONY: lint
lint: ## Run golangci-lint, show that it refuses what the layout forbids, and check the words that are not used
	$(LATER) $(TOOL) golangci-lint run --allow-parallel-runners $(PKG)
	test/lint/planted.sh
	@test/lint/words.sh
	@! git ls-files '*.go' | grep -E '$(NOUNS)' | xargs grep -nE '^\s+go [a-zA-Z.]+\(' || { echo 'these packages are tested without the race detector (NOUNS), so they start no goroutine'; exit 1; }

.PHONY: generate
generate: ## Write what is generated: manifests, CRD overlays, reference pages
	go generate $(PKG)

.PHONY: verify
verify: ## Fail if something generated is out of date
	@test/lint/verify.sh

.PHONY: bench
bench: ## Measure a PATCH with and without Poundlock, how a fleet is mirrored, an installation, a bundle, and a request with and without the proxy, as ratios
	go run ./test/bench $(ARGS)
	go run ./test/bench -mirror 500
	go test -run '^$$' -bench . ./webhooks ./conversion/...
	go test -run '^$$' -bench Install -benchtime 1x ./reconcilers/install
	go test -run '^$$' -bench Bundle -benchtime 3x ./cmd/poundlock/bundling
	go test -run '^$$' -bench . -benchtime 1x ./proxy
	go test -run '^$$' -bench . ./translation

# With the flags of tests and stages, so that after `make run` it links and compiles nothing. CGO_ENABLED=0 or -trimpath would compile a thousand packages anew.
.PHONY: build
build: ## Build the binaries into bin/, for this machine; those of `make krew` and `make image` are static
	$(COMPILED) go build $(LINKED) -o bin/ ./cmd/...

.PHONY: krew
krew: ## Build the plugin for all platforms, with the manifest for krew, into bin/krew (VERSION=v0.1.0)
	go run ./cmd/kubectl-poundlock/krew/release.go -version '$(VERSION)' $(ARGS)

.PHONY: image
image: ## Build the container image without a container engine, into bin/image (VERSION=v0.1.0; PUSH=registry.example.com/poundlock sends it there)
	go -C tools run ./image -version '$(VERSION)' -push '$(PUSH)' $(ARGS)

# The embedded control plane and Cluster API's core manager, in the user's cache, once per pinned version.
.PHONY: plane
plane:
	@go run ./test/build/cmd/plane

.PHONY: vuln
vuln: ## Look for known vulnerabilities, where the database can be reached
	@code=0; output=$$($(TOOL) govulncheck $(PKG) 2>&1) || code=$$?; \
	if [ $$code -ne 0 ] && [ $$code -ne 3 ] && grep -qE 'fetching vulnerabilities|vuln\.go\.dev' <<<"$$output"; then \
		echo "vuln: not checked: the vulnerability database (vuln.go.dev) cannot be reached from here"; exit 0; \
	fi; echo "$$output"; exit $$code

.PHONY: clean
clean: ## Remove what was built here (the control plane stays in the user's cache folder)
	rm -rf bin .cache .run
