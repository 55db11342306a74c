//! TLS: generated certificates, tokens, client certificates, and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use punctual_server::{
    ADMIN_GROUP, Config, Server, ServerEnv, ServerIdentity, SystemEnv, User, VIEW_GROUP,
};
use punctual_store::{Options, Store};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::kube::check_client;

struct TlsServer {
    folder: TempDir,
    identity: ServerIdentity,
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl TlsServer {
    async fn start() -> TlsServer {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let identity = ServerIdentity::open(&folder.path().join("pki"), &SystemEnv).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tls = Arc::new(identity.tls(&[], SystemEnv.now()).unwrap());
        let config = Config { tokens: identity.tokens(), ..Config::new(store) };
        let server = Server::start(config).await.unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(punctual_server::serve(server, listener, tls, stop.clone()));
        TlsServer { folder, identity, address, stop, serving }
    }

    fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    async fn client(&self) -> kube::Client {
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
