# `make demo` shows the main job. `make test` runs everything that CI runs. Both work on a fresh machine with Rust: cargo
# fetches what they need. Each stage of `make test` prints its time.

CARGO ?= cargo
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Where cargo builds.
TARGET = $(abspath $(or $(CARGO_TARGET_DIR),target))
# Debian's C compiler builds the TLS provider; nothing else outside cargo is needed.
INSTALL_CC = command -v cc >/dev/null || { apt-get update -qq && apt-get install -y -qq gcc libc6-dev make; }

# $(call stage,name,command): runs the command and prints how long it took.
define stage
@start=$$SECONDS; echo "==> $(1)"; $(2); echo "==> $(1): $$((SECONDS - start)) s"
endef

.PHONY: help
help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: setup
setup:
	@$(INSTALL_CC)

.PHONY: demo
demo: setup ## Build quickly, then match two sample tables in two processes over TLS, and show the rows
	$(CARGO) build --profile quick-build --locked --package vesica-cli
	@$(TARGET)/quick-build/vesica quickstart

# The profile of releases; PROFILE=release keeps line numbers.
PROFILE ?= dist

.PHONY: dist
dist: setup ## Pack a release into target/packages: the program, shell completions, manual pages
	$(CARGO) build --profile $(PROFILE) --locked --package vesica-cli
	packaging/archive.sh $(TARGET)/$(PROFILE)/vesica $(TARGET)/packages

# What builds the wheel; one list of versions, python/tests/requirements.txt, has it.
WHEEL_VENV = $(TARGET)/wheel-venv

.PHONY: wheel
wheel: setup ## Build the Python package as one wheel for every Python from 3.10 on, into target/packages, and try it
	test -x $(WHEEL_VENV)/bin/maturin || { python3 -m venv $(WHEEL_VENV) && $(WHEEL_VENV)/bin/pip install --quiet \
		--disable-pip-version-check "$$(grep '^maturin==' python/tests/requirements.txt)"; }
	python/clean_install.sh "$$(python/wheel.sh $(WHEEL_VENV)/bin/python $(PROFILE) $(TARGET)/packages)"

.PHONY: notebook-test
notebook-test: wheel ## Install the wheel on a clean Debian 12 without a compiler, and run the notebook
	python/clean_debian.sh "$$(ls $(TARGET)/packages/vesica-*.whl)"

.PHONY: test
test: export VESICA_PROGRAM = $(TARGET)/ci/vesica
test: setup fmt-check mutants-fit clippy doc release-test web-test archive-test bench-test python-test ## Run everything that CI runs
	@echo "==> all stages passed"

.PHONY: lint
lint: fmt-check mutants-fit clippy doc ## Check format, clippy and docs, with warnings denied

.PHONY: fmt-check
fmt-check:
	$(call stage,fmt,$(CARGO) fmt --all --check)

.PHONY: clippy
clippy: setup
	$(call stage,clippy,$(CARGO) clippy --locked --workspace --all-targets --profile ci -- -D warnings)

.PHONY: doc
doc: setup ## Build the documentation of all crates, with warnings denied
	$(call stage,doc,RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --profile ci --no-deps --document-private-items)

.PHONY: release-test
release-test: setup
	$(call stage,test,$(CARGO) test --locked --workspace --profile ci)

.PHONY: archive-test
archive-test: release-test
	$(call stage,archive,packaging/archive.sh $(TARGET)/ci/vesica $(TARGET)/ci/packages)

.PHONY: bench-test
bench-test: release-test ## Test the tables of benchmarks/: definitions, order, records, pages
	$(call stage,tables,VESICA_PROGRAM=$(TARGET)/ci/vesica python3 -m unittest discover -s benchmarks/tests)

.PHONY: python-test
python-test: setup ## Test the Python package: a clean environment, the wheel, its tests (with a database of their own)
	$(call stage,python,CARGO=$(CARGO) python/test.sh)

# What runs WebAssembly outside of a browser. With Debian's, modules are those of Node 18.
INSTALL_NODE = command -v node >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs; }
WASM = --target wasm32-unknown-unknown

.PHONY: web-test
web-test: setup ## Test the core on WebAssembly, in Node: the kernels, and both roles with the digests of the native program
	@$(INSTALL_NODE)
	rustup target add wasm32-unknown-unknown
	$(call stage,web kernels,$(CARGO) test --locked --profile ci $(WASM) --package vesica-kernels --lib)
	$(call stage,web build,$(CARGO) build --locked --profile ci $(WASM) --package vesica-web --features testing)
	$(call stage,web digests,node crates/web/tests/wire_digests.mjs $(TARGET)/wasm32-unknown-unknown/ci/wire-digests.wasm)

