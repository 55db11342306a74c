//! The server's clock and source of randomness, which tests and the simulator replace.

use jiff::Timestamp;

/// The clock and the source of randomness that a server uses.
pub trait ServerEnv: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
    /// Fills a buffer with random bytes. They must be unpredictable: tokens are made of them.
    fn fill_random(&self, bytes: &mut [u8]);
}

/// The operating system's clock and source of randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEnv;

impl SystemEnv {
    /// Returns a random UUID (version 4).
    pub fn new_uid(&self) -> String {
        new_uid(self)
    }
}

impl ServerEnv for SystemEnv {
    #[expect(clippy::disallowed_methods, reason = "this is the only caller of the system clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        // Without random bytes there are neither secrets nor unique names, so the server cannot
        // run.
        #[expect(clippy::expect_used, reason = "the server cannot run without getrandom")]
        getrandom::fill(bytes).expect("the operating system provides random bytes");
    }
}

/// Characters of generated names, as in Kubernetes: no vowels and no characters that look alike.
const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LEN: usize = 5;

/// Returns a random UUID (version 4).
pub(crate) fn new_uid(env: &dyn ServerEnv) -> String {
    let mut bytes = [0_u8; 16];
    env.fill_random(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf << 76) | (0x4 << 76);
    format_uid(number & !(0x3 << 62) | (0x2 << 62))
}

/// Returns the usual form of a UID.
pub(crate) fn format_uid(number: u128) -> String {
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// Returns the random suffix that is appended to `generateName`.
pub(crate) fn name_suffix(env: &dyn ServerEnv) -> String {
    let mut bytes = [0_u8; SUFFIX_LEN];
    env.fill_random(&mut bytes);
    let letter = |byte: &u8| {
        let index = usize::from(*byte) % SUFFIX_ALPHABET.len();
        char::from(*SUFFIX_ALPHABET.get(index).unwrap_or(&b'x'))
    };
    bytes.iter().map(letter).collect()
}

/// Returns a new bearer token: 256 random bits in hexadecimal.
pub(crate) fn new_token(env: &dyn ServerEnv) -> String {
    let mut bytes = [0_u8; 32];
    env.fill_random(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_distinct_and_of_version_4() {
        let uid = new_uid(&SystemEnv);
        assert_ne!(uid, new_uid(&SystemEnv));
        assert_eq!(uid.len(), 36);
        assert_eq!(uid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uid.as_bytes()[19]));
    }

    #[test]
    fn name_suffix_has_five_characters_of_the_alphabet() {
        let suffix = name_suffix(&SystemEnv);
        assert_eq!(suffix.len(), SUFFIX_LEN);
        assert!(suffix.bytes().all(|byte| SUFFIX_ALPHABET.contains(&byte)));
    }
}
