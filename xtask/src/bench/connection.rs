//! A client as light as it can be: HTTP/1.1 over TLS, kept alive, one request at a time.

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
use punctual_e2e::{Cluster, probe};
use serde::de::DeserializeOwned;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

/// A server that takes longer for one answer has hung.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// What is needed to connect.
#[derive(Clone)]
pub(crate) struct Target {
    address: String,
    tls: TlsConnector,
    bearer: HeaderValue,
}

impl Target {
    pub(crate) fn of(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Target {
            address: cluster.address().to_owned(),
            tls: TlsConnector::from(Arc::new(probe::tls_config(&cluster.authority)?)),
            bearer: HeaderValue::from_str(&format!("Bearer {}", cluster.token))?,
        })
    }
}

/// A connection. Servers close one that is idle for long; it is opened again when it is needed.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    target: Target,
}

impl Connection {
    /// Connects and has one answer, so that what is measured later is no handshake.
    pub(crate) async fn open(target: &Target) -> anyhow::Result<Self> {
        let mut connection = Connection { sender: connect(target).await?, target: target.clone() };
        connection.get("/version").await?;
        Ok(connection)
    }

    /// Sends a request and gives the answer's head, with the body still to come.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        if self.sender.is_closed() {
            self.sender = connect(&self.target).await?;
        }
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "127.0.0.1")
            .header(CONTENT_TYPE, media)
            .header(AUTHORIZATION, &self.target.bearer)
            .body(Full::new(body))?;
        let answer = timeout(ANSWER_WITHIN, self.sender.send_request(request)).await;
        answer.context("no answer")?.context("sending a request")
    }

    /// Creates an object.
    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<()> {
        let answer = self.send(Method::POST, path, body).await?;
        let (status, body) = collect(answer).await?;
        ensure!(status == StatusCode::CREATED, "{status}: {}", String::from_utf8_lossy(&body));
        Ok(())
    }

    /// Changes an object by a merge patch.
    pub(crate) async fn merge(&mut self, path: &str, patch: &str) -> anyhow::Result<()> {
        let answer =
            self.send(Method::PATCH, path, Bytes::copy_from_slice(patch.as_bytes())).await?;
        let (status, body) = collect(answer).await?;
        ensure!(status == StatusCode::OK, "{path}: {status}: {}", String::from_utf8_lossy(&body));
        Ok(())
    }

    /// Reads something whole, as far as it is of interest.
    pub(crate) async fn read<T: DeserializeOwned>(&mut self, path: &str) -> anyhow::Result<T> {
        let body = self.get(path).await?;
        serde_json::from_slice(&body).with_context(|| path.to_owned())
    }

    /// Reads something whole.
    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        let answer = self.send(Method::GET, path, Bytes::new()).await?;
        match collect(answer).await? {
            (StatusCode::OK, body) => Ok(body),
            (status, body) => bail!("{path}: {status}: {}", String::from_utf8_lossy(&body)),
        }
    }
}

async fn connect(target: &Target) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let socket = TcpStream::connect(&target.address).await.context("connecting")?;
    socket.set_nodelay(true)?;
    let name = ServerName::try_from("127.0.0.1")?;
    let stream = target.tls.connect(name, socket).await.context("TLS handshake")?;
    let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the connection; errors reach whoever waits for an answer.
    tokio::spawn(driver);
    Ok(sender)
}

async fn collect(answer: Response<Incoming>) -> anyhow::Result<(StatusCode, Bytes)> {
    let status = answer.status();
    let body = timeout(ANSWER_WITHIN, answer.into_body().collect()).await.context("no body")??;
    Ok((status, body.to_bytes()))
}
