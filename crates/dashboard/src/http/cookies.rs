//! The cookies of one instance. Browsers share cookies between all ports of a host, so each instance has names of its own.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use ring::digest::{SHA256, digest};

use super::sessions::SESSION_SECONDS;

/// The longest value of a cookie that is read.
const VALUE_LEN_MAX: usize = 200;
const THEME_SECONDS: u64 = 365 * 24 * 60 * 60;

/// The cookies of one instance.
#[derive(Clone, Debug)]
pub(super) struct Cookies {
    session: String,
    theme: String,
    is_secure: bool,
}

impl Cookies {
    /// `instance` tells apart the dashboards of a machine. `is_secure` says that they are served over TLS.
    pub(super) fn new(instance: &str, is_secure: bool) -> Cookies {
        let hash = digest(&SHA256, instance.as_bytes());
        let id: String = hash.as_ref().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Cookies {
            session: format!("punctual-{id}"),
            theme: format!("punctual-theme-{id}"),
            is_secure,
        }
    }

    /// Returns the session token of a request.
    pub(super) fn session<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        find(headers, &self.session)
    }

    /// Returns the theme of a request.
    pub(super) fn theme<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        find(headers, &self.theme)
    }

    /// Returns the header that sets the session.
    pub(super) fn set_session(&self, token: &str) -> Option<HeaderValue> {
        self.header(&self.session, token, SESSION_SECONDS)
    }

    /// Returns the header that ends the session.
    pub(super) fn clear_session(&self) -> Option<HeaderValue> {
        self.header(&self.session, "", 0)
    }

    /// Returns the header that sets the theme.
    pub(super) fn set_theme(&self, theme: &str) -> Option<HeaderValue> {
        self.header(&self.theme, theme, THEME_SECONDS)
    }

    fn header(&self, name: &str, value: &str, max_age: u64) -> Option<HeaderValue> {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

fn find<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        pairs.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(found, _)| *found == name)?;
    (value.len() <= VALUE_LEN_MAX).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_of_another_instance_is_not_ours() {
        let ours = Cookies::new("/data/a", false);
        let other = Cookies::new("/data/b", false);
        let set = other.set_session("token").unwrap();
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        let headers = HeaderMap::from_iter([(COOKIE, pair.parse().unwrap())]);
        assert_eq!(other.session(&headers), Some("token"));
        assert_eq!(ours.session(&headers), None);
        assert!(set.to_str().unwrap().ends_with("HttpOnly; SameSite=Strict"));
    }
}
