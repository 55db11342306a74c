//! The sessions of signed-in users. Only hashes of tokens are kept, and survive a restart in a private file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::login_file::write_private;
use crate::ui::Flash;

/// How long a session lasts.
pub(super) const SESSION_SECONDS: u64 = 12 * 60 * 60;
/// How many sessions are kept. The oldest one ends for a further one.
const SESSIONS_MAX: usize = 200;
const TOKEN_LEN: usize = 32;

/// The sessions of signed-in users.
pub(super) struct Sessions {
    state: Mutex<HashMap<String, UserSession>>,
    file: Option<PathBuf>,
}

/// One session.
#[derive(Clone, Debug)]
struct UserSession {
    account: String,
    created: Timestamp,
    flash: Option<Flash>,
}

/// A session as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredSession {
    hash: String,
    account: String,
    created: Timestamp,
}

impl Sessions {
    /// Reads the sessions of the file. What cannot be read counts as no session.
    pub(super) async fn load(file: Option<PathBuf>) -> Sessions {
        let stored = match &file {
            Some(path) => read(path).await,
            None => Vec::new(),
        };
        let sessions = stored.into_iter().take(SESSIONS_MAX).map(|stored| {
            let session =
                UserSession { account: stored.account, created: stored.created, flash: None };
            (stored.hash, session)
        });
        Sessions { state: Mutex::new(sessions.collect()), file }
    }

    /// Opens a session and returns its token.
    pub(super) async fn open(&self, account: &str, now: Timestamp) -> Option<String> {
        let mut bytes = [0; TOKEN_LEN];
        getrandom::fill(&mut bytes).ok()?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        {
            let mut state = self.lock();
            state.retain(|_, session| is_valid(session, now));
            while state.len() >= SESSIONS_MAX {
                let oldest = state.iter().min_by_key(|(_, session)| session.created);
                let Some(oldest) = oldest.map(|(hash, _)| hash.clone()) else { break };
                state.remove(&oldest);
            }
            let session = UserSession { account: account.to_owned(), created: now, flash: None };
            state.insert(hash(&token), session);
        }
        self.save().await;
        Some(token)
    }

    /// Returns the account of a session.
    pub(super) fn account(&self, token: &str, now: Timestamp) -> Option<String> {
        let state = self.lock();
        let session = state.get(&hash(token)).filter(|session| is_valid(session, now))?;
        Some(session.account.clone())
    }

    /// Ends a session.
    pub(super) async fn close(&self, token: &str) {
        self.lock().remove(&hash(token));
        self.save().await;
    }

    /// Keeps a message for the next page of a session.
    pub(super) fn set_flash(&self, token: &str, flash: Flash) {
        if let Some(session) = self.lock().get_mut(&hash(token)) {
            session.flash = Some(flash);
        }
    }

    /// Returns the message for the next page of a session.
    pub(super) fn take_flash(&self, token: &str) -> Option<Flash> {
        self.lock().get_mut(&hash(token))?.flash.take()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, UserSession>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn save(&self) {
        let Some(path) = self.file.clone() else { return };
        let stored: Vec<StoredSession> = self
            .lock()
            .iter()
            .map(|(hash, session)| StoredSession {
                hash: hash.clone(),
                account: session.account.clone(),
                created: session.created,
            })
            .collect();
        let Ok(text) = serde_json::to_string(&stored) else { return };
        let written = tokio::task::spawn_blocking(move || write_private(&path, &text)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "could not store the sessions of the dashboard; users sign in again after a restart");
        }
    }
}

/// The longest file that is read: the sessions of all users.
const FILE_LEN_MAX: u64 = 200 * 1024;

async fn read(path: &Path) -> Vec<StoredSession> {
    let is_small =
        tokio::fs::metadata(path).await.is_ok_and(|it| it.is_file() && it.len() <= FILE_LEN_MAX);
    if !is_small {
        return Vec::new();
    }
    match tokio::fs::read(path).await {
        Ok(text) => serde_json::from_slice(&text).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn is_valid(session: &UserSession, now: Timestamp) -> bool {
    let age = now.duration_since(session.created).as_secs();
    u64::try_from(age).map_or(age > -60, |age| age < SESSION_SECONDS)
}

fn hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sessions_survive_a_restart_expire_and_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let file = Some(path.clone());
        let now: Timestamp = "2026-11-19T00:00:00Z".parse().unwrap();
        let sessions = Sessions::load(file.clone()).await;
        let token = sessions.open("admin", now).await.unwrap();
        let again = Sessions::load(file.clone()).await;
        assert_eq!(again.account(&token, now).as_deref(), Some("admin"));
        assert_eq!(again.account("guess", now), None);
        let later = now.checked_add(jiff::SignedDuration::from_hours(12)).unwrap();
        assert_eq!(again.account(&token, later), None);
        let stored = std::fs::read_to_string(path).unwrap();
        assert!(!stored.contains(&token), "only hashes are stored");
        for index in 0..300 {
            let at = now.checked_add(jiff::SignedDuration::from_secs(index)).unwrap();
            again.open("view", at).await.unwrap();
        }
        assert_eq!(again.lock().len(), SESSIONS_MAX);
        again.close(&token).await;
        assert_eq!(again.account(&token, now), None);
    }
}
