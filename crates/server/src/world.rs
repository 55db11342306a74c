//! What the server takes from the outside besides requests: time and chance.

use jiff::Timestamp;

/// Time and chance. A test, or a whole simulated world, has its own.
pub trait World: Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;
    /// Bytes that nobody can foresee.
    fn fill(&self, bytes: &mut [u8]);
}

impl RealWorld {
    /// A name that nothing else has: a random UUID.
    pub fn uid(&self) -> String {
        uid(self)
    }
}

/// The real world.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealWorld;

impl World for RealWorld {
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the shell")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn fill(&self, bytes: &mut [u8]) {
        // Without a source of chance there are no secrets and no unique names, and no way to go on.
        #[expect(clippy::expect_used, reason = "a system without getrandom runs nothing of ours")]
        getrandom::fill(bytes).expect("the system has random bytes");
    }
}

/// Characters of generated names: no vowels, so no words, and nothing that looks alike.
const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LEN: usize = 5;

/// A random UID (version 4).
pub(crate) fn uid(world: &dyn World) -> String {
    let mut bytes = [0_u8; 16];
    world.fill(&mut bytes);
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf << 76) | (0x4 << 76);
    let number = number & !(0x3 << 62) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// What makes a name out of `generateName`.
pub(crate) fn suffix(world: &dyn World) -> String {
    let mut bytes = [0_u8; SUFFIX_LEN];
    world.fill(&mut bytes);
    let letter = |byte: &u8| {
        let at = usize::from(*byte) % SUFFIX_ALPHABET.len();
        char::from(*SUFFIX_ALPHABET.get(at).unwrap_or(&b'x'))
    };
    bytes.iter().map(letter).collect()
}

/// A secret for somebody to show: 256 bits.
pub(crate) fn token(world: &dyn World) -> String {
    let mut bytes = [0_u8; 32];
    world.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_of_version_4_and_never_the_same() {
        let (a, b) = (uid(&RealWorld), uid(&RealWorld));
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(a.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&a.as_bytes()[19]));
    }

    #[test]
    fn a_suffix_is_part_of_a_name() {
        let suffix = suffix(&RealWorld);
        assert_eq!(suffix.len(), SUFFIX_LEN);
        assert!(suffix.bytes().all(|byte| SUFFIX_ALPHABET.contains(&byte)));
    }
}