# Debian's cross compiler for ARM and its emulator.
INSTALL_ARM = command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64-static >/dev/null || { \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
	qemu-user-static; }

.PHONY: arm-test
arm-test: setup ## Test the ARM build under emulation: unit tests, and whole runs, also with x86-64; not part of `make test`
	@$(INSTALL_ARM)
	rustup target add aarch64-unknown-linux-gnu
	$(CARGO) build --profile quick-build --locked --package vesica-cli
	CARGO=$(CARGO) packaging/arm_test.sh $(TARGET)/quick-build/vesica

# Debian's cross compiler for Windows, the assembler that the TLS provider takes there, and Wine.
INSTALL_WINDOWS = command -v x86_64-w64-mingw32-gcc >/dev/null && command -v nasm >/dev/null && \
	test -x /usr/lib/wine/wine64 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends \
	gcc-mingw-w64-x86-64 nasm wine64; }

.PHONY: windows-test
windows-test: setup ## Test the Windows build under Wine: whole runs, also with Linux; not part of `make test`
	@$(INSTALL_WINDOWS)
	rustup target add x86_64-pc-windows-gnu
	$(CARGO) build --profile quick-build --locked --package vesica-cli
	CARGO=$(CARGO) packaging/windows_test.sh $(TARGET)/quick-build/vesica

.PHONY: container-test
container-test: ## Build the container image and match two tables in two containers; without an engine, in clean roots
	packaging/container_test.sh

.PHONY: page-test
page-test: setup ## Open reports, plans and inspected tables as pages in a browser, on phone, desktop and paper; not part of `make test`
	$(CARGO) build --profile quick-build --locked --package vesica-cli
	packaging/page_test.sh $(TARGET)/quick-build/vesica $(TARGET)/page-test

.PHONY: test-spark
test-spark: setup ## Test the Python package on Spark, with executors of their own; needs Java 17 (PYSPARK=version)
	$(call stage,spark,CARGO=$(CARGO) python/test-spark.sh)

# The instrumentation that libFuzzer reads, as flags of the stable compiler. (`--target` keeps build programs free of it.)
SANCOV = -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares
HOST = $$(rustc -vV | sed -n 's/^host: //p')
FUZZ_DIR = $(abspath target)/fuzz
FUZZ_SECONDS ?= 60
# libFuzzer is C++.
INSTALL_CXX = command -v c++ >/dev/null || { apt-get update -qq && apt-get install -y -qq g++; }

.PHONY: fuzz-build
fuzz-build: setup
	@$(INSTALL_CXX)
	cp Cargo.lock fuzz/libfuzzer/Cargo.lock
	RUSTFLAGS='$(SANCOV)' $(CARGO) build --release --manifest-path fuzz/libfuzzer/Cargo.toml \
		--target-dir $(FUZZ_DIR) --target $(HOST)

.PHONY: fuzz-smoke
fuzz-smoke: fuzz-build ## Run each fuzz target, guided by coverage, for FUZZ_SECONDS (60); findings go to target/fuzz
	@program=$(FUZZ_DIR)/$(HOST)/release/libfuzzer; \
	for target in $$(VESICA_FUZZ_TARGET=list $$program); do \
		mkdir -p $(FUZZ_DIR)/corpus/$$target fuzz/corpus/$$target; echo "==> fuzz $$target"; \
		VESICA_FUZZ_TARGET=$$target VESICA_FUZZ_SEEDS=$(FUZZ_DIR)/corpus/$$target $$program; \
		VESICA_FUZZ_TARGET=$$target $$program -max_total_time=$(FUZZ_SECONDS) -timeout=30 -rss_limit_mb=2048 \
			-malloc_limit_mb=1024 -max_len=16384 -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=$(FUZZ_DIR)/found-$$target- $(FUZZ_DIR)/corpus/$$target fuzz/corpus/$$target; \
		rmdir --ignore-fail-on-non-empty fuzz/corpus/$$target; \
	done

.PHONY: mutants
mutants: setup ## Apply each mutant of mutants/*.toml to a copy; fails if a test misses one (MUTANTS=words for some); long
	CARGO=$(CARGO) python3 mutants/run.py $(MUTANTS)

.PHONY: mutants-fit
mutants-fit:
	$(call stage,mutants fit,python3 mutants/run.py --fit)

# Checks that `make test` leaves out: each takes minutes, or a tool or a toolchain of its own (CONTRIBUTING.md).

