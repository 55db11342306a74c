//! Tests of reading damaged files. `tests/store/damage.rs` has random damages.

use super::*;

#[test]
fn arbitrary_bytes_have_no_entries() {
    for bytes in [&[][..], &[1; 10_000], &[2; 10_000], b"redb\x1A\x0A\xA9\x0D\x0A"] {
        let salvage = Salvage::read(bytes);
        assert!(salvage.entries.is_empty() && !salvage.damage.is_confined());
    }
}
