# SPDX-License-Identifier: Apache-2.0
# The front door: each target is one command of tools/, which also run alone. `make help` lists them.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PREFIX ?= /usr/local
PYTHON_VENV := .venv/bin/python

.PHONY: all build setup quickstart test check interop bench sanitize fuzz wheel install clean help

all: build ## set up the machine and build everything into build/ (the default)

setup: ## install what the build needs (Debian packages, .venv); does nothing when all is there
	@tools/setup

build: setup ## compile: build/fluss, libfluss, the Python package
	@tools/build

quickstart: build ## run the quickstart on an embedded server
	@$(PYTHON_VENV) examples/quickstart.py

test: build ## unit tests, Python tests, the acceptance kit
	@$(PYTHON_VENV) tools/run_tests

check: build ## layers, format, lint, headers, exported names, types
	@$(PYTHON_VENV) tools/check

interop: build ## our client and server against the official ones
	@tests/interop/run

bench: build ## our pair and the official pair, side by side
	@bench/run

sanitize: setup ## the tests under address and undefined-behaviour sanitizers
	@tools/sanitize

fuzz: ## a minute of fuzzing (SECONDS_EACH=n for longer)
	@tools/setup --fuzz
	@tools/fuzz

wheel: setup ## a Python wheel for this machine, with all libraries inside, into dist/
	@tools/wheel

install: build ## install command, libraries and header below PREFIX
	@meson install -C build --no-rebuild --quiet $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

clean: ## remove what was built; .venv stays
	rm -rf build build-asan build-tsan build-fuzz

help:
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
