# Commands for people. `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help run up down status test test-faults test-update test-solana test-x402 fuzz mutants bench fmt lint check sqlx env clean-services

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

run: ## the sandbox in the foreground, with one invoice from order to webhook; Ctrl-C stops all
	@scripts/run.sh

up: ## the sandbox in the background; returns when healthy and writes .run/stack.env
	@scripts/up.sh

down: ## stop what `make up` started; data stays
	@scripts/down.sh

status: ## show which servers are used and where
	@scripts/services.sh status

test: ## all tests, after finding or starting the servers they need
	@scripts/test.sh

test-update: ## a rolling update under load, and back again: FROM=commit, by default the last release
	@scripts/test-update.sh $(FROM)

test-faults: ## every fault of tests/faults.md, with a table of the results
	@scripts/test-faults.sh

test-solana: ## invoices paid on Solana's own virtual machine (surfpool, fetched once; Linux on x86-64)
	@scripts/test.sh --workspace --test solana

test-x402: ## verdicts on payments of programs beside those of x402-rs, which is built first
	@scripts/test.sh --workspace --test x402

fuzz: ## coverage-guided fuzzing of untrusted input, some seconds per target (SECONDS_EACH=n)
	@scripts/fuzz.sh

mutants: ## mutation tests of the pure rules; each mutant must fail a test (45 minutes)
	@scripts/mutants.sh

bench: ## benchmarks, each beside a limit measured in the same run (ONLY=word, ROUNDS=n)
	@scripts/bench.sh

fmt: ## format the code
	@cargo fmt --all

lint: ## formatting and clippy, as CI runs them
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets --locked -- -D warnings

check: ## everything that CI runs
	@.ci/run

sqlx: ## refresh .sqlx, the query data that lets a clone build without a database
	@scripts/sqlx.sh

env: ## write .env, and secrets/ with random passwords, for docker compose up
	@scripts/env.sh

clean-services: ## remove this clone's databases, queues and private servers, and nothing else
	@scripts/down.sh
	@scripts/services.sh clean
