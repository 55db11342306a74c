//! The attacks. Each uses only the credentials of a viewer, or none, and a bounded number of
//! connections.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use punctual_e2e::{Cluster, load::clock, probe};
use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::pki_types::ServerName};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const LIST: &str = "/apis/batch/v1/cronjobs?includeObject=Object";

/// What clients do to the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attack {
    None,
    SilentConnections,
    SilentTls,
    UnfinishedBodies,
    TableLists,
    UnreadLists,
    AnonymousFlood,
}

pub(super) const ATTACKS: [Attack; 7] = [
    Attack::None,
    Attack::SilentConnections,
    Attack::SilentTls,
    Attack::UnfinishedBodies,
    Attack::TableLists,
    Attack::UnreadLists,
    Attack::AnonymousFlood,
];

impl Attack {
    pub(super) fn name(self) -> &'static str {
        match self {
            Attack::None => "none",
            Attack::SilentConnections => "1500 silent connections",
            Attack::SilentTls => "1100 silent TLS connections",
            Attack::UnfinishedBodies => "1000 unfinished bodies",
            Attack::TableLists => "64 connections of tables",
            Attack::UnreadLists => "200 unread tables",
            Attack::AnonymousFlood => "32 anonymous floods",
        }
    }

    fn connections(self) -> usize {
        match self {
            Attack::None => 0,
            Attack::SilentConnections => 1_500,
            Attack::SilentTls => 1_100,
            Attack::UnfinishedBodies => 1_000,
            Attack::TableLists => 64,
            Attack::UnreadLists => 200,
            Attack::AnonymousFlood => 32,
        }
    }
}

/// The health checks that were made at the end of an attack.
pub(super) struct AttackOutcome {
    answered: usize,
    asked: usize,
}

impl AttackOutcome {
    /// The number of health checks that succeeded, of all.
    pub(super) fn health(&self) -> String {
        format!("{}/{}", self.answered, self.asked)
    }
}

/// A client that attacks one server.
#[derive(Clone)]
pub(super) struct Attacker {
    address: String,
    tls: TlsConnector,
    view_token: Arc<str>,
}

impl Attacker {
    pub(super) fn new(cluster: &Cluster, data_dir: &Path) -> anyhow::Result<Attacker> {
        let path = data_dir.join("pki/view.token");
        let token = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(Attacker {
            address: cluster.address().to_owned(),
            tls: TlsConnector::from(Arc::new(probe::tls_config(&cluster.authority)?)),
            view_token: Arc::from(token.trim()),
        })
    }

    /// Attacks for a time and checks the health of the server meanwhile.
    pub(super) async fn run(&self, attack: Attack, duration: Duration) -> AttackOutcome {
        let mut connections = JoinSet::new();
        for _ in 0..attack.connections() {
            let attacker = self.clone();
            connections.spawn(async move {
                // The server may close a connection at any time; that is its defence.
                let _result = attacker.attack_once(attack).await;
            });
        }
        let start = clock::now();
        let mut outcome = AttackOutcome { answered: 0, asked: 0 };
        while start.elapsed() < duration {
            tokio::time::sleep(Duration::from_millis(500)).await;
            outcome.asked += 1;
            let is_healthy = timeout(HEALTH_TIMEOUT, self.is_healthy()).await;
            outcome.answered += usize::from(is_healthy.is_ok_and(|result| result.unwrap_or(false)));
        }
        connections.shutdown().await;
        outcome
    }

    /// The resident memory of the server.
    pub(super) fn resident_mebibytes(&self, cluster: &Cluster) -> u64 {
        let pages = cluster.pids().into_iter().filter_map(|pid| {
            let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
            text.split(' ').nth(1)?.parse::<u64>().ok()
        });
        pages.sum::<u64>() * 4 / 1024
    }

    async fn connect(&self) -> anyhow::Result<TlsStream<TcpStream>> {
        let connecting = async {
            let socket = TcpStream::connect(&self.address).await?;
            let name = ServerName::try_from("127.0.0.1")?;
            anyhow::Ok(self.tls.connect(name, socket).await?)
        };
        timeout(CONNECT_TIMEOUT, connecting).await?
    }

    async fn is_healthy(&self) -> anyhow::Result<bool> {
        let mut stream = self.connect().await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await?;
        Ok(response.starts_with(b"HTTP/1.1 200"))
    }

    /// One connection of an attack. It ends when the attack ends or the server closes it.
    async fn attack_once(&self, attack: Attack) -> anyhow::Result<()> {
        let token = &self.view_token;
        match attack {
            Attack::None => {}
            Attack::SilentConnections => {
                let mut socket = TcpStream::connect(&self.address).await?;
                socket.read_u8().await?;
            }
            Attack::SilentTls => {
                self.connect().await?.read_u8().await?;
            }
            Attack::UnfinishedBodies => {
                let mut stream = self.connect().await?;
                let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
                     Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
                );
                stream.write_all(head.as_bytes()).await?;
                std::future::pending::<()>().await;
            }
            Attack::TableLists => self.send_repeatedly(&table_request(token)).await?,
            Attack::UnreadLists => {
                let mut stream = self.connect().await?;
                stream.write_all(table_request(token).as_bytes()).await?;
                std::future::pending::<()>().await;
            }
            Attack::AnonymousFlood => {
                let request = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(8_000));
                self.send_repeatedly(&request).await?;
            }
        }
        Ok(())
    }

    /// Sends a request again and again, and reads the responses.
    async fn send_repeatedly(&self, request: &str) -> anyhow::Result<()> {
        let (mut reader, writer) = tokio::io::split(self.connect().await?);
        let mut buffer = vec![0; 64 << 10];
        let reading = async {
            while reader.read(&mut buffer).await? > 0 {}
            anyhow::Ok(())
        };
        tokio::select! {
            result = write_repeatedly(writer, request) => result,
            result = reading => result,
        }
    }
}

async fn write_repeatedly(
    mut writer: impl AsyncWrite + Unpin,
    request: &str,
) -> anyhow::Result<()> {
    loop {
        writer.write_all(request.as_bytes()).await?;
    }
}

fn table_request(token: &str) -> String {
    format!(
        "GET {LIST} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nAccept: {TABLE}\r\n\r\n"
    )
}
