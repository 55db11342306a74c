//! Decodes what a terminal sends when a key is pressed.

/// A key, or a combination of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    /// Ctrl and a letter.
    Control(char),
}

const ESCAPE: u8 = 0x1b;
/// Longer sequences are no keys.
const SEQUENCE_LEN_MAX: usize = 32;

/// Decodes bytes as they arrive. A sequence may arrive in parts.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    pending: Vec<u8>,
}

/// What the beginning of the pending bytes is.
enum Decoded {
    Key(Key, usize),
    /// Bytes that are no key that we know.
    Unknown(usize),
    Incomplete,
}

impl KeyDecoder {
    /// Adds bytes and returns the keys that are complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            let used = match decode(&self.pending) {
                Decoded::Key(key, used) => {
                    keys.push(key);
                    used
                }
                Decoded::Unknown(used) => used,
                Decoded::Incomplete => return keys,
            };
            self.pending.drain(..used.min(self.pending.len()));
        }
    }

    /// Whether bytes wait for the rest of a sequence.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns the key of an incomplete sequence whose rest did not arrive: the Escape key was pressed alone.
    pub(super) fn finish(&mut self) -> Option<Key> {
        let is_escape = self.pending.first() == Some(&ESCAPE);
        self.pending.clear();
        is_escape.then_some(Key::Escape)
    }
}

fn decode(bytes: &[u8]) -> Decoded {
    match bytes {
        [] | [ESCAPE] => Decoded::Incomplete,
        [ESCAPE, b'[', rest @ ..] => decode_csi(rest),
        [ESCAPE, b'O', letter, ..] => known(letter_key(*letter), 3),
        [ESCAPE, b'O'] => Decoded::Incomplete,
        // Escape and then another key, which arrived together.
        [ESCAPE, ..] => Decoded::Key(Key::Escape, 1),
        [b'\r' | b'\n', ..] => Decoded::Key(Key::Enter, 1),
        [b'\t', ..] => Decoded::Key(Key::Tab, 1),
        [0x08 | 0x7f, ..] => Decoded::Key(Key::Backspace, 1),
        [0, ..] => Decoded::Unknown(1),
        [control @ 1..=26, ..] => Decoded::Key(Key::Control(char::from(control + b'a' - 1)), 1),
        [1..=0x1f, ..] => Decoded::Unknown(1),
        [first, ..] => decode_char(bytes, *first),
    }
}

/// Decodes `ESC [ parameters letter`.
fn decode_csi(rest: &[u8]) -> Decoded {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let is_too_long = rest.len() > SEQUENCE_LEN_MAX;
        return if is_too_long { Decoded::Unknown(2 + rest.len()) } else { Decoded::Incomplete };
    };
    let used = 2 + end + 1;
    let parameters = rest.get(..end).unwrap_or_default();
    match (rest.get(end), parameters) {
        (Some(b'~'), [b'1' | b'7', ..]) => known(Some(Key::Home), used),
        (Some(b'~'), [b'4' | b'8', ..]) => known(Some(Key::End), used),
        (Some(b'~'), [b'5', ..]) => known(Some(Key::PageUp), used),
        (Some(b'~'), [b'6', ..]) => known(Some(Key::PageDown), used),
        (Some(b'Z'), _) => known(Some(Key::Tab), used),
        // Reports of a mouse end with M.
        (Some(b'M'), _) => Decoded::Unknown(used),
        (Some(letter), _) => known(letter_key(*letter), used),
        (None, _) => Decoded::Unknown(used),
    }
}

fn letter_key(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        _ => return None,
    })
}

fn known(key: Option<Key>, used: usize) -> Decoded {
    key.map_or(Decoded::Unknown(used), |key| Decoded::Key(key, used))
}

/// Decodes a character in UTF-8.
fn decode_char(bytes: &[u8], first: u8) -> Decoded {
    let length = match first {
        0..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Decoded::Unknown(1),
    };
    let Some(encoded) = bytes.get(..length) else { return Decoded::Incomplete };
    match std::str::from_utf8(encoded).ok().and_then(|text| text.chars().next()) {
        Some(letter) if !letter.is_control() => Decoded::Key(Key::Char(letter), length),
        Some(_) => Decoded::Unknown(length),
        None => Decoded::Unknown(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded() {
        for (bytes, want) in [
            ("a/?", vec![Key::Char('a'), Key::Char('/'), Key::Char('?')]),
            ("ü漢", vec![Key::Char('ü'), Key::Char('漢')]),
            ("\x1b[A\x1b[B\x1bOC\x1b[D", vec![Key::Up, Key::Down, Key::Right, Key::Left]),
            ("\x1b[5~\x1b[6~\x1b[H\x1b[4~", vec![Key::PageUp, Key::PageDown, Key::Home, Key::End]),
            ("\x1b[1;5A", vec![Key::Up]),
            ("\r\t\x7f\x0c", vec![Key::Enter, Key::Tab, Key::Backspace, Key::Control('l')]),
            ("\x1b[24~\x1b[<0;1;1Mx", vec![Key::Char('x')]),
            ("\x1bq\x1b\x1b[A", vec![Key::Escape, Key::Char('q'), Key::Escape, Key::Up]),
        ] {
            assert_eq!(KeyDecoder::default().push(bytes.as_bytes()), want, "{bytes:?}");
        }
    }

    #[test]
    fn a_sequence_may_arrive_in_parts_and_escape_alone_is_a_key() {
        let mut decoder = KeyDecoder::default();
        let all = "ü\x1b[A漢".as_bytes();
        let keys: Vec<Key> = all.iter().flat_map(|byte| decoder.push(&[*byte])).collect();
        assert_eq!(keys, [Key::Char('ü'), Key::Up, Key::Char('漢')]);
        assert_eq!(decoder.push(b"\x1b"), []);
        assert!(decoder.is_incomplete());
        assert_eq!(decoder.finish(), Some(Key::Escape));
        assert_eq!(decoder.push(b"q"), [Key::Char('q')]);
    }

    #[test]
    fn no_bytes_cause_a_panic_or_are_kept_for_ever() {
        let mut decoder = KeyDecoder::default();
        let mut state = 7_u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            decoder.push(&[(state >> 56) as u8]);
            assert!(decoder.pending.len() <= SEQUENCE_LEN_MAX + 4);
        }
    }
}
