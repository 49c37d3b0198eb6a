# The commands of this repository. Each target that runs something first installs what is missing
# (scripts/setup.sh), so that any of them works as the first command on a fresh clone.
# Not a build system: cargo builds.

CARGO ?= cargo
# A separate target folder can be given in the environment (CARGO_TARGET_DIR).
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
SLOWPATH := $(TARGET_DIR)/release/slowpath

.DEFAULT_GOAL := help
.PHONY: help setup build web test demo bench bench-overhead lint check generate fuzz-smoke agents test-agents test-browser test-jaeger clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Install the Debian packages that are missing
	@sh scripts/setup.sh

web: setup ## Build the browser application that `slowpath serve` shows (needs Node 20)
	@sh scripts/web.sh

build: web ## Build slowpath (target/release/slowpath)
	$(CARGO) build --release --package slowpath-cli

test: web ## Everything that CI checks: lint, checks of the repository, tests, a minute of fuzzing
	@sh scripts/test.sh

demo: build ## Record a small workload that has something to find, and explain it
	@SLOWPATH="$(abspath $(SLOWPATH))" sh examples/demo/run.sh

bench: build ## Measure against the peers, side by side (takes minutes)
	$(CARGO) run --release --package slowpath-benches -- run --slowpath $(SLOWPATH)

bench-overhead: build ## Measure what recording costs a service (three quarters of an hour; can be interrupted; needs Go)
	$(CARGO) run --release --package slowpath-benches -- overhead --slowpath $(SLOWPATH)

lint: ## Formatting and clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

check: ## Arrows between crates, headers, links, generated files
	$(CARGO) xtask check

generate: ## Rewrite the generated files
	$(CARGO) xtask generate

fuzz-smoke: setup ## Fuzz every parser for a bounded time (FUZZ_SECONDS, 60 by default)
	@sh scripts/fuzz-smoke.sh

# Agents of languages whose tools are missing here say so and are skipped by their own Makefiles.
AGENTS := $(patsubst %/Makefile,%,$(wildcard agents/*/Makefile))

agents: setup ## Build the agents that tell of spans and of Redis from inside applications
	@for agent in $(AGENTS); do $(MAKE) --no-print-directory -C $$agent || exit 1; done

# Each by itself, so that make may run several at a time: they wait more than they compute.
AGENT_TESTS := $(AGENTS:agents/%=test-agent-%)
.PHONY: $(AGENT_TESTS)
test-agents: $(AGENT_TESTS) ## Test the agents in real applications (downloads what these need)

$(AGENT_TESTS): test-agent-%: agents
	@echo "== agents/$*"
	@$(MAKE) --no-print-directory -C agents/$* test

test-browser: web ## Test the browser application, with the `slowpath` that `make test` has built
	@sh scripts/web-test.sh "$(TARGET_DIR)/debug/slowpath"

test-jaeger: build ## Send an export to a real Jaeger and ask it back (builds Jaeger at first, for minutes)
	@SLOWPATH="$(abspath $(SLOWPATH))" sh examples/jaeger/run.sh

clean: ## Remove everything that was built or recorded here
	$(CARGO) clean
	rm -rf .cache *-recording benches/data examples/demo/build
