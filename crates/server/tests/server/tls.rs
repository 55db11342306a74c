//! Tests of TLS: generated certificates, tokens, client certificates, and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::AsyncReadExt as _;
use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use punctual_server::{
    ADMIN_GROUP, CertificateStatus, Config, Server, ServerEnv, ServerIdentity, ServerLimits,
    SystemEnv, User, VIEW_GROUP,
};
use punctual_store::{Options, Store};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::kube::check_client;

pub(crate) struct TlsServer {
    folder: TempDir,
    identity: ServerIdentity,
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl TlsServer {
    async fn start() -> TlsServer {
        TlsServer::limited(ServerLimits::default()).await
    }

    pub(crate) async fn limited(limits: ServerLimits) -> TlsServer {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let identity = ServerIdentity::open(&folder.path().join("pki"), &SystemEnv).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tls = Arc::new(identity.tls(&[], SystemEnv.now()).unwrap());
        let config = Config {
            tokens: identity.tokens(),
            limits,
            revocations: Some(identity.revocations()),
            ..Config::new(store)
        };
        let server = Server::start(config).await.unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(punctual_server::serve(server, listener, tls, stop.clone()));
        TlsServer { folder, identity, address, stop, serving }
    }

    /// Returns the token of a role: `admin` or `view`.
    pub(crate) fn token(&self, role: &str) -> String {
        let path = self.folder.path().join("pki").join(format!("{role}.token"));
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// Opens a connection that offers these protocols.
    pub(crate) async fn connect(&self, protocols: &[&str]) -> TlsStream<TcpStream> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.identity.ca_pem.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        let socket = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap()
    }

    fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(crate) async fn client(&self) -> kube::Client {
        client(&self.identity.admin_kubeconfig(&self.url())).await
    }

    /// Returns a client with a certificate signed by an authority.
    async fn client_of(&self, user: &User, authority: &ServerIdentity) -> kube::Client {
        let signed = authority.client_kubeconfig(&self.url(), user, SystemEnv.now()).unwrap();
        client(&punctual_server::Kubeconfig { ca_pem: self.identity.ca_pem.clone(), ..signed })
            .await
    }
}

async fn client(kubeconfig: &punctual_server::Kubeconfig) -> kube::Client {
    let config = Kubeconfig::from_yaml(&kubeconfig.to_yaml()).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(config, &options).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

async fn username(client: &kube::Client) -> Result<String, kube::Error> {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("Content-Type", "application/json")
        .body(body.to_string().into_bytes())
        .unwrap();
    let response: serde_json::Value = client.request(request).await?;
    Ok(response["status"]["userInfo"]["username"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_kubeconfig_is_sufficient_for_a_client() {
    let server = TlsServer::start().await;
    let client = server.client().await;
    assert_eq!(username(&client).await.unwrap(), "admin");
    Box::pin(check_client(client)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_view_kubeconfig_authenticates_the_user_view() {
    let server = TlsServer::start().await;
    let viewer = client(&server.identity.view_kubeconfig(&server.url())).await;
    assert_eq!(username(&viewer).await.unwrap(), "view");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_names_the_user_and_the_role() {
    let server = TlsServer::start().await;
    let admin = server.client_of(&User::new("ada", ADMIN_GROUP), &server.identity).await;
    assert_eq!(username(&admin).await.unwrap(), "ada");
    Box::pin(check_client(admin)).await;
    let viewer = server.client_of(&User::new("vi", VIEW_GROUP), &server.identity).await;
    assert_eq!(username(&viewer).await.unwrap(), "vi");
    let request = http::Request::delete("/api/v1/namespaces/default").body(Vec::new()).unwrap();
    let refused = viewer.request::<serde_json::Value>(request).await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 403));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_is_refused() {
    let server = TlsServer::start().await;
    let other = TlsServer::start().await;
    let eve = server.client_of(&User::new("eve", ADMIN_GROUP), &other.identity).await;
    assert!(username(&eve).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_closes_its_connections() {
    let server = TlsServer::start().await;
    let client = server.client().await;
    username(&client).await.unwrap();
    server.stop.cancel();
    server.serving.await.unwrap();
    assert!(username(&client).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authority_persists_and_certificates_are_renewed() {
    let server = TlsServer::start().await;
    let pki = server.folder.path().join("pki");
    let certificate = || std::fs::read_to_string(pki.join("server.crt")).unwrap();
    let first = certificate();
    let again = ServerIdentity::open(&pki, &SystemEnv).unwrap();
    assert_eq!(again.ca_pem, server.identity.ca_pem);
    let yaml = |identity: &ServerIdentity| identity.admin_kubeconfig("x").to_yaml();
    assert_eq!(yaml(&again), yaml(&server.identity));
    again.tls(&[], SystemEnv.now()).unwrap();
    assert_eq!(certificate(), first);
    again.tls(&["10.1.2.3".parse().unwrap()], SystemEnv.now()).unwrap();
    assert_ne!(certificate(), first, "another address needs another certificate");
    let late: Timestamp = "2099-01-01T00:00:00Z".parse().unwrap();
    let second = certificate();
    again.tls(&["10.1.2.3".parse().unwrap()], late).unwrap();
    assert_ne!(certificate(), second, "an expired certificate is issued again");
}

#[cfg(unix)]
#[tokio::test]
async fn secret_files_are_readable_only_by_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = TlsServer::start().await;
    let pki = server.folder.path().join("pki");
    for name in ["ca.key", "server.key", "admin.token", "view.token"] {
        let mode = std::fs::metadata(pki.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let kubeconfig = server.folder.path().join("kubeconfig");
    server.identity.admin_kubeconfig(&server.url()).write(&kubeconfig).unwrap();
    assert_eq!(std::fs::metadata(kubeconfig).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_client_certificate_is_rejected_without_a_restart() {
    let server = TlsServer::start().await;
    let user = User::new("alice", ADMIN_GROUP);
    let signed = server.identity.client_kubeconfig(&server.url(), &user, SystemEnv.now()).unwrap();
    assert_eq!(username(&client(&signed).await).await.unwrap(), "alice");
    let find_alice = || {
        let listed = server.identity.certificates(SystemEnv.now()).unwrap();
        listed.into_iter().find(|listed| listed.info.name == "alice").unwrap()
    };
    assert_eq!(find_alice().status, CertificateStatus::Valid);
    server.identity.revoke(&find_alice().info.serial).unwrap();
    assert_eq!(find_alice().status, CertificateStatus::Revoked);
    assert!(username(&client(&signed).await).await.is_err());
    // Another certificate of the same user is accepted.
    let again = server.client_of(&user, &server.identity).await;
    assert_eq!(username(&again).await.unwrap(), "alice");
    // A list that cannot be read revokes all.
    let list = server.folder.path().join("pki/revoked");
    std::fs::remove_file(&list).unwrap();
    std::fs::create_dir(&list).unwrap();
    let again = server.client_of(&user, &server.identity).await;
    assert!(username(&again).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_ends_the_open_watches_of_the_certificate() {
    let server = TlsServer::start().await;
    let user = User::new("alice", VIEW_GROUP);
    let alice = server.client_of(&user, &server.identity).await;
    let bob = server.client_of(&User::new("bob", VIEW_GROUP), &server.identity).await;
    let watch = |client: kube::Client| async move {
        let request = http::Request::get("/api/v1/pods?watch=true").body(Vec::new()).unwrap();
        client.request_stream(request).await.unwrap()
    };
    let mut of_alice = Box::pin(watch(alice).await);
    let mut of_bob = Box::pin(watch(bob).await);
    let listed = server.identity.certificates(SystemEnv.now()).unwrap();
    let serial = &listed.iter().find(|it| it.info.name == "alice").unwrap().info.serial;
    server.identity.revoke(serial).unwrap();
    let mut buffer = [0; 16];
    let ended = timeout(Duration::from_secs(30), of_alice.read(&mut buffer)).await;
    let ended = ended.expect("the watch continues");
    assert!(!matches!(ended, Ok(count) if count > 0), "{ended:?}");
    let second = timeout(Duration::from_millis(500), of_bob.read(&mut buffer)).await;
    assert!(second.is_err(), "the watch of another user ended: {second:?}");
}

/// The time that the renewing server sees: a year later.
fn a_year_later() -> Timestamp {
    SystemEnv.now().saturating_add(jiff::SignedDuration::from_hours(24 * 330)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_certificate_is_renewed_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let identity = ServerIdentity::open(folder.path(), &SystemEnv).unwrap();
    let tls = identity.tls_with_clock(&[], SystemEnv.now(), a_year_later).unwrap();
    let path = folder.path().join("server.crt");
    let before = std::fs::read_to_string(&path).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
    let config = Config { tokens: identity.tokens(), ..Config::new(store) };
    let server = Server::start(config).await.unwrap();
    let stop = CancellationToken::new();
    let serving =
        tokio::spawn(punctual_server::serve(server, listener, Arc::new(tls), stop.clone()));
    let kubeconfig = identity.admin_kubeconfig(&format!("https://{address}"));
    // The certificate is valid from the day before the renewal, so this client does not accept it yet.
    let _ = username(&client(&kubeconfig).await).await;
    assert_ne!(std::fs::read_to_string(&path).unwrap(), before, "the handshake renewed it");
    stop.cancel();
    serving.await.unwrap();
}

/// The time of a clock that was set back.
fn months_earlier() -> Timestamp {
    SystemEnv.now().saturating_sub(jiff::SignedDuration::from_hours(24 * 100)).unwrap()
}

/// A clock that is a number of days ahead.
struct DaysAhead(i64);

impl ServerEnv for DaysAhead {
    fn now(&self) -> Timestamp {
        let ahead = jiff::SignedDuration::from_hours(24 * self.0);
        SystemEnv.now().saturating_add(ahead).unwrap()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        SystemEnv.fill_random(bytes);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_a_clock_that_was_ahead_are_issued_again() {
    let folder = tempfile::tempdir().unwrap();
    let pki = folder.path().join("pki");
    let ahead = DaysAhead(4_000);
    ServerIdentity::open(&pki, &ahead).unwrap().tls(&[], ahead.now()).unwrap();
    let user = User::new("alice", ADMIN_GROUP);
    let identity = ServerIdentity::open(&pki, &ahead).unwrap();
    identity.client_kubeconfig("x", &user, ahead.now()).unwrap();
    // The clock is right again.
    let identity = ServerIdentity::open(&pki, &SystemEnv).unwrap();
    let tls = identity.tls(&[], SystemEnv.now()).unwrap();
    let listed = identity.certificates(SystemEnv.now()).unwrap();
    let statuses: Vec<_> = listed.iter().map(|it| (it.purpose, it.status)).collect();
    let not_yet_valid = CertificateStatus::NotYetValid;
    assert_eq!(
        statuses,
        [
            ("authority", CertificateStatus::Valid),
            ("authority", not_yet_valid),
            ("server", CertificateStatus::Valid),
            ("client", not_yet_valid),
        ]
    );
    let again = ServerIdentity::open(&pki, &SystemEnv).unwrap();
    assert_eq!(again.ca_pem, identity.ca_pem, "the authority is signed once");
    let (address, stop, serving) = serve_identity(folder.path(), &identity, tls).await;
    let kubeconfig = identity.admin_kubeconfig(&format!("https://{address}"));
    assert_eq!(username(&client(&kubeconfig).await).await.unwrap(), "admin");
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_certificate_is_renewed_when_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let pki = folder.path().join("pki");
    let identity = ServerIdentity::open(&pki, &SystemEnv).unwrap();
    let tls = identity.tls_with_clock(&[], SystemEnv.now(), months_earlier).unwrap();
    let read = || std::fs::read_to_string(pki.join("server.crt")).unwrap();
    let before = read();
    let (address, stop, serving) = serve_identity(folder.path(), &identity, tls).await;
    let kubeconfig = identity.admin_kubeconfig(&format!("https://{address}"));
    assert_eq!(username(&client(&kubeconfig).await).await.unwrap(), "admin");
    let renewed = read();
    assert_ne!(renewed, before, "the handshake renewed it");
    assert_eq!(username(&client(&kubeconfig).await).await.unwrap(), "admin");
    assert_eq!(read(), renewed, "it is renewed once");
    stop.cancel();
    serving.await.unwrap();
}

/// Serves with an identity and a TLS configuration.
async fn serve_identity(
    folder: &std::path::Path,
    identity: &ServerIdentity,
    tls: rustls::ServerConfig,
) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let store = Store::open(folder.join("store"), Options::default()).unwrap();
    let config = Config { tokens: identity.tokens(), ..Config::new(store) };
    let server = Server::start(config).await.unwrap();
    let stop = CancellationToken::new();
    let serving =
        tokio::spawn(punctual_server::serve(server, listener, Arc::new(tls), stop.clone()));
    (address, stop, serving)
}

#[test]
fn an_implausible_clock_creates_no_certificates() {
    struct Epoch;
    impl ServerEnv for Epoch {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
        fn fill_random(&self, bytes: &mut [u8]) {
            SystemEnv.fill_random(bytes);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let error = ServerIdentity::open(folder.path(), &Epoch).err().unwrap().to_string();
    assert!(error.contains("the clock of this machine shows 1970"), "{error}");
    assert!(!folder.path().join("ca.crt").exists());
    ServerIdentity::open(folder.path(), &SystemEnv).unwrap();
}

#[test]
fn the_authority_is_renewed_and_rotated_and_the_old_one_stays_in_the_bundle() {
    struct Late(i64);
    impl ServerEnv for Late {
        fn now(&self) -> Timestamp {
            let hours = jiff::SignedDuration::from_hours(24 * 365 * self.0);
            SystemEnv.now().saturating_add(hours).unwrap()
        }
        fn fill_random(&self, bytes: &mut [u8]) {
            SystemEnv.fill_random(bytes);
        }
    }
    let count = |identity: &ServerIdentity| identity.ca_pem.matches("BEGIN CERTIFICATE").count();
    let folder = tempfile::tempdir().unwrap();
    let first = ServerIdentity::open(folder.path(), &SystemEnv).unwrap();
    assert_eq!(count(&ServerIdentity::open(folder.path(), &Late(8)).unwrap()), 1);
    let renewed = ServerIdentity::open(folder.path(), &Late(9)).unwrap();
    assert!(count(&renewed) == 2 && renewed.ca_pem.ends_with(&first.ca_pem));
    assert_eq!(ServerIdentity::open(folder.path(), &Late(9)).unwrap().ca_pem, renewed.ca_pem);
    punctual_server::rotate_authority(folder.path(), SystemEnv.now()).unwrap();
    let rotated = ServerIdentity::open(folder.path(), &SystemEnv).unwrap();
    assert!(count(&rotated) == 3 && rotated.ca_pem.ends_with(&renewed.ca_pem));
    rotated.tls(&[], SystemEnv.now()).unwrap();
}
