//! One HTTP/1.1 connection.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};
use serde_json::Value;

use super::{ApiResponse, ApiTarget};

/// More than any list that a test makes.
const RESPONSE_BYTES_MAX: usize = 256 * 1024 * 1024;
const READ_BYTES: usize = 16 * 1024;
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection and the bytes that were received but not consumed yet.
#[derive(Debug)]
pub(super) struct HttpConnection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    buffer: Vec<u8>,
}

/// How the body of a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    /// After this number of bytes.
    Bytes(usize),
    /// With an empty chunk.
    Chunked,
}

/// The status line and headers of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) length: BodyLength,
}

/// The result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketRead {
    /// The buffer has more bytes.
    Received,
    /// Nothing came within the read timeout.
    TimedOut,
    /// The server closed the connection.
    Closed,
}

impl HttpConnection {
    pub(super) fn open(target: &ApiTarget, timeout: Duration) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(&target.address).context("connecting")?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(timeout))?;
        let name = ServerName::try_from("127.0.0.1")?;
        let session = ClientConnection::new(Arc::clone(&target.tls), name)?;
        Ok(HttpConnection { stream: StreamOwned::new(session, socket), buffer: Vec::new() })
    }

    pub(super) fn set_read_timeout(&self, timeout: Duration) -> anyhow::Result<()> {
        Ok(self.stream.sock.set_read_timeout(Some(timeout))?)
    }

    pub(super) fn write(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(request)?;
        Ok(self.stream.flush()?)
    }

    /// Sends a request and reads the whole response.
    pub(super) fn exchange(&mut self, request: &[u8]) -> anyhow::Result<ApiResponse> {
        self.write(request)?;
        let head = self.read_head()?;
        let body = match head.length {
            BodyLength::Bytes(length) => self.read_bytes(length)?,
            BodyLength::Chunked => self.read_chunks()?,
        };
        // Some responses are plain text: `/readyz` returns `ok`.
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| text());
        Ok(ApiResponse { status: head.status, body })
    }

    pub(super) fn read_head(&mut self) -> anyhow::Result<ResponseHead> {
        const END: &[u8] = b"\r\n\r\n";
        loop {
            if let Some(at) = find(&self.buffer, END) {
                let head: Vec<u8> = self.buffer.drain(..at + END.len()).collect();
                return ResponseHead::parse(&String::from_utf8_lossy(&head));
            }
            self.read_more()?;
        }
    }

    /// Takes the next chunk off the buffer if it is complete. The last chunk is empty.
    pub(super) fn take_chunk(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        const END: &[u8] = b"\r\n";
        let Some(at) = find(&self.buffer, END) else { return Ok(None) };
        let size = String::from_utf8_lossy(self.buffer.get(..at).unwrap_or_default()).into_owned();
        let size = usize::from_str_radix(&size, 16).context("the size of a chunk")?;
        ensure!(size <= RESPONSE_BYTES_MAX, "a chunk of {size} bytes");
        let start = at + END.len();
        let end = start + size;
        if self.buffer.len() < end + END.len() {
            return Ok(None);
        }
        let chunk = self.buffer.get(start..end).unwrap_or_default().to_vec();
        self.buffer.drain(..end + END.len());
        Ok(Some(chunk))
    }

    /// Waits for more bytes.
    pub(super) fn read(&mut self) -> anyhow::Result<SocketRead> {
        let mut bytes = [0; READ_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(0) => Ok(SocketRead::Closed),
            Ok(count) => {
                self.buffer.extend_from_slice(bytes.get(..count).unwrap_or_default());
                Ok(SocketRead::Received)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(SocketRead::TimedOut)
            }
            // A killed server sends no TLS close_notify.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(SocketRead::Closed),
            Err(error) => Err(error.into()),
        }
    }

    fn read_more(&mut self) -> anyhow::Result<()> {
        ensure!(self.buffer.len() <= RESPONSE_BYTES_MAX, "the response does not end");
        match self.read()? {
            SocketRead::Received => Ok(()),
            SocketRead::TimedOut => bail!("no response in time"),
            SocketRead::Closed => bail!("the server closed the connection"),
        }
    }

    fn read_bytes(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.read_more()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn read_chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            match self.take_chunk()? {
                Some(chunk) if chunk.is_empty() => return Ok(body),
                Some(chunk) => body.extend(chunk),
                None => self.read_more()?,
            }
        }
    }
}

impl ResponseHead {
    fn parse(text: &str) -> anyhow::Result<ResponseHead> {
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let header = |name: &str| {
            let mut headers = text.lines().filter_map(|line| line.split_once(':'));
            headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
        };
        let length = if header("Transfer-Encoding") == Some("chunked") {
            BodyLength::Chunked
        } else {
            let bytes = header("Content-Length").unwrap_or("0");
            BodyLength::Bytes(bytes.parse().context("Content-Length")?)
        };
        Ok(ResponseHead { status: status.context("no status")?, length })
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Reads a page over plain HTTP: its status and its text.
pub(crate) fn get_page(address: &str, path: &str) -> anyhow::Result<(u16, String)> {
    let mut socket = TcpStream::connect(address).with_context(|| address.to_owned())?;
    socket.set_read_timeout(Some(PAGE_TIMEOUT))?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    socket.read_to_string(&mut response)?;
    let Some((head, body)) = response.split_once("\r\n\r\n") else {
        bail!("not an HTTP response: {response}")
    };
    Ok((ResponseHead::parse(head)?.status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_determines_the_end_of_the_body() {
        for (text, want) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", (200, BodyLength::Bytes(5))),
            (
                "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n",
                (201, BodyLength::Chunked),
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", (204, BodyLength::Bytes(0))),
        ] {
            let head = ResponseHead::parse(text).unwrap();
            assert_eq!((head.status, head.length), want, "{text}");
        }
        assert!(ResponseHead::parse("nonsense").is_err());
    }
}