.PHONY: package-test
package-test: setup ## Pack the crates, install the program from them in a clean folder, and run its quickstart
	$(call stage,packages,CARGO=$(CARGO) packaging/packages_test.sh $(TARGET)/packages-test)

MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: msrv
msrv: setup ## Check that all crates build with the oldest Rust that Cargo.toml names
	@rustup run $(MSRV) cargo --version >/dev/null 2>&1 || rustup toolchain install $(MSRV) --no-self-update --profile minimal
	$(call stage,msrv,rustup run $(MSRV) cargo check --workspace --locked --target-dir $(TARGET)/msrv)

INSTALL_DENY = command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny

.PHONY: deny
deny: ## Check licences, sources and duplicates of all dependencies with cargo-deny
	@$(INSTALL_DENY)
	$(call stage,deny,cargo-deny --locked --workspace check bans licenses sources)

.PHONY: advisories
advisories: ## Check all dependencies against RustSec's advisories, which come from github.com
	@$(INSTALL_DENY)
	$(call stage,advisories,cargo-deny --locked --workspace check advisories)

# What the public items are compared with: the last tag, or the commit before while there is none.
BASELINE ?= $(shell git describe --tags --abbrev=0 2>/dev/null || echo HEAD~1)

.PHONY: semver
semver: setup ## Compare the public items of the libraries with those at BASELINE, by default the last tag
	command -v cargo-semver-checks >/dev/null || $(CARGO) install --locked cargo-semver-checks
	$(call stage,semver,cargo-semver-checks semver-checks --workspace --baseline-rev $(BASELINE))

# Miri reports no vector instructions, so it runs the portable kernels, and views of blocks as bytes. Left out are tests
# that take it long: hashes of AES, many draws, or many lengths.
MIRI_TESTS ?= block:: byte_masks:: short_keys:: levels:: encrypts_as_fips_197 combs_multiply

.PHONY: miri
miri: setup ## Run the tests of the portable kernels under Miri, which finds undefined behaviour (nightly Rust)
	@cargo +nightly miri --version >/dev/null 2>&1 || rustup toolchain install nightly --no-self-update \
		--profile minimal --component miri --component rust-src
	$(call stage,miri,MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked --package vesica-kernels --lib \
		--target-dir $(TARGET)/miri -- $(MIRI_TESTS))

.PHONY: parameters
parameters: setup ## Derive every security parameter again; fails if the code has another (FULL=1: also what takes minutes)
	$(CARGO) run --quiet --locked --profile ci --package vesica-protocols --example parameters -- $(if $(FULL),--full)

.PHONY: constant-time
constant-time: setup ## Measure whether times depend on secrets, in MINUTES (8); ROWS='words' for some rows; needs an idle machine
	$(CARGO) run --quiet --release --locked --package vesica-constant-time -- --minutes $(or $(MINUTES),8) $(ROWS)

.PHONY: bench
bench: setup ## Time the main job with `dh` at 2^20 rows against the floor of its group operations; needs an idle machine
	$(CARGO) build --release --locked --package vesica-cli
	$(CARGO) run --release --locked --package vesica-cli --example main_job -- 20

.PHONY: bench-duckdb
bench-duckdb: setup ## Compare the CPU time of the private join of two files with that of DuckDB's plain join
	$(CARGO) build --release --locked --package vesica-cli
	test -x target/duckdb-venv/bin/python || python3 -m venv target/duckdb-venv
	target/duckdb-venv/bin/pip install --quiet duckdb
	target/duckdb-venv/bin/python benchmarks/duckdb.py

.PHONY: bench-blocks
bench-blocks: setup ## Time the building blocks under criterion, each beside its last run; BLOCKS=name for some of them
	CRITERION_HOME=$(abspath target)/blocks/criterion $(CARGO) bench --locked --package vesica-blocks \
		$(addprefix --bench ,crypto encode gmw ot table) -- $(BLOCKS)

.PHONY: bench-cores
bench-cores: setup ## Time each phase of a job and each role of a protocol alone, with 1, 2, … threads; CORES='ROWS THREADS NAME …'
	$(CARGO) bench --locked --package vesica-blocks --bench cores -- $(CORES)

.PHONY: plots
plots: ## Draw the pictures of a record from its figures; RECORD=folder, by default the last one
	test -x target/plots-venv/bin/python || python3 -m venv target/plots-venv
	target/plots-venv/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	target/plots-venv/bin/python benchmarks/plots.py "$${RECORD:-$$(ls -d benchmarks/record/*/ | tail -n 1)}"

.PHONY: clean
clean:
	$(CARGO) clean
