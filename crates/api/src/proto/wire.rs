//! The wire of protobuf: tags, numbers and stretches of bytes, with the words that Kubernetes'
//! generated readers have for what is wrong.
//!
//! Nothing here copies or recurses: a stretch is part of the input, and what is skipped is counted.

/// A number of 7 bits a byte, the lowest first.
pub(super) const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
/// A length, and as many bytes.
pub(super) const STRETCH: u8 = 2;
const GROUP_START: u8 = 3;
const GROUP_END: u8 = 4;
const FIXED_32: u8 = 5;

const UNEXPECTED_END: &str = "unexpected EOF";
const OVERFLOW: &str = "proto: integer overflow";
const NEGATIVE_LENGTH: &str = "proto: negative length found during unmarshaling";

/// What stands before every field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire_type: u8,
}

impl Tag {
    /// Refuses another wire type than the one that a field has.
    pub(super) fn expect(self, wire_type: u8, field: &str) -> Result<(), String> {
        if self.wire_type == wire_type { Ok(()) } else { Err(self.wrong(field)) }
    }

    fn wrong(self, field: &str) -> String {
        format!("proto: wrong wireType = {} for field {field}", self.wire_type)
    }
}

/// The rest of a message.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Reader<'a> {
        Reader { rest: message }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next tag of a message of this name; none at its end.
    pub(super) fn tag(&mut self, message: &str) -> Result<Option<Tag>, String> {
        if self.is_at_end() {
            return Ok(None);
        }
        let (key, tag) = self.key()?;
        if tag.wire_type == GROUP_END {
            return Err(format!("proto: {message}: wiretype end group for non-group"));
        }
        // Go takes the number for one of 32 bits with a sign.
        let number = tag.number.cast_signed();
        if number <= 0 {
            return Err(format!("proto: {message}: illegal tag {number} (wire type {key})"));
        }
        Ok(Some(tag))
    }

    fn key(&mut self) -> Result<(u64, Tag), String> {
        let key = self.varint()?;
        // Both are cut as Go cuts them.
        Ok((key, Tag { number: (key >> 3) as u32, wire_type: (key & 7) as u8 }))
    }

    /// The number of a field.
    pub(super) fn number(&mut self, tag: Tag, field: &str) -> Result<i64, String> {
        tag.expect(VARINT, field)?;
        Ok(self.varint()?.cast_signed())
    }

    /// The bytes of a field.
    pub(super) fn bytes(&mut self, tag: Tag, field: &str) -> Result<&'a [u8], String> {
        tag.expect(STRETCH, field)?;
        self.stretch()
    }

    /// The text of a field.
    pub(super) fn text(&mut self, tag: Tag, field: &str) -> Result<&'a str, String> {
        let bytes = self.bytes(tag, field)?;
        std::str::from_utf8(bytes)
            .map_err(|_| format!("proto: field {field} contains invalid UTF-8"))
    }

    /// Passes over a field that nobody knows, with all that is in it if it is a group.
    pub(super) fn skip(&mut self, tag: Tag) -> Result<(), String> {
        let (mut tag, mut open_groups) = (tag, 0_usize);
        loop {
            match tag.wire_type {
                VARINT => self.varint().map(drop)?,
                FIXED_64 => self.take(8).map(drop)?,
                STRETCH => self.stretch().map(drop)?,
                GROUP_START => open_groups += 1,
                // The first tag is no end of a group, so one is open.
                GROUP_END => open_groups = open_groups.saturating_sub(1),
                FIXED_32 => self.take(4).map(drop)?,
                other => return Err(format!("proto: illegal wireType {other}")),
            }
            if open_groups == 0 {
                return Ok(());
            }
            (_, tag) = self.key()?;
        }
    }

    /// The next number. As in Go, bits beyond the 64th are lost, but not bytes beyond the tenth.
    pub(super) fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(UNEXPECTED_END)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(number);
            }
        }
        Err(OVERFLOW.to_owned())
    }

    fn stretch(&mut self) -> Result<&'a [u8], String> {
        let length = self.varint()?.cast_signed();
        if length < 0 {
            return Err(NEGATIVE_LENGTH.to_owned());
        }
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(UNEXPECTED_END)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(bytes: &[u8]) -> Result<usize, String> {
        let mut reader = Reader::new(bytes);
        let tag = reader.tag("M")?.unwrap();
        reader.skip(tag)?;
        Ok(bytes.len() - reader.rest.len())
    }

    #[test]
    fn numbers_have_up_to_ten_bytes() {
        let varint = |bytes: &[u8]| Reader::new(bytes).varint();
        assert_eq!(varint(&[0xac, 0x02]), Ok(300));
        assert_eq!(
            varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            Ok(u64::MAX)
        );
        assert_eq!(varint(&[0xff; 11]), Err(OVERFLOW.to_owned()));
        assert_eq!(varint(&[0xff; 3]), Err(UNEXPECTED_END.to_owned()));
        assert_eq!(varint(&[]), Err(UNEXPECTED_END.to_owned()));
    }

    #[test]
    fn fields_of_every_wire_type_are_skipped_whole() {
        assert_eq!(skipped(&[0x08, 0x80, 0x01, 9]), Ok(3));
        assert_eq!(skipped(&[0x09, 1, 2, 3, 4, 5, 6, 7, 8, 9]), Ok(9));
        assert_eq!(skipped(&[0x0a, 2, 7, 7, 9]), Ok(4));
        assert_eq!(skipped(&[0x0d, 1, 2, 3, 4, 9]), Ok(5));
        assert_eq!(skipped(&[0x0b, 0x13, 0x08, 1, 0x14, 0x0c, 9]), Ok(6));
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_the_generated_readers() {
        for (bytes, why) in [
            (&[0x0a, 5, 1][..], UNEXPECTED_END),
            (&[0x09, 1], UNEXPECTED_END),
            (&[0x0b, 0x08, 1], UNEXPECTED_END),
            (&[0x0e], "proto: illegal wireType 6"),
            (&[0x0c], "proto: M: wiretype end group for non-group"),
            (&[0x00], "proto: M: illegal tag 0 (wire type 0)"),
            (
                &[0x80, 0x80, 0x80, 0x80, 0x40],
                "proto: M: illegal tag -2147483648 (wire type 17179869184)",
            ),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], NEGATIVE_LENGTH),
        ] {
            assert_eq!(skipped(bytes), Err(why.to_owned()), "{bytes:?}");
        }
    }
}
