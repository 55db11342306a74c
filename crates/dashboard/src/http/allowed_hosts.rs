//! The names by which a browser may reach the dashboard.
//!
//! Another name that resolves to this address is an attack (DNS rebinding): its page would have our origin.

use std::net::{IpAddr, SocketAddr};

use http::Request;
use http::header::HOST;

/// The names by which a browser may reach the dashboard.
#[derive(Clone, Debug)]
pub(super) struct AllowedHosts {
    names: Vec<String>,
}

impl AllowedHosts {
    /// Allows the names of this machine's loopback interface, the bound address and further names.
    pub(super) fn new(address: SocketAddr, further: &[String]) -> AllowedHosts {
        let mut names: Vec<String> =
            ["localhost", "punctual.localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        if !address.ip().is_unspecified() {
            names.push(match address.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        names.extend(further.iter().map(|name| name.to_ascii_lowercase()));
        AllowedHosts { names }
    }

    /// Whether a request names an allowed host, and only one.
    pub(super) fn allows<B>(&self, request: &Request<B>) -> bool {
        let mut values = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (values.next(), values.next()) else { return false };
        let is_allowed = |text: &str| self.names.iter().any(|name| name == &host_name(text));
        let is_same =
            request.uri().authority().is_none_or(|authority| is_allowed(authority.as_str()));
        is_same && host.to_str().is_ok_and(is_allowed)
    }
}

/// Returns the name of `name:port`, in lower case.
pub(super) fn host_name(host: &str) -> String {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_allowed() {
        let hosts =
            AllowedHosts::new("127.0.0.1:6480".parse().unwrap(), &["ops.example".to_owned()]);
        let allows = |values: &[&str]| {
            let request = values
                .iter()
                .fold(Request::get("/"), |request, value| request.header(HOST, *value));
            hosts.allows(&request.body(()).unwrap())
        };
        for host in [
            "localhost",
            "127.0.0.1:6480",
            "[::1]:6480",
            "LocalHost:1",
            "ops.example:443",
            "punctual.localhost",
        ] {
            assert!(allows(&[host]), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:6480",
            "localhost.evil",
            "127.0.0.1@evil",
            "",
            "[::2]",
            "0.0.0.0",
        ] {
            assert!(!allows(&[host]), "{host}");
        }
        assert!(!allows(&[]));
        assert!(!allows(&["localhost", "evil.example"]));
        let absolute =
            Request::get("http://evil.example/").header(HOST, "localhost").body(()).unwrap();
        assert!(!hosts.allows(&absolute));
    }
}
