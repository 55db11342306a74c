//! Log lines, on standard error.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

/// Begins to log what passes the filter, such as `info` or `punctual_server=debug`.
pub(crate) fn start(filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .with_context(|| format!("{filter:?} is no log filter; try info, debug or warn"))?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    subscriber.try_init().map_err(|error| anyhow::anyhow!("the log could not be started: {error}"))
}
