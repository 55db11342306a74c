//! An asynchronous HTTP/1.1 connection with little overhead, for thousands of connections. Tests that
//! do not measure use the blocking [`Client`](crate::Client).

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use crate::{Cluster, probe};

/// A server that takes longer for one response hangs.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);

/// The address, trust and token of a server.
#[derive(Clone)]
pub struct ConnectionTarget {
    address: String,
    /// `None` for plain HTTP.
    tls: Option<TlsConnector>,
    /// `None` for anonymous requests.
    bearer: Option<HeaderValue>,
}

impl ConnectionTarget {
    /// The target of a cluster, with the administrator's token.
    pub fn from_cluster(cluster: &Cluster) -> anyhow::Result<Self> {
        ConnectionTarget::with_authority(cluster.address(), &cluster.authority)?
            .with_token(&cluster.token)
    }

    /// A target for anonymous requests over TLS. The authority is PEM.
    pub(crate) fn with_authority(address: &str, authority: &str) -> anyhow::Result<Self> {
        let tls = TlsConnector::from(Arc::new(probe::tls_config(authority)?));
        Ok(ConnectionTarget { address: address.to_owned(), tls: Some(tls), bearer: None })
    }

    /// A target for anonymous requests over plain HTTP.
    pub(crate) fn plain(address: &str) -> Self {
        ConnectionTarget { address: address.to_owned(), tls: None, bearer: None }
    }

    /// The same target with another token.
    pub(crate) fn with_token(self, token: &str) -> anyhow::Result<Self> {
        let bearer = Some(HeaderValue::from_str(&format!("Bearer {token}"))?);
        Ok(ConnectionTarget { bearer, ..self })
    }
}

/// A connection. It reconnects for the next request after a server closed it.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    target: ConnectionTarget,
}

impl Connection {
    /// Connects and sends one request, so that later measurements do not include the handshake.
    pub async fn open(target: &ConnectionTarget) -> anyhow::Result<Self> {
        let mut connection = Connection::connect(target).await?;
        connection.get("/version").await?;
        Ok(connection)
    }

    pub(crate) async fn connect(target: &ConnectionTarget) -> anyhow::Result<Self> {
        Ok(Connection { sender: connect(target).await?, target: target.clone() })
    }

    /// Sends a request and returns the response before its body.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        if self.sender.is_closed() {
            self.sender = connect(&self.target).await?;
        }
        let media_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "127.0.0.1")
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, media_type);
        if let Some(bearer) = &self.target.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        let request = request.body(Full::new(body))?;
        let response = timeout(RESPONSE_TIMEOUT, self.sender.send_request(request)).await;
        response.context("no response")?.context("sending a request")
    }

    /// Sends a request and returns the status and the whole body of the response.
    pub(crate) async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let response = self.send(method, path, body).await?;
        let status = response.status();
        let body = timeout(RESPONSE_TIMEOUT, response.into_body().collect()).await;
        Ok((status, body.context("no body")??.to_bytes()))
    }

    async fn exchange_ok(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<Bytes> {
        let (status, body) = self.exchange(method, path, body).await?;
        ensure!(status.is_success(), "{path}: {status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    /// Creates an object.
    pub async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<()> {
        self.exchange_ok(Method::POST, path, body).await.map(drop)
    }

    /// Changes an object by a merge patch.
    pub async fn patch(&mut self, path: &str, patch: &str) -> anyhow::Result<()> {
        self.exchange_ok(Method::PATCH, path, patch.to_owned().into()).await.map(drop)
    }

    /// Reads and decodes an object or a list.
    pub async fn get_json<T: DeserializeOwned>(&mut self, path: &str) -> anyhow::Result<T> {
        let body = self.get(path).await?;
        serde_json::from_slice(&body).with_context(|| path.to_owned())
    }

    /// Reads the whole body of a response.
    pub async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        self.exchange_ok(Method::GET, path, Bytes::new()).await
    }
}

/// An open watch, read line by line. Dropping it closes it.
#[derive(Debug)]
pub struct WatchLines {
    body: Incoming,
    buffer: BytesMut,
}

impl WatchLines {
    /// Watches a list. The path has all parameters of the watch except `watch` itself.
    pub async fn open(target: &ConnectionTarget, path: &str) -> anyhow::Result<WatchLines> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}watch=true");
        let mut connection = Connection::connect(target).await?;
        let response = connection.send(Method::GET, &path, Bytes::new()).await?;
        let status = response.status();
        ensure!(status == StatusCode::OK, "watching {path}: {}", status.as_u16());
        Ok(WatchLines { body: response.into_body(), buffer: BytesMut::new() })
    }

    /// The next event with its line break; `None` if the server has closed the watch.
    pub async fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.buffer.split_to(end + 1).freeze()));
            }
            match self.body.frame().await {
                Some(frame) => {
                    self.buffer.extend_from_slice(&frame?.into_data().unwrap_or_default());
                }
                None => return Ok(None),
            }
        }
    }
}

async fn connect(target: &ConnectionTarget) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let socket = TcpStream::connect(&target.address).await.context("connecting")?;
    socket.set_nodelay(true)?;
    let Some(tls) = &target.tls else {
        return handshake(socket).await;
    };
    let name = ServerName::try_from("127.0.0.1")?;
    handshake(tls.connect(name, socket).await.context("TLS handshake")?).await
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with the connection; the pending request returns its errors.
    tokio::spawn(driver);
    Ok(sender)
}
