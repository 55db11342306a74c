//! A TCP proxy between a controller and the server that can lose or delay bytes. It does not interpret
//! them: TLS is end to end.

use std::{
    net::{Ipv4Addr, SocketAddr},
    ops::RangeInclusive,
    thread,
    time::Duration,
};

use anyhow::Context;
use punctual_e2e::load::clock;
use punctual_testing::TestRng;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::sleep,
};

use crate::timing::random_millis;

const READ_BYTES: usize = 16 * 1024;
/// Milliseconds by which bytes are delayed.
const DELAY_MS: RangeInclusive<u64> = 200..=3_000;
/// Milliseconds between a lost response and the close of its connection.
const CLOSE_AFTER_MS: RangeInclusive<u64> = 0..=500;
/// Milliseconds in which a new connection still receives responses. Otherwise no TLS handshake would
/// succeed and no request would reach the server.
const GRACE_MS: RangeInclusive<u64> = 50..=500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxyMode {
    Forward,
    /// Connections are closed. New ones are closed or never answered.
    Disconnect,
    /// Bytes are delayed in both directions.
    Delay,
    /// Requests are forwarded. The first response is lost and its connection is closed.
    LoseResponses,
}

/// A proxy on the loopback interface. Dropping it closes all connections.
#[derive(Debug)]
pub(super) struct FaultProxy {
    address: SocketAddr,
    mode: watch::Sender<ProxyMode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

impl FaultProxy {
    /// Starts a proxy in a thread of its own, so that other work does not delay it.
    pub(super) fn start(server: SocketAddr, seed: u64) -> anyhow::Result<FaultProxy> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (mode, modes) = watch::channel(ProxyMode::Forward);
        let accept = accept_connections(listener, server, modes, TestRng::new(seed));
        let thread = thread::Builder::new().name("proxy".to_owned());
        // The thread ends when the sender of modes is dropped.
        thread.spawn(move || runtime.block_on(accept)).context("starting a thread")?;
        Ok(FaultProxy { address, mode })
    }

    /// The URL for clients.
    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(super) fn set(&self, mode: ProxyMode) {
        self.mode.send_replace(mode);
    }
}

async fn accept_connections(
    listener: std::net::TcpListener,
    server: SocketAddr,
    mut modes: watch::Receiver<ProxyMode>,
    rng: TestRng,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            changed = modes.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        if let Ok((client, _)) = accepted {
            let rng = TestRng::new(rng.next_u64());
            tokio::spawn(serve_connection(client, server, modes.clone(), rng));
        }
    }
}

async fn serve_connection(
    client: TcpStream,
    server: SocketAddr,
    mut modes: watch::Receiver<ProxyMode>,
    rng: TestRng,
) {
    let mode = *modes.borrow_and_update();
    if mode == ProxyMode::Disconnect {
        if rng.percent(50) {
            let _changed = modes.changed().await;
        }
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
        return;
    }
    let is_losing = mode == ProxyMode::LoseResponses;
    let grace = if is_losing { random_millis(&rng, GRACE_MS) } else { Duration::ZERO };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = ByteForwarder {
        modes: modes.clone(),
        rng: TestRng::new(rng.next_u64()),
        direction: Direction::ToServer,
    };
    let responses = ByteForwarder { modes, rng, direction: Direction::ToClient };
    // If one direction ends, both are closed.
    tokio::select! {
        () = requests.run(from_client, to_server, Duration::ZERO) => {}
        () = responses.run(from_server, to_client, grace) => {}
    }
}

struct ByteForwarder {
    modes: watch::Receiver<ProxyMode>,
    rng: TestRng,
    direction: Direction,
}

impl ByteForwarder {
    /// Forwards bytes until one side closes or the mode forbids it. During the grace period it forwards
    /// in every mode.
    async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, grace: Duration) {
        let grace_end = clock::now() + grace;
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let count = tokio::select! {
                read = from.read(&mut bytes) => read.unwrap_or(0),
                changed = self.modes.changed() => match changed {
                    Ok(()) if *self.modes.borrow() != ProxyMode::Disconnect => continue,
                    _ => return,
                },
            };
            let Some(read) = bytes.get(..count).filter(|read| !read.is_empty()) else { return };
            let is_in_grace = clock::now() < grace_end;
            if !(is_in_grace || self.wait_to_forward().await) || to.write_all(read).await.is_err() {
                return;
            }
        }
    }

    /// Waits as long as the mode delays bytes. Returns whether they are forwarded.
    async fn wait_to_forward(&mut self) -> bool {
        let mode = *self.modes.borrow_and_update();
        match (mode, self.direction) {
            (ProxyMode::Forward, _) | (ProxyMode::LoseResponses, Direction::ToServer) => true,
            (ProxyMode::Disconnect, _) => false,
            (ProxyMode::Delay, _) => {
                let delay = random_millis(&self.rng, DELAY_MS);
                tokio::select! {
                    () = sleep(delay) => true,
                    changed = self.modes.changed() => {
                        changed.is_ok() && *self.modes.borrow() != ProxyMode::Disconnect
                    }
                }
            }
            (ProxyMode::LoseResponses, Direction::ToClient) => {
                sleep(random_millis(&self.rng, CLOSE_AFTER_MS)).await;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
