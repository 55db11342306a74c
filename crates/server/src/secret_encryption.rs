//! Encrypts Secrets on disk and in backups with AES-256-GCM.
//!
//! A stored Secret is a prefix, the ID of the key, a random nonce and the ciphertext. The name of the
//! Secret is authenticated too, so a ciphertext cannot be moved to another name.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use punctual_store::{CodecError, DecodedValue, Snapshot, ValueCodec};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};

/// JSON never begins with this.
const PREFIX: &[u8] = b"\0enc1";
const KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 4;
/// The keys of Secrets in the store, including unreadable ones.
const SECRET_PREFIXES: [&str; 2] = ["/secrets/", "/unreadable/secrets/"];

type KeyId = [u8; KEY_ID_BYTES];

/// Why the encryption keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptionKeyError {
    /// The file cannot be read.
    #[error("cannot read the encryption keys in {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file has no valid keys.
    #[error(
        "{path} has no usable encryption key in line {line}: each line must be 32 random bytes in \
         base64, such as the output of `head -c 32 /dev/urandom | base64`"
    )]
    InvalidKey {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

/// Encrypts Secrets with the first key, and decrypts them with any.
pub struct SecretEncryption {
    keys: Vec<(KeyId, LessSafeKey)>,
}

impl SecretEncryption {
    /// Reads the keys from a file with one key per line.
    pub fn read(path: &Path) -> Result<SecretEncryption, EncryptionKeyError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| EncryptionKeyError::File { path: path.to_owned(), source })?;
        let invalid = |line| EncryptionKeyError::InvalidKey { path: path.to_owned(), line };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let key = |(at, line): (usize, &str)| parse_key(line.trim()).ok_or(invalid(at + 1));
        let keys: Vec<_> = lines.map(key).collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(invalid(1)) } else { Ok(SecretEncryption { keys }) }
    }

    fn seal(&self, key: &str, value: &[u8]) -> Option<Bytes> {
        let (id, first) = self.keys.first()?;
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = value.to_vec();
        let aad = Aad::from(key.as_bytes());
        let unique = Nonce::assume_unique_for_key(nonce);
        first.seal_in_place_append_tag(unique, aad, &mut sealed).ok()?;
        Some([PREFIX, id, &nonce, &sealed].concat().into())
    }

    /// Returns the value, and whether the first key encrypted it.
    fn open(&self, key: &str, sealed: &[u8]) -> Result<DecodedValue, CodecError> {
        let damaged = || CodecError(format!("{key} cannot be decrypted: it is damaged"));
        let (id, rest) = sealed.split_first_chunk::<KEY_ID_BYTES>().ok_or_else(damaged)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or_else(damaged)?;
        let at = self.keys.iter().position(|(known, _)| known == id).ok_or_else(|| {
            let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            CodecError(format!(
                "{key} is encrypted with the key {id}, which is not in the key file; add that key"
            ))
        })?;
        let (_, opening) = self.keys.get(at).ok_or_else(damaged)?;
        let mut value = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let aad = Aad::from(key.as_bytes());
        let len = opening.open_in_place(nonce, aad, &mut value).map_err(|_| damaged())?.len();
        value.truncate(len);
        Ok(DecodedValue { value: value.into_boxed_slice().into(), is_current: at == 0 })
    }
}

fn parse_key(line: &str) -> Option<(KeyId, LessSafeKey)> {
    let bytes = BASE64.decode(line).ok().filter(|bytes| bytes.len() == KEY_BYTES)?;
    let id = *digest(&SHA256, &bytes).as_ref().first_chunk()?;
    Some((id, LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes).ok()?)))
}

