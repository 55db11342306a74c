# Commands for development; `just` lists them. Every recipe is a plain cargo command.

_list:
    @just --list --unsorted

# Run the example: it prints hello every minute
hello:
    cargo run --release -- up examples/hello.yaml

# Check types in all crates
check:
    cargo check --workspace --all-targets

# Run all tests
test *ARGS:
    cargo test --workspace {{ARGS}}

# Run the quick tests of the pure crates
test-pure:
    cargo test -p punctual-schedule -p punctual-api -p punctual-engine -p punctual-queue -p punctual-lease

# Check formatting, lints, crate edges, banned words and sizes
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo run -p xtask -- tidy

# Run everything that CI runs
ci:
    .ci/run

# Install kubectl, kube-apiserver and the other programs that the end-to-end tests compare with
setup:
    e2e/setup

# Run one end-to-end suite: transcripts, docs, controller, cluster, crd, deploy or upgrade
e2e SUITE *ARGS:
    cargo test -p punctual-e2e --test {{SUITE}} -- {{ARGS}}

# Refresh the facts about Kubernetes' types in crates/api/testdata from the Go modules of Kubernetes
kubernetes-tables:
    e2e/kubernetes-tables

# Run Kubernetes' own CronJob tests against `punctual up` or `punctual controller`: `just upstream controller`
upstream COMMAND *FOCUS:
    e2e/upstream {{COMMAND}} "{{FOCUS}}"

# Record a data directory with this build, for the suite `upgrade` of later versions
record-data-directory:
    cargo build -p punctual-cli
    cargo test -p punctual-e2e --test upgrade -- --bless

# Simulate: `just sim --seeds 1000`, or `just sim --seed 7` for one with its timeline
sim *ARGS:
    cargo run --release -p punctual-sim -- {{ARGS}}

# Show that the simulator finds every deliberate bug
mutants *ARGS:
    cargo run --release -p xtask -- mutate
    cd target/mutants && CARGO_TARGET_DIR=.. cargo run --release -p punctual-sim -- mutants {{ARGS}}

# Fuzz the schedule library
fuzz *ARGS:
    cargo run --release -p xtask -- fuzz {{ARGS}}

# Fuzz the API server
fuzz-server *ARGS:
    cargo run --release -p xtask -- fuzz-server {{ARGS}}

# Run a benchmark: server, burst, programs, load or cluster
bench NAME *ARGS:
    cargo build --profile dist --features jemalloc -p punctual-cli
    cargo run --profile dist -p xtask -- bench {{NAME}} {{ARGS}}

# Compare the schedule library with other cron libraries (needs valgrind)
bench-schedule:
    cargo bench -p punctual-schedule

# Run a soak test: attack, kills, runs or cluster
soak NAME *ARGS:
    cargo build --release -p punctual-cli
    cargo run --release -p punctual-soak -- {{NAME}} {{ARGS}}

# Build the program as it is released
dist:
    cargo build --profile dist --features jemalloc --locked -p punctual-cli
