//! One connection: TLS below, HTTP/1.1 above.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};
use serde_json::Value;

use super::{ANSWER_WITHIN, Answer, Target};

/// More than any list that a test makes.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;
const READ_BYTES: usize = 16 * 1024;

/// A connection, and what has come and was not taken yet.
#[derive(Debug)]
pub(super) struct Wire {
    stream: StreamOwned<ClientConnection, TcpStream>,
    come: Vec<u8>,
}

/// How the body of an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// After so many bytes.
    Known(usize),
    /// With an empty chunk.
    Chunked,
}

/// The first lines of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) length: Length,
}

/// What reading gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Come {
    Bytes,
    /// Nothing within the time given.
    Nothing,
    /// There will be no more.
    End,
}

impl Wire {
    pub(super) fn open(target: &Target) -> anyhow::Result<Wire> {
        let socket = TcpStream::connect(&target.address).context("connecting")?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(ANSWER_WITHIN))?;
        let name = ServerName::try_from("127.0.0.1")?;
        let session = ClientConnection::new(Arc::clone(&target.tls), name)?;
        Ok(Wire { stream: StreamOwned::new(session, socket), come: Vec::new() })
    }

    /// How long to wait for bytes from now on.
    pub(super) fn set_patience(&self, patience: Duration) -> anyhow::Result<()> {
        Ok(self.stream.sock.set_read_timeout(Some(patience))?)
    }

    pub(super) fn write(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(request)?;
        Ok(self.stream.flush()?)
    }

    /// Sends a request and reads the whole answer.
    pub(super) fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Answer> {
        self.write(request)?;
        let head = self.head()?;
        let body = match head.length {
            Length::Known(len) => self.bytes(len)?,
            Length::Chunked => self.chunks()?,
        };
        // Not everything is JSON: `/readyz` says `ok`.
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| text());
        Ok(Answer { status: head.status, body })
    }

    pub(super) fn head(&mut self) -> anyhow::Result<Head> {
        const END: &[u8] = b"\r\n\r\n";
        loop {
            if let Some(at) = find(&self.come, END) {
                let head: Vec<u8> = self.come.drain(..at + END.len()).collect();
                return Head::parse(&String::from_utf8_lossy(&head));
            }
            self.must_read()?;
        }
    }

    /// The next chunk, if all of it has come. The empty one is the last.
    pub(super) fn chunk(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        const END: &[u8] = b"\r\n";
        let Some(at) = find(&self.come, END) else { return Ok(None) };
        let size = String::from_utf8_lossy(self.come.get(..at).unwrap_or_default()).into_owned();
        let size = usize::from_str_radix(&size, 16).context("the size of a chunk")?;
        ensure!(size <= ANSWER_BYTES_MAX, "a chunk of {size} bytes");
        let (start, end) = (at + END.len(), at + END.len() + size);
        if self.come.len() < end + END.len() {
            return Ok(None);
        }
        let chunk = self.come.get(start..end).unwrap_or_default().to_vec();
        self.come.drain(..end + END.len());
        Ok(Some(chunk))
    }

    /// Waits for more bytes.
    pub(super) fn read(&mut self) -> anyhow::Result<Come> {
        let mut bytes = [0; READ_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(0) => Ok(Come::End),
            Ok(count) => {
                self.come.extend_from_slice(bytes.get(..count).unwrap_or_default());
                Ok(Come::Bytes)
            }
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(Come::Nothing)
            }
            // A server that is killed says no goodbye.
            Err(why) if why.kind() == ErrorKind::UnexpectedEof => Ok(Come::End),
            Err(why) => Err(why.into()),
        }
    }

    fn must_read(&mut self) -> anyhow::Result<()> {
        ensure!(self.come.len() <= ANSWER_BYTES_MAX, "the answer does not end");
        match self.read()? {
            Come::Bytes => Ok(()),
            Come::Nothing => bail!("no answer within {ANSWER_WITHIN:?}"),
            Come::End => bail!("the connection was closed"),
        }
    }

    fn bytes(&mut self, len: usize) -> anyhow::Result<Vec<u8>> {
        while self.come.len() < len {
            self.must_read()?;
        }
        Ok(self.come.drain(..len).collect())
    }

    fn chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            match self.chunk()? {
                Some(chunk) if chunk.is_empty() => return Ok(body),
                Some(chunk) => body.extend(chunk),
                None => self.must_read()?,
            }
        }
    }
}

impl Head {
    fn parse(text: &str) -> anyhow::Result<Head> {
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let header = |name: &str| {
            let mut headers = text.lines().filter_map(|line| line.split_once(':'));
            headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
        };
        let length = match (header("Transfer-Encoding"), header("Content-Length")) {
            (Some("chunked"), _) => Length::Chunked,
            (_, len) => Length::Known(len.unwrap_or("0").parse().context("Content-Length")?),
        };
        Ok(Head { status: status.context("no status")?, length })
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_says_how_the_body_ends() {
        for (text, want) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", (200, Length::Known(5))),
            ("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n", (201, Length::Chunked)),
            ("HTTP/1.1 204 No Content\r\n\r\n", (204, Length::Known(0))),
        ] {
            let head = Head::parse(text).unwrap();
            assert_eq!((head.status, head.length), want, "{text}");
        }
        assert!(Head::parse("nonsense").is_err());
    }
}
