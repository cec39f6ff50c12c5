# `make demo` runs the main job, `make test` everything CI runs. Both work on a fresh machine with Rust on it: cargo
# fetches what they need. Each stage of `make test` prints its time.

CARGO ?= cargo
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Debian's C compiler builds the TLS provider; nothing else outside cargo is needed.
INSTALL_CC = command -v cc >/dev/null || { apt-get update -qq && apt-get install -y -qq gcc libc6-dev make; }

# $(call stage,name,command): runs the command and prints how long it took.
define stage
@start=$$SECONDS; echo "==> $(1)"; $(2); echo "==> $(1): $$((SECONDS - start)) s"
endef

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: setup
setup:
	@$(INSTALL_CC)

.PHONY: demo
demo: setup ## Build, then two sample tables, two processes, TLS on loopback, the matched rows on screen
	$(CARGO) build --release --locked --package vesica-cli
	@target/release/vesica quickstart

.PHONY: test
test: setup fmt-check clippy doc release-test ## All that CI runs
	@echo "==> all stages passed"

.PHONY: lint
lint: fmt-check clippy doc ## Format, clippy and docs, warnings denied

.PHONY: fmt-check
fmt-check:
	$(call stage,fmt,$(CARGO) fmt --all --check)

.PHONY: clippy
clippy: setup
	$(call stage,clippy,$(CARGO) clippy --locked --workspace --all-targets --release -- -D warnings)

.PHONY: doc
doc: setup ## The library's documentation, warnings denied
	$(call stage,doc,RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --document-private-items)

.PHONY: release-test
release-test: setup
	$(call stage,test,$(CARGO) test --locked --workspace --release)

.PHONY: bench
bench: setup ## The main job at 2^20 rows against its floor; wants a machine that does nothing else
	$(CARGO) build --release --locked --package vesica-cli
	$(CARGO) run --release --locked --package vesica-cli --example main_job -- 20

.PHONY: clean
clean:
	$(CARGO) clean
