//! The protobuf wire format: tags, varints and length-delimited fields.
//!
//! Nothing here copies or recurses: a length-delimited field borrows from the input, and nested
//! groups are counted while they are skipped.

use super::error::ProtoError;

/// Wire type of an integer with 7 bits per byte, lowest bits first.
pub(super) const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
/// Wire type of a length followed by that many bytes.
pub(super) const LENGTH_DELIMITED: u8 = 2;
const GROUP_START: u8 = 3;
const GROUP_END: u8 = 4;
const FIXED_32: u8 = 5;

/// The number and wire type that precede every field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire_type: u8,
}

impl Tag {
    /// Rejects a wire type that does not match the type of the field.
    pub(super) fn expect(self, wire_type: u8, field: &str) -> Result<(), ProtoError> {
        if self.wire_type == wire_type {
            return Ok(());
        }
        Err(ProtoError::WrongWireType { wire_type: self.wire_type, field: field.to_owned() })
    }
}

/// Reads the fields of a message.
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

    /// Reads the next tag. Returns `None` at the end of the message.
    pub(super) fn tag(&mut self, message: &str) -> Result<Option<Tag>, ProtoError> {
        if self.is_at_end() {
            return Ok(None);
        }
        let (key, tag) = self.key()?;
        if tag.wire_type == GROUP_END {
            return Err(ProtoError::EndGroup { message: message.to_owned() });
        }
        // Go reads the number as a signed 32-bit integer.
        let number = tag.number.cast_signed();
        if number <= 0 {
            return Err(ProtoError::IllegalTag { message: message.to_owned(), number, key });
        }
        Ok(Some(tag))
    }

    fn key(&mut self) -> Result<(u64, Tag), ProtoError> {
        let key = self.varint()?;
        // Truncates both like Go.
        Ok((key, Tag { number: (key >> 3) as u32, wire_type: (key & 7) as u8 }))
    }

    /// Reads the value of an integer field.
    pub(super) fn number(&mut self, tag: Tag, field: &str) -> Result<i64, ProtoError> {
        tag.expect(VARINT, field)?;
        Ok(self.varint()?.cast_signed())
    }

    /// Reads the value of a bytes or message field.
    pub(super) fn bytes(&mut self, tag: Tag, field: &str) -> Result<&'a [u8], ProtoError> {
        tag.expect(LENGTH_DELIMITED, field)?;
        self.length_delimited()
    }

    /// Reads the value of a string field.
    pub(super) fn text(&mut self, tag: Tag, field: &str) -> Result<&'a str, ProtoError> {
        let bytes = self.bytes(tag, field)?;
        std::str::from_utf8(bytes).map_err(|_| ProtoError::InvalidUtf8 { field: field.to_owned() })
    }

    /// Skips an unknown field, including the content of a group.
    pub(super) fn skip(&mut self, mut tag: Tag) -> Result<(), ProtoError> {
        let mut open_groups = 0_usize;
        loop {
            match tag.wire_type {
                VARINT => self.varint().map(drop)?,
                FIXED_64 => self.take(8).map(drop)?,
                LENGTH_DELIMITED => self.length_delimited().map(drop)?,
                GROUP_START => open_groups += 1,
                // The first tag never ends a group, so at least one is open.
                GROUP_END => open_groups = open_groups.saturating_sub(1),
                FIXED_32 => self.take(4).map(drop)?,
                other => return Err(ProtoError::IllegalWireType(other)),
            }
            if open_groups == 0 {
                return Ok(());
            }
            (_, tag) = self.key()?;
        }
    }

    /// Reads an integer. Like Go, drops bits beyond the 64th and rejects more than ten bytes.
    pub(super) fn varint(&mut self) -> Result<u64, ProtoError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(ProtoError::UnexpectedEnd)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(number);
            }
        }
        Err(ProtoError::Overflow)
    }

    fn length_delimited(&mut self) -> Result<&'a [u8], ProtoError> {
        let length = self.varint()?.cast_signed();
        if length < 0 {
            return Err(ProtoError::NegativeLength);
        }
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtoError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtoError::UnexpectedEnd)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many bytes the first field takes.
    fn skip_first(bytes: &[u8]) -> Result<usize, ProtoError> {
        let mut reader = Reader::new(bytes);
        let tag = reader.tag("M")?.unwrap();
        reader.skip(tag)?;
        Ok(bytes.len() - reader.rest.len())
    }

    #[test]
    fn varints_have_up_to_ten_bytes() {
        let varint = |bytes: &[u8]| Reader::new(bytes).varint();
        assert_eq!(varint(&[0xac, 0x02]), Ok(300));
        assert_eq!(
            varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            Ok(u64::MAX)
        );
        assert_eq!(varint(&[0xff; 11]), Err(ProtoError::Overflow));
        assert_eq!(varint(&[0xff; 3]), Err(ProtoError::UnexpectedEnd));
        assert_eq!(varint(&[]), Err(ProtoError::UnexpectedEnd));
    }

    #[test]
    fn unknown_fields_of_every_wire_type_are_skipped() {
        assert_eq!(skip_first(&[0x08, 0x80, 0x01, 9]), Ok(3));
        assert_eq!(skip_first(&[0x09, 1, 2, 3, 4, 5, 6, 7, 8, 9]), Ok(9));
        assert_eq!(skip_first(&[0x0a, 2, 7, 7, 9]), Ok(4));
        assert_eq!(skip_first(&[0x0d, 1, 2, 3, 4, 9]), Ok(5));
        assert_eq!(skip_first(&[0x0b, 0x13, 0x08, 1, 0x14, 0x0c, 9]), Ok(6));
    }

    #[test]
    fn errors_have_the_texts_of_the_generated_decoders() {
        for (bytes, why) in [
            (&[0x0a, 5, 1][..], "unexpected EOF"),
            (&[0x09, 1], "unexpected EOF"),
            (&[0x0b, 0x08, 1], "unexpected EOF"),
            (&[0x0e], "proto: illegal wireType 6"),
            (&[0x0c], "proto: M: wiretype end group for non-group"),
            (&[0x00], "proto: M: illegal tag 0 (wire type 0)"),
            (
                &[0x80, 0x80, 0x80, 0x80, 0x40],
                "proto: M: illegal tag -2147483648 (wire type 17179869184)",
            ),
            (
                &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
                "proto: negative length found during unmarshaling",
            ),
        ] {
            assert_eq!(skip_first(bytes).unwrap_err().to_string(), why, "{bytes:?}");
        }
    }
}
