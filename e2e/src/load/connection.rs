//! An asynchronous HTTP/1.1 connection over TLS with little overhead, for thousands of connections.
//! Tests that do not measure use the blocking [`Client`](crate::Client).

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use crate::{Cluster, probe};

/// A server that takes longer for one response hangs.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);

/// The address, trust and token of a server.
#[derive(Clone)]
pub struct ConnectionTarget {
    address: String,
    tls: TlsConnector,
    bearer: HeaderValue,
}

impl ConnectionTarget {
    /// The target of a cluster, with the administrator's token.
    pub fn of(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(ConnectionTarget {
            address: cluster.address().to_owned(),
            tls: TlsConnector::from(Arc::new(probe::tls_config(&cluster.authority)?)),
            bearer: HeaderValue::from_str(&format!("Bearer {}", cluster.token))?,
        })
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
        let mut connection = Connection { sender: connect(target).await?, target: target.clone() };
        connection.get("/version").await?;
        Ok(connection)
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
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "127.0.0.1")
            .header(CONTENT_TYPE, media_type)
            .header(AUTHORIZATION, &self.target.bearer)
            .body(Full::new(body))?;
        let response = timeout(RESPONSE_TIMEOUT, self.sender.send_request(request)).await;
        response.context("no response")?.context("sending a request")
    }

    /// Creates an object.
    pub async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<()> {
        let response = self.send(Method::POST, path, body).await?;
        let (status, body) = collect(response).await?;
        ensure!(status == StatusCode::CREATED, "{status}: {}", String::from_utf8_lossy(&body));
        Ok(())
    }

    /// Changes an object by a merge patch.
    pub async fn patch(&mut self, path: &str, patch: &str) -> anyhow::Result<()> {
        let response =
            self.send(Method::PATCH, path, Bytes::copy_from_slice(patch.as_bytes())).await?;
        let (status, body) = collect(response).await?;
        ensure!(status == StatusCode::OK, "{path}: {status}: {}", String::from_utf8_lossy(&body));
        Ok(())
    }

    /// Reads and decodes an object or a list.
    pub async fn get_json<T: DeserializeOwned>(&mut self, path: &str) -> anyhow::Result<T> {
        let body = self.get(path).await?;
        serde_json::from_slice(&body).with_context(|| path.to_owned())
    }

    /// Reads the whole body of a response.
    pub async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        match collect(response).await? {
            (StatusCode::OK, body) => Ok(body),
            (status, body) => bail!("{path}: {status}: {}", String::from_utf8_lossy(&body)),
        }
    }
}

async fn connect(target: &ConnectionTarget) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let socket = TcpStream::connect(&target.address).await.context("connecting")?;
    socket.set_nodelay(true)?;
    let name = ServerName::try_from("127.0.0.1")?;
    let stream = target.tls.connect(name, socket).await.context("TLS handshake")?;
    let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with the connection; the pending request returns its errors.
    tokio::spawn(driver);
    Ok(sender)
}

async fn collect(response: Response<Incoming>) -> anyhow::Result<(StatusCode, Bytes)> {
    let status = response.status();
    let body =
        timeout(RESPONSE_TIMEOUT, response.into_body().collect()).await.context("no body")??;
    Ok((status, body.to_bytes()))
}