fn is_secret(key: &str) -> bool {
    SECRET_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Whether a stored value is encrypted.
pub(crate) fn is_encrypted(value: &[u8]) -> bool {
    value.starts_with(PREFIX)
}

/// Returns the key of an encrypted Secret in a snapshot that was read without keys.
pub fn find_encrypted(snapshot: &Snapshot) -> Option<String> {
    let secrets = SECRET_PREFIXES.iter().flat_map(|prefix| snapshot.prefix(prefix));
    let mut encrypted = secrets.filter(|(_, entry)| is_encrypted(&entry.value));
    encrypted.next().map(|(key, _)| key.to_string())
}

impl ValueCodec for SecretEncryption {
    fn encode(&self, key: &str, value: &Bytes) -> Result<Bytes, CodecError> {
        if !is_secret(key) {
            return Ok(value.clone());
        }
        self.seal(key, value).ok_or_else(|| CodecError(format!("{key} cannot be encrypted")))
    }

    fn decode(&self, key: &str, stored: &Bytes) -> Result<DecodedValue, CodecError> {
        match stored.strip_prefix(PREFIX) {
            Some(sealed) if is_secret(key) => self.open(key, sealed),
            _ => Ok(DecodedValue { value: stored.clone(), is_current: !is_secret(key) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_store::{Op, Options, Store, read_backup};

    use super::*;

    fn key_file(folder: &Path, keys: &[u8]) -> PathBuf {
        let path = folder.join("keys");
        let lines = keys.iter().map(|byte| format!("{}\n", BASE64.encode([*byte; KEY_BYTES])));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        path
    }

    fn open(folder: &Path, keys: &[u8]) -> Result<Store, punctual_store::Error> {
        let codec = SecretEncryption::read(&key_file(folder, keys)).unwrap();
        Store::open_with_codec(folder.join("store"), Options::default(), Some(Arc::new(codec)))
    }

    fn contains(folder: &Path, text: &str) -> bool {
        let bytes = std::fs::read(folder.join("store")).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }

    #[test]
    fn secrets_are_encrypted_on_disk_and_in_backups_and_keys_can_be_rotated() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // A Secret from before the encryption was enabled.
        let store = Store::open(folder.join("store"), Options::default()).unwrap();
        store.write_blocking(Op::create("/secrets/n/old", "{old-password}")).unwrap();
        drop(store);
        assert!(contains(folder, "old-password"));
        let store = open(folder, &[1]).unwrap();
        store.write_blocking(Op::create("/secrets/n/a", "{password}")).unwrap();
        store.write_blocking(Op::create("/configmaps/n/a", "{plain}")).unwrap();
        let backup: Vec<u8> = store.backup().flatten().collect();
        let entries = read_backup(backup.as_slice()).unwrap();
        assert!(find_encrypted(&entries.snapshot()).is_some());
        assert!(!backup.windows(8).any(|window| window == b"password"));
        drop(store);
        assert!(contains(folder, "{plain}"));
        for text in ["password", "old-password"] {
            assert!(!contains(folder, text), "{text}");
        }
        let store = open(folder, &[2, 1]).unwrap();
        assert_eq!(&*store.get("/secrets/n/old").unwrap().value, b"{old-password}");
        drop(store);
        // The first key has encrypted everything again, so the other one is not needed any more.
        let store = open(folder, &[2]).unwrap();
        assert_eq!(&*store.get("/secrets/n/a").unwrap().value, b"{password}");
        drop(store);
        let error = open(folder, &[1]).err().unwrap().to_string();
        assert!(error.contains("is not in the key file"), "{error}");
        let store = Store::open(folder.join("store"), Options::default()).unwrap();
        assert!(find_encrypted(&store.snapshot()).is_some());
    }

    #[test]
    fn a_ciphertext_cannot_be_moved_or_changed() {
        let folder = tempfile::tempdir().unwrap();
        let codec = SecretEncryption::read(&key_file(folder.path(), &[1])).unwrap();
        let value = Bytes::from_static(b"{}");
        let stored = codec.encode("/secrets/n/a", &value).unwrap();
        assert_eq!(codec.decode("/secrets/n/a", &stored).unwrap().value, value);
        assert!(codec.decode("/secrets/n/b", &stored).is_err());
        assert_ne!(codec.encode("/secrets/n/a", &value).unwrap(), stored, "nonces are random");
        for at in PREFIX.len()..stored.len() {
            let mut changed = stored.to_vec();
            changed[at] ^= 1;
            assert!(codec.decode("/secrets/n/a", &changed.into()).is_err(), "{at}");
        }
        assert!(codec.decode("/secrets/n/a", &stored.slice(..PREFIX.len() + 3)).is_err());
    }

    #[test]
    fn invalid_key_files_are_rejected_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        for text in ["", "short", &BASE64.encode([0; 31])] {
            std::fs::write(&path, text).unwrap();
            let error = SecretEncryption::read(&path).err().unwrap().to_string();
            assert!(error.contains("line 1"), "{error}");
        }
    }
}
