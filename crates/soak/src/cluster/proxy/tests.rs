//! Tests of the proxy in each mode.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::*;

/// A proxy to a server that returns the bytes that it receives and reports each read.
fn start() -> (FaultProxy, mpsc::Receiver<usize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, reads) = mpsc::channel();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut bytes = [0; 64];
                while let Ok(count @ 1..) = socket.read(&mut bytes) {
                    let _result = sender.send(count);
                    let _result = socket.write_all(&bytes[..count]);
                }
            });
        }
    });
    (FaultProxy::start(address, 1).unwrap(), reads)
}

/// Sends a byte and returns the response; `None` if the connection is closed.
fn exchange(socket: &mut TcpStream) -> Option<u8> {
    socket.write_all(b"x").ok()?;
    let mut byte = [0];
    socket.read_exact(&mut byte).ok().map(|()| byte[0])
}

#[test]
fn bytes_are_forwarded_before_and_after_a_disconnect() {
    let (proxy, _reads) = start();
    let mut socket = TcpStream::connect(proxy.address).unwrap();
    assert_eq!(exchange(&mut socket), Some(b'x'));
    proxy.set(ProxyMode::Disconnect);
    assert_eq!(exchange(&mut socket), None);
    proxy.set(ProxyMode::Forward);
    assert_eq!(exchange(&mut TcpStream::connect(proxy.address).unwrap()), Some(b'x'));
}

#[test]
fn a_request_reaches_the_server_when_its_response_is_lost() {
    let (proxy, reads) = start();
    let mut socket = TcpStream::connect(proxy.address).unwrap();
    assert_eq!((exchange(&mut socket), reads.recv().unwrap()), (Some(b'x'), 1));
    proxy.set(ProxyMode::LoseResponses);
    assert_eq!((exchange(&mut socket), reads.recv().unwrap()), (None, 1));
}

#[test]
fn delayed_bytes_arrive() {
    let (proxy, _reads) = start();
    let mut socket = TcpStream::connect(proxy.address).unwrap();
    assert_eq!(exchange(&mut socket), Some(b'x'));
    proxy.set(ProxyMode::Delay);
    socket.write_all(b"y").unwrap();
    proxy.set(ProxyMode::Forward);
    let mut byte = [0];
    socket.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"y");
}
