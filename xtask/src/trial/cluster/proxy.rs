//! The way from one controller to the server: bytes go through it, or do not.
//!
//! It knows nothing of what it passes on: TLS goes from end to end.

use std::{
    net::{Ipv4Addr, SocketAddr},
    thread,
    time::Duration,
};

use anyhow::Context;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::sleep,
};

use crate::dice::Dice;
use punctual_e2e::load::clock;

const READ_BYTES: usize = 16 * 1024;
/// Milliseconds that bytes are held back.
const DELAY_MS: (u64, u64) = (200, 3_000);
/// Milliseconds between a reply that is lost and the end of its connection.
const SILENCE_MS: (u64, u64) = (0, 500);
/// Milliseconds of a connection that is opened while replies are lost: else nobody could ask anything.
const GRACE_MS: (u64, u64) = (50, 500);

/// What becomes of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Pass,
    /// Connections are closed; new ones are refused, or held and never answered.
    Cut,
    /// Held back for a while, each way.
    Delay,
    /// Requests go through; what comes back is lost, and then the connection is closed.
    LoseReplies,
}

/// A listener on the loopback. Dropping it closes all connections.
#[derive(Debug)]
pub(super) struct Proxy {
    address: SocketAddr,
    mode: watch::Sender<Mode>,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

impl Proxy {
    /// Starts one in a thread of its own, so that nothing else here holds it up.
    pub(super) fn start(server: SocketAddr, seed: u64) -> anyhow::Result<Proxy> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (mode, modes) = watch::channel(Mode::Pass);
        let thread = thread::Builder::new().name("proxy".to_owned());
        // It ends when the sender is gone.
        thread
            .spawn(move || runtime.block_on(accept(listener, server, modes, Dice(seed))))
            .context("starting a thread")?;
        Ok(Proxy { address, mode })
    }

    /// Where it listens, as a client is told.
    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(super) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

async fn accept(
    listener: std::net::TcpListener,
    server: SocketAddr,
    mut modes: watch::Receiver<Mode>,
    mut dice: Dice,
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
            tokio::spawn(connect(client, server, modes.clone(), Dice(dice.roll())));
        }
    }
}

async fn connect(
    client: TcpStream,
    server: SocketAddr,
    mut modes: watch::Receiver<Mode>,
    mut dice: Dice,
) {
    let mode = *modes.borrow_and_update();
    if mode == Mode::Cut {
        // Whoever is held hears nothing until the way is free again, and then that it was for nothing.
        if dice.chance(50) {
            let _changed = modes.changed().await;
        }
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
        return;
    }
    let grace =
        if mode == Mode::LoseReplies { between(&mut dice, GRACE_MS) } else { Duration::ZERO };
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let there = Pump { modes: modes.clone(), dice: Dice(dice.roll()), way: Way::There };
    let back = Pump { modes, dice, way: Way::Back };
    // Either end closes both.
    tokio::select! {
        () = there.run(from_client, to_server, Duration::ZERO) => {}
        () = back.run(from_server, to_client, grace) => {}
    }
}

struct Pump {
    modes: watch::Receiver<Mode>,
    dice: Dice,
    way: Way,
}

impl Pump {
    /// Passes bytes on until either side ends, or it must not go on. During the grace all goes through.
    async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, grace: Duration) {
        let grace_ends = clock::now() + grace;
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let count = tokio::select! {
                read = from.read(&mut bytes) => read.unwrap_or(0),
                changed = self.modes.changed() => match changed {
                    Ok(()) if *self.modes.borrow() != Mode::Cut => continue,
                    _ => return,
                },
            };
            let Some(read) = bytes.get(..count).filter(|read| !read.is_empty()) else { return };
            let is_new = clock::now() < grace_ends;
            if !(is_new || self.lets_through().await) || to.write_all(read).await.is_err() {
                return;
            }
        }
    }

    /// Whether bytes may go on, after having waited for as long as they must.
    async fn lets_through(&mut self) -> bool {
        let mode = *self.modes.borrow_and_update();
        match (mode, self.way) {
            (Mode::Pass, _) | (Mode::LoseReplies, Way::There) => true,
            (Mode::Cut, _) => false,
            (Mode::Delay, _) => {
                let delay = between(&mut self.dice, DELAY_MS);
                tokio::select! {
                    () = sleep(delay) => true,
                    changed = self.modes.changed() => changed.is_ok() && *self.modes.borrow() != Mode::Cut,
                }
            }
            (Mode::LoseReplies, Way::Back) => {
                sleep(between(&mut self.dice, SILENCE_MS)).await;
                false
            }
        }
    }
}

/// A duration out of a range of milliseconds.
pub(super) fn between(dice: &mut Dice, (least, most): (u64, u64)) -> Duration {
    Duration::from_millis(least + dice.below(most - least + 1))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    /// A server that repeats what it hears, and tells how often it heard something.
    fn echo() -> (SocketAddr, std::sync::mpsc::Receiver<usize>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (address, (heard, hearing)) =
            (listener.local_addr().unwrap(), std::sync::mpsc::channel());
        thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let heard = heard.clone();
                thread::spawn(move || {
                    let mut bytes = [0; 64];
                    while let Ok(count @ 1..) = socket.read(&mut bytes) {
                        heard.send(count).unwrap();
                        let _gone = socket.write_all(&bytes[..count]);
                    }
                });
            }
        });
        (address, hearing)
    }

    fn ask(socket: &mut TcpStream) -> Option<u8> {
        socket.write_all(b"x").ok()?;
        let mut byte = [0];
        socket.read_exact(&mut byte).ok().map(|()| byte[0])
    }

    #[test]
    fn bytes_go_through_until_the_way_is_cut_and_again_after_that() {
        let (server, _heard) = echo();
        let proxy = Proxy::start(server, 1).unwrap();
        let mut socket = TcpStream::connect(proxy.address).unwrap();
        assert_eq!(ask(&mut socket), Some(b'x'));
        proxy.set(Mode::Cut);
        assert_eq!(ask(&mut socket), None);
        proxy.set(Mode::Pass);
        assert_eq!(ask(&mut TcpStream::connect(proxy.address).unwrap()), Some(b'x'));
    }

    #[test]
    fn a_request_is_heard_though_its_reply_is_lost() {
        let (server, heard) = echo();
        let proxy = Proxy::start(server, 1).unwrap();
        let mut socket = TcpStream::connect(proxy.address).unwrap();
        assert_eq!((ask(&mut socket), heard.recv().unwrap()), (Some(b'x'), 1));
        proxy.set(Mode::LoseReplies);
        assert_eq!((ask(&mut socket), heard.recv().unwrap()), (None, 1));
    }

    #[test]
    fn what_is_delayed_comes_in_the_end() {
        let (server, _heard) = echo();
        let proxy = Proxy::start(server, 1).unwrap();
        let mut socket = TcpStream::connect(proxy.address).unwrap();
        assert_eq!(ask(&mut socket), Some(b'x'));
        proxy.set(Mode::Delay);
        socket.write_all(b"y").unwrap();
        proxy.set(Mode::Pass);
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"y");
    }
}
