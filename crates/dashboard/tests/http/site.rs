//! A dashboard with an API server behind it, and a client that sends exactly the headers that a test names.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use punctual_client::{SystemClock, WatchSource};
use punctual_dashboard::{Account, Dashboard, DashboardOptions, LoginLinks, bind};
use punctual_schedule::Zones;
use punctual_server::{ADMIN_GROUP, Config, Server, User, VIEW_GROUP};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// The token of the role view.
pub(crate) const VIEW_TOKEN: &str = "view-token";

/// A running dashboard.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) links: LoginLinks,
    pub(crate) admin: Client,
    _server: Server,
    _folder: TempDir,
    stop: CancellationToken,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A response.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the cookie that the response sets.
    pub(crate) fn cookie(&self) -> String {
        self.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }
}

impl Site {
    pub(crate) async fn start(instance: &str) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(Config::new(store)).await.unwrap();
        let client = |name: &str, group: &str| {
            Client::new(server.local_router(User::new(name, group)), "default")
        };
        let admin = client("admin", ADMIN_GROUP);
        let accounts = [("admin", ADMIN_GROUP), ("view", VIEW_GROUP)]
            .map(|(name, group)| Account { name: name.into(), client: client(name, group) });
        let view = accounts[1].clone();
        let options = DashboardOptions {
            accounts: accounts.into(),
            token_lookup: Some(Arc::new(move |token| (token == VIEW_TOKEN).then(|| view.clone()))),
            watches: WatchSource::Own(admin.clone()),
            cluster: "test".into(),
            zone: Zones::bundled().utc(),
            clock: Arc::new(SystemClock),
            hosts: Vec::new(),
            session_file: None,
            instance: instance.into(),
            tls: None,
        };
        let listener = bind("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
        let address = listener.local_addr().unwrap();
        let dashboard = Dashboard::new(options, address).await.unwrap();
        let links = dashboard.links().clone();
        let stop = CancellationToken::new();
        tokio::spawn(dashboard.serve(listener, stop.clone()));
        Site { address, links, admin, _server: server, _folder: folder, stop }
    }

    /// Creates an object as the administrator.
    pub(crate) async fn create(&self, path: &str, object: &Value) {
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(object.to_string().into_bytes())
            .unwrap();
        self.admin.request::<Value>(request).await.unwrap();
    }

    pub(crate) async fn get_object(&self, path: &str) -> Value {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        self.admin.request::<Value>(request).await.unwrap()
    }

    /// Creates a CronJob that is never due, and waits until the dashboard shows it.
    pub(crate) async fn create_cron_job(&self, name: &str, cookie: &str, spec: Value) {
        let mut fields = json!({
            "schedule": "0 0 1 1 *",
            "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i"}]}}}},
        });
        fields.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let object = json!({"metadata": {"name": name}, "spec": fields});
        self.create("/apis/batch/v1/namespaces/default/cronjobs", &object).await;
        let path = format!("/cronjobs/default/{name}");
        for _ in 0..200 {
            if self.get(&path, cookie).await.status == 200 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the dashboard does not show {name}");
    }

    /// Sends a request with exactly these headers.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            request += "content-type: application/x-www-form-urlencoded\r\n";
        }
        request += &format!("content-length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.unwrap();
        let text = String::from_utf8_lossy(&response).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// The name that a browser sends.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) async fn get(&self, path: &str, cookie: &str) -> Reply {
        self.send("GET", path, &[("host", &self.host()), ("cookie", cookie)], "").await
    }

    /// Sends a form as a page of the dashboard does.
    pub(crate) async fn post(&self, path: &str, cookie: &str, body: &str) -> Reply {
        let host = self.host();
        let headers =
            [("host", host.as_str()), ("cookie", cookie), ("sec-fetch-site", "same-origin")];
        self.send("POST", path, &headers, body).await
    }

    pub(crate) fn login_path(&self) -> String {
        let link = self.links.link(now()).unwrap();
        link.strip_prefix(self.links.base()).unwrap().to_owned()
    }

    /// Signs in with a login link and returns the cookie.
    pub(crate) async fn sign_in(&self) -> String {
        self.get(&self.login_path(), "").await.cookie()
    }

    /// Signs in with the token of the role view.
    pub(crate) async fn sign_in_to_view(&self) -> String {
        self.post("/login", "", &format!("token={VIEW_TOKEN}")).await.cookie()
    }
}

/// Returns the time by which the dashboard computes.
pub(crate) fn now() -> Timestamp {
    punctual_client::Clock::now(&SystemClock)
}
