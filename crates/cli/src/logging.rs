//! Sets up logging: which messages are logged, and where they go.

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};

use crate::printer::Printer;

/// Prefixes of the libraries that log every request and connection at the level `debug`.
const LIBRARIES: [&str; 5] = ["h2", "hyper", "kube", "rustls", "tower"];

/// Starts logging to `printer` with a filter such as `info` or `punctual_server=debug`.
pub(crate) fn init(filter: &str, printer: Printer) -> anyhow::Result<()> {
    let filter = parse_filter(filter).with_context(|| {
        format!("{filter:?} is not a valid log filter; use for example info, warn or debug")
    })?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(printer)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    subscriber.try_init().map_err(|error| anyhow::anyhow!("could not start logging: {error}"))
}

/// Parses a filter. The levels `debug` and `trace` do not apply to libraries, unless the filter names
/// a library, such as `debug,hyper=debug`. The library h2 logs errors only: it warns of each connection
/// with many reset streams, so any client could fill the log.
fn parse_filter(filter: &str) -> Result<EnvFilter, ParseError> {
    let levels = filter.split(',').filter_map(|directive| directive.trim().parse().ok());
    let most_verbose: LevelFilter = levels.max().unwrap_or(LevelFilter::OFF);
    // A later directive replaces an earlier one for the same library.
    let mut quiet = String::new();
    if most_verbose >= LevelFilter::DEBUG {
        quiet = LIBRARIES.map(|library| format!("{library}=info,")).concat();
    }
    if most_verbose > LevelFilter::ERROR {
        quiet.push_str("h2=error,");
    }
    EnvFilter::try_new(format!("{quiet}{filter}"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// The words that a filter lets through.
    fn logged(filter: &str) -> Vec<String> {
        let buffer = Arc::new(Mutex::new(Vec::new()));
        let writer = {
            let buffer = buffer.clone();
            move || LineBuffer(buffer.clone())
        };
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(parse_filter(filter).unwrap())
            .with_writer(writer)
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "punctual_controller::cron_jobs", "own-debug");
            tracing::info!(target: "punctual_controller::cron_jobs", "own-info");
            tracing::debug!(target: "hyper_util::client", "hyper-debug");
            tracing::debug!(target: "kube_client::client", "kube-debug");
            tracing::debug!(target: "h2::codec", "h2-debug");
            tracing::debug!(target: "rustls::client", "rustls-debug");
            tracing::debug!(target: "tower::buffer", "tower-debug");
            tracing::warn!(target: "h2::codec", "h2-warn");
        });
        let text = String::from_utf8(buffer.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| line.split(' ').next_back().unwrap().to_owned()).collect()
    }

    struct LineBuffer(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for LineBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn libraries_are_quiet_at_debug_unless_the_filter_names_them() {
        for filter in ["debug", "trace", "DEBUG", "4", "warn,debug"] {
            assert_eq!(logged(filter), ["own-debug", "own-info"], "{filter}");
        }
        for (filter, library) in [
            ("debug,hyper=debug", "hyper-debug"),
            ("hyper_util=trace,debug", "hyper-debug"),
            ("debug,kube_client=debug", "kube-debug"),
            ("debug,rustls=debug", "rustls-debug"),
        ] {
            let want = ["own-debug", "own-info", library];
            assert_eq!(logged(filter), want, "{filter}");
        }
    }

    #[test]
    fn clients_cannot_fill_the_log_with_warnings_of_h2() {
        assert_eq!(logged("info"), ["own-info"]);
        assert_eq!(logged("info,h2=warn"), ["own-info", "h2-warn"]);
        assert_eq!(logged("warn,h2=info"), ["h2-warn"]);
    }

    #[test]
    fn other_filters_are_used_as_they_are() {
        assert_eq!(logged("error"), [""; 0]);
        assert_eq!(logged("off"), [""; 0]);
        assert_eq!(logged("punctual_controller=debug"), ["own-debug", "own-info"]);
        assert_eq!(logged("h2=debug"), ["h2-debug", "h2-warn"]);
        assert!(parse_filter("punctual_server=loud").is_err());
    }
}
