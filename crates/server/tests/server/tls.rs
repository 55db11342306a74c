//! The server over TLS: certificates that it made itself, tokens, client certificates, and its end.

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

use crate::kube::everything_works;

struct Running {
    folder: TempDir,
    identity: ServerIdentity,
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Running {
    async fn start() -> Running {
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
        Running { folder, identity, address, stop, serving }
    }

    fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    async fn client(&self) -> kube::Client {
        client(&self.identity.admin_kubeconfig(&self.url())).await
    }

    /// A client with a certificate that an authority signed.
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

async fn who(client: &kube::Client) -> Result<String, kube::Error> {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("Content-Type", "application/json")
        .body(body.to_string().into_bytes())
        .unwrap();
    let answer: serde_json::Value = client.request(request).await?;
    Ok(answer["status"]["userInfo"]["username"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubeconfig_is_all_that_a_client_needs() {
    let running = Running::start().await;
    let client = running.client().await;
    assert_eq!(who(&client).await.unwrap(), "admin");
    Box::pin(everything_works(client)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_says_who_asks_and_in_which_role() {
    let running = Running::start().await;
    let admin = running.client_of(&User::new("ada", ADMIN_GROUP), &running.identity).await;
    assert_eq!(who(&admin).await.unwrap(), "ada");
    Box::pin(everything_works(admin)).await;
    let viewer = running.client_of(&User::new("vi", VIEW_GROUP), &running.identity).await;
    assert_eq!(who(&viewer).await.unwrap(), "vi");
    let request = http::Request::delete("/api/v1/namespaces/default").body(Vec::new()).unwrap();
    let refused = viewer.request::<serde_json::Value>(request).await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 403));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_is_refused() {
    let (running, other) = (Running::start().await, Running::start().await);
    let eve = running.client_of(&User::new("eve", ADMIN_GROUP), &other.identity).await;
    assert!(who(&eve).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_lets_go_of_its_connections() {
    let running = Running::start().await;
    let client = running.client().await;
    who(&client).await.unwrap();
    running.stop.cancel();
    running.serving.await.unwrap();
    assert!(who(&client).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_identity_stays_and_certificates_are_renewed() {
    let running = Running::start().await;
    let pki = running.folder.path().join("pki");
    let certificate = || std::fs::read_to_string(pki.join("server.crt")).unwrap();
    let first = certificate();
    let again = ServerIdentity::open(&pki, &SystemEnv).unwrap();
    assert_eq!(again.ca_pem, running.identity.ca_pem);
    let yaml = |identity: &ServerIdentity| identity.admin_kubeconfig("x").to_yaml();
    assert_eq!(yaml(&again), yaml(&running.identity));
    again.tls(&[], SystemEnv.now()).unwrap();
    assert_eq!(certificate(), first);
    again.tls(&["10.1.2.3".parse().unwrap()], SystemEnv.now()).unwrap();
    assert_ne!(certificate(), first, "another address needs another certificate");
    let late: Timestamp = "2099-01-01T00:00:00Z".parse().unwrap();
    let second = certificate();
    again.tls(&["10.1.2.3".parse().unwrap()], late).unwrap();
    assert_ne!(certificate(), second, "a certificate that has ended is made anew");
}

#[cfg(unix)]
#[tokio::test]
async fn secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let running = Running::start().await;
    let pki = running.folder.path().join("pki");
    for name in ["ca.key", "server.key", "admin.token", "view.token"] {
        let mode = std::fs::metadata(pki.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let kubeconfig = running.folder.path().join("kubeconfig");
    running.identity.admin_kubeconfig(&running.url()).write(&kubeconfig).unwrap();
    assert_eq!(std::fs::metadata(kubeconfig).unwrap().permissions().mode() & 0o777, 0o600);
}
