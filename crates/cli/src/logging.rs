//! Log setup.

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Starts logging to `writer` with a filter such as `info` or `punctual_server=debug`.
pub(crate) fn init<W>(filter: &str, writer: W) -> anyhow::Result<()>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(filter).with_context(|| {
        format!("{filter:?} is not a valid log filter; use for example info, warn or debug")
    })?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    subscriber.try_init().map_err(|error| anyhow::anyhow!("could not start logging: {error}"))
}
