//! What other sites, other users and hostile texts can do: nothing.

use serde_json::json;

use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_and_sites_are_refused() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    let host = site.host();
    let own = host.as_str();
    let other_port = "127.0.0.1:1";
    let origin = format!("http://{own}");
    let ok = 200;
    let gone = 421;
    let refused = 403;
    let table = vec![
        ("own host", "GET", vec![("host", own)], ok),
        ("localhost", "GET", vec![("host", "localhost")], ok),
        ("foreign host", "GET", vec![("host", "evil.example")], gone),
        (
            "foreign host that begins like ours",
            "GET",
            vec![("host", "127.0.0.1.evil.example")],
            gone,
        ),
        ("no host", "GET", vec![], 400),
        ("two hosts", "GET", vec![("host", own), ("host", "evil.example")], gone),
        (
            "foreign host with an origin",
            "POST",
            vec![("host", "evil.example"), ("sec-fetch-site", "same-origin")],
            gone,
        ),
        ("cross-site post", "POST", vec![("host", own), ("sec-fetch-site", "cross-site")], refused),
        (
            "post of another port",
            "POST",
            vec![("host", own), ("sec-fetch-site", "same-site")],
            refused,
        ),
        ("foreign origin", "POST", vec![("host", own), ("origin", "http://evil.example")], refused),
        ("origin of another port", "POST", vec![("host", own), ("origin", other_port)], refused),
        ("post without either", "POST", vec![("host", own)], refused),
        ("origin of ours", "POST", vec![("host", own), ("origin", &origin)], 303),
        ("same-origin post", "POST", vec![("host", own), ("sec-fetch-site", "same-origin")], 303),
        ("other method", "DELETE", vec![("host", own), ("sec-fetch-site", "cross-site")], refused),
    ];
    for (what, method, headers, wanted) in table {
        let path = if method == "GET" { "/plan" } else { "/theme" };
        let headers: Vec<_> = headers.into_iter().chain([("cookie", cookie.as_str())]).collect();
        let reply = site
            .send(method, path, &headers, if method == "POST" { "theme=dark" } else { "" })
            .await;
        // A request without a host is refused by the HTTP library or by us.
        let is_as_wanted = reply.status == wanted || what == "no host" && reply.status == gone;
        assert!(is_as_wanted, "{what}: {} instead of {wanted}", reply.status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_the_headers() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    let host = site.host();
    let requests = [
        ("GET", "/", true, host.as_str()),
        ("GET", "/", false, host.as_str()),
        ("GET", "/nothing/here", true, host.as_str()),
        ("GET", "/assets/dashboard.css", false, host.as_str()),
        ("GET", "/assets/none", false, host.as_str()),
        ("GET", "/ledger.csv", true, host.as_str()),
        ("GET", "/runs/default/gone", true, host.as_str()),
        ("GET", "/events?scope=wrong", true, host.as_str()),
        ("PUT", "/", true, host.as_str()),
        ("POST", "/theme", true, host.as_str()),
        ("GET", "/", true, "evil.example"),
    ];
    for (method, path, is_signed_in, host) in requests {
        let cookie = if is_signed_in { cookie.as_str() } else { "" };
        let reply = site.send(method, path, &[("host", host), ("cookie", cookie)], "").await;
        let what = format!("{method} {path} {}", reply.status);
        let policy = reply.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{what}"
        );
        assert!(!policy.contains("unsafe"), "{what}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{what}");
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"), "{what}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_link_works_once_and_nothing_works_without_a_session() {
    let site = Site::start("a").await;
    let path = site.login_path();
    let first = site.get(&path, "").await;
    assert_eq!(first.status, 200);
    let attributes = first.header("set-cookie").unwrap();
    assert!(
        attributes.contains("HttpOnly") && attributes.contains("SameSite=Strict"),
        "{attributes}"
    );
    let replayed = site.get(&path, "").await;
    assert_eq!(replayed.status, 401);
    assert!(replayed.header("set-cookie").is_none());
    for path in [
        "/",
        "/ledger",
        "/ledger.json",
        "/events?scope=fleet",
        "/cronjobs/default/a",
        "/runs/a/b/log",
    ] {
        let reply = site.get(path, "").await;
        assert_eq!(reply.status, 401, "{path}");
        assert!(!reply.body.contains("Ledger"), "{path}");
    }
    for token in ["", "wrong", "view-toke"] {
        assert_eq!(site.post("/login", "", &format!("token={token}")).await.status, 401);
    }
    let cookie = first.cookie();
    assert_eq!(site.get("/", &cookie).await.status, 200);
    assert_eq!(site.post("/logout", &cookie, "").await.status, 303);
    assert_eq!(site.get("/", &cookie).await.status, 401, "the session is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_of_another_instance_opens_nothing() {
    let site = Site::start("a").await;
    let other = Site::start("b").await;
    let stolen = other.sign_in().await;
    assert_eq!(site.get("/", &stolen).await.status, 401);
    // Not even under the name of the cookie of this instance.
    let own_name = site.sign_in().await.split('=').next().unwrap().to_owned();
    let value = stolen.split_once('=').unwrap().1;
    assert_eq!(site.get("/", &format!("{own_name}={value}")).await.status, 401);
    assert_ne!(stolen.split('=').next().unwrap(), own_name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_user_sees_no_buttons_and_changes_nothing() {
    let site = Site::start("a").await;
    let admin = site.sign_in().await;
    let view = site.sign_in_to_view().await;
    site.create_cron_job("backup", &admin, json!({})).await;
    let page = "/cronjobs/default/backup";
    let api = "/apis/batch/v1/namespaces/default/cronjobs/backup";
    for path in ["/", page] {
        let seen = site.get(path, &admin).await.body;
        assert!(seen.contains("Run now") && seen.contains("Suspend"), "{path}");
        let seen = site.get(path, &view).await.body;
        assert!(seen.contains("backup"), "{path}");
        assert!(
            !seen.contains("Run now") && !seen.contains("Suspend…") && !seen.contains("Edit<"),
            "{path}"
        );
    }
    assert_eq!(site.get(&format!("{page}/edit"), &view).await.status, 403);
    let before = site.get_object(api).await;
    let yaml = format!(
        "step=save&yaml={}",
        form_urlencoded::byte_serialize(before.to_string().as_bytes()).collect::<String>()
    );
    let attempts = [
        (format!("{page}/trigger"), "".to_owned()),
        (format!("{page}/suspend"), "for=1h&reason=x".to_owned()),
        (format!("{page}/resume"), "missed=latest".to_owned()),
        (format!("{page}/backfill"), "from=2026-01-01T00:00&to=2026-01-02T00:00".to_owned()),
        (format!("{page}/edit"), yaml),
        ("/bulk".to_owned(), "action=suspend&item=cronjobs/default/backup".to_owned()),
    ];
    for (path, body) in attempts {
        let reply = site.post(&path, &view, &body).await;
        assert_ne!(reply.status, 500, "{path}");
    }
    let after = site.get_object(api).await;
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    let jobs = site.get_object("/apis/batch/v1/jobs").await;
    assert_eq!(jobs["items"].as_array().map(Vec::len), Some(0));
    let requests = site.get_object("/apis/punctual.dev/v1/runrequests").await;
    assert_eq!(requests["items"].as_array().map(Vec::len), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn markup_in_names_reasons_and_parameters_stays_text() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    let attack = "<img src=x onerror=alert(1)>";
    site.create_cron_job("backup", &cookie, json!({})).await;
    let encoded: String = form_urlencoded::byte_serialize(attack.as_bytes()).collect();
    let suspended =
        site.post("/cronjobs/default/backup/suspend", &cookie, &format!("reason={encoded}")).await;
    assert_eq!(suspended.status, 303);
    for path in [
        format!("/?q={encoded}"),
        format!("/?namespace={encoded}&state={encoded}&page={encoded}"),
        format!("/ledger?cronjob={encoded}&since={encoded}"),
        format!("/timeline?namespace={encoded}&hours={encoded}"),
        format!("/plan?yaml={encoded}"),
        format!("/cronjobs/default/{encoded}"),
        format!("/cronjobs/default/backup/slots/{encoded}"),
        format!("/runs/default/{encoded}"),
        format!("/bulk?action=suspend&item={encoded}"),
        "/cronjobs/default/backup".to_owned(),
        "/".to_owned(),
    ] {
        let body = site.get(&path, &cookie).await.body;
        assert!(!body.contains("<img"), "{path}");
        assert!(!body.contains(" style="), "{path}");
        let scripts = body.matches("<script").count();
        assert_eq!(scripts, 1, "{path} has another script");
    }
    let page = site.get("/cronjobs/default/backup", &cookie).await.body;
    assert!(page.contains("&lt;img src=x"), "the reason is shown as text");
    // A redirect leads to a page of ours.
    for back in
        ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
    {
        let encoded: String = form_urlencoded::byte_serialize(back.as_bytes()).collect();
        let reply = site.post("/theme", &cookie, &format!("theme=dark&back={encoded}")).await;
        assert_eq!(reply.header("location"), Some("/"), "{back}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_form_is_refused() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    let host = site.host();
    let headers = [("host", host.as_str()), ("cookie", &cookie), ("sec-fetch-site", "same-origin")];
    let reply = site.send("POST", "/theme", &headers, &"a".repeat(2 << 20)).await;
    assert!(matches!(reply.status, 413 | 0), "{}", reply.status);
}
