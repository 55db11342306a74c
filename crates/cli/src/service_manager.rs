//! Implements systemd's notification protocol: readiness, stopping and watchdog keep-alives. Does nothing
//! without systemd.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The socket to systemd and the interval of its watchdog.
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog_interval: Option<Duration>,
}

impl ServiceManager {
    /// Finds the service manager in the environment. A failure is logged and otherwise ignored.
    pub(crate) fn find() -> ServiceManager {
        let socket = variable("NOTIFY_SOCKET").map(|address| connect(&address)).transpose();
        let socket = socket.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot notify the service manager");
            None
        });
        ServiceManager { socket, watchdog_interval: watchdog_interval() }
    }

    /// Reports that the process serves requests.
    pub(crate) fn notify_ready(&self) {
        self.send("READY=1");
    }

    /// Reports that the process is about to exit.
    pub(crate) fn notify_stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Sends a keep-alive at twice the required rate, as long as `is_healthy` returns `true` within
    /// that time. Returns when `stop` is cancelled.
    pub(crate) async fn run_watchdog<F: Future<Output = bool>>(
        &self,
        is_healthy: impl Fn() -> F,
        stop: CancellationToken,
    ) {
        let Some(timeout) = self.watchdog_interval else { return stop.cancelled().await };
        let interval = timeout / 2;
        loop {
            if tokio::time::timeout(interval, is_healthy()).await == Ok(true) {
                self.send("WATCHDOG=1");
            } else {
                tracing::error!(
                    "the health check failed; without a success within {timeout:?} the service manager \
                     restarts this process"
                );
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
        }
    }

    fn send(&self, state: &str) {
        if let Some((socket, address)) = &self.socket
            && let Err(error) = socket.send_to_addr(state.as_bytes(), address)
        {
            tracing::warn!(%error, state, "cannot notify the service manager");
        }
    }
}

/// Returns the file of a credential that systemd passes to this process.
pub(crate) fn credential(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(variable("CREDENTIALS_DIRECTORY")?).join(name);
    path.exists().then_some(path)
}

/// Returns the interval of the watchdog. The variable may be meant for another process.
fn watchdog_interval() -> Option<Duration> {
    let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
    let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    number("WATCHDOG_USEC").filter(|micros| is_ours && *micros > 0).map(Duration::from_micros)
}

/// The protocol of systemd uses environment variables.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// An address that begins with `@` is in the abstract namespace.
fn connect(address: &OsString) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match address.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(address)?,
    };
    let socket = UnixDatagram::unbound()?;
    // A service manager that does not read must not block this process.
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(directory: &std::path::Path) -> (UnixDatagram, ServiceManager) {
        let path = directory.join("notify");
        let receiver = UnixDatagram::bind(&path).unwrap();
        receiver.set_nonblocking(true).unwrap();
        let socket = Some(connect(&path.into()).unwrap());
        let watchdog_interval = Some(Duration::from_secs(10));
        (receiver, ServiceManager { socket, watchdog_interval })
    }

    fn receive(receiver: &UnixDatagram) -> Option<String> {
        let mut buffer = [0; 100];
        let len = receiver.recv(&mut buffer).ok()?;
        Some(String::from_utf8(buffer[..len].to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_are_sent_only_while_the_process_is_healthy() {
        let directory = tempfile::tempdir().unwrap();
        let (receiver, manager) = pair(directory.path());
        manager.notify_ready();
        assert_eq!(receive(&receiver).as_deref(), Some("READY=1"));
        let stop = CancellationToken::new();
        let healthy = manager.run_watchdog(|| async { true }, stop.clone());
        assert!(tokio::time::timeout(Duration::from_secs(12), healthy).await.is_err());
        for _ in 0..3 {
            assert_eq!(receive(&receiver).as_deref(), Some("WATCHDOG=1"));
        }
        let hanging = manager.run_watchdog(std::future::pending::<bool>, stop.clone());
        assert!(tokio::time::timeout(Duration::from_secs(30), hanging).await.is_err());
        assert_eq!(receive(&receiver), None);
        stop.cancel();
        manager.run_watchdog(|| async { false }, stop).await;
        manager.notify_stopping();
        assert_eq!(receive(&receiver).as_deref(), Some("STOPPING=1"));
    }
}
