//! The supervisor as a separate program: only the command `punctual supervise`.

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // The first argument is `supervise`, as in the main program.
    punctual_runner::supervise(std::env::args_os().skip(2))
}
