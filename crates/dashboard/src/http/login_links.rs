//! One-time login links. A link is signed, so that another process with the key can make one without asking.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::hmac;

/// How long a link works.
const VALID_SECONDS: i64 = 60 * 60;
/// How many used links are remembered until they expire.
const USED_MAX: usize = 4096;
const KEY_LEN: usize = 32;
const NONCE_LEN: usize = 16;

/// Makes and redeems one-time login links.
#[derive(Clone)]
pub struct LoginLinks {
    base: String,
    secret: [u8; KEY_LEN],
    key: hmac::Key,
    /// The used nonces, with the times at which their links expire.
    used: Arc<Mutex<HashMap<[u8; NONCE_LEN], i64>>>,
}

impl LoginLinks {
    /// Makes links to a base URL such as `http://127.0.0.1:6480`, with a new key.
    pub fn new(base: String) -> Result<LoginLinks, getrandom::Error> {
        let mut secret = [0; KEY_LEN];
        getrandom::fill(&mut secret)?;
        Ok(LoginLinks::with_secret(base, secret))
    }

    pub(super) fn with_secret(base: String, secret: [u8; KEY_LEN]) -> LoginLinks {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        LoginLinks { base, secret, key, used: Arc::default() }
    }

    pub(super) fn secret(&self) -> &[u8; KEY_LEN] {
        &self.secret
    }

    /// Returns the URL of the dashboard.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Makes a fresh link.
    pub fn link(&self, now: Timestamp) -> Result<String, getrandom::Error> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce)?;
        let expires = now.as_second().saturating_add(VALID_SECONDS);
        let mut code = nonce.to_vec();
        code.extend_from_slice(&expires.to_be_bytes());
        let tag = hmac::sign(&self.key, &code);
        code.extend_from_slice(tag.as_ref());
        Ok(format!("{}/login?code={}", self.base, URL_SAFE_NO_PAD.encode(code)))
    }

    /// Redeems the code of a link. Each code is accepted once.
    pub(super) fn redeem(&self, code: &str, now: Timestamp) -> bool {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(code) else { return false };
        let Some((signed, tag)) = bytes.split_at_checked(NONCE_LEN + 8) else { return false };
        if hmac::verify(&self.key, signed, tag).is_err() {
            return false;
        }
        let Some((nonce, expires)) = signed.split_first_chunk::<NONCE_LEN>() else { return false };
        let Ok(expires) = <[u8; 8]>::try_from(expires).map(i64::from_be_bytes) else {
            return false;
        };
        let now = now.as_second();
        if now >= expires || expires - now > VALID_SECONDS {
            return false;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, expires| *expires > now);
        // Only holders of the key fill this, so refusing them is no loss for others.
        if used.len() >= USED_MAX || used.contains_key(nonce) {
            return false;
        }
        used.insert(*nonce, expires);
        true
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn a_link_works_once_and_for_an_hour_and_cannot_be_changed() {
        let links = LoginLinks::new("http://127.0.0.1:1".into()).unwrap();
        let now: Timestamp = "2026-11-19T00:00:00Z".parse().unwrap();
        let code = || links.link(now).unwrap().split_once("code=").unwrap().1.to_owned();
        let first = code();
        assert!(links.redeem(&first, now));
        assert!(!links.redeem(&first, now), "replayed");
        let late = now.checked_add(SignedDuration::from_hours(1)).unwrap();
        assert!(!links.redeem(&code(), late), "expired");
        let mut changed = URL_SAFE_NO_PAD.decode(code()).unwrap();
        changed[NONCE_LEN + 6] ^= 1;
        assert!(!links.redeem(&URL_SAFE_NO_PAD.encode(changed), now), "changed");
        let other = LoginLinks::new("http://127.0.0.1:1".into()).unwrap();
        assert!(!other.redeem(&code(), now), "of another instance");
        for garbage in ["", "a", "!!", &"A".repeat(4_000)] {
            assert!(!links.redeem(garbage, now));
        }
    }
}
