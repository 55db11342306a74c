//! Tests of the file format: rows, header, checksums, and files of another version.

use std::{io, sync::Arc};

use super::*;
use crate::change::{Change, StoreEntry};

fn change(value: Option<&'static str>) -> Change {
    let current = value.map(|value| StoreEntry { value: value.into(), created: 3, modified: 7 });
    let archive_ops = Arc::default();
    Change { key: "/a".into(), revision: 7, current, previous: None, archive_ops }
}

#[test]
fn a_decoded_row_equals_the_encoded_change() {
    let mut bytes = Vec::new();
    for change in [change(Some("value")), change(Some("")), change(None)] {
        row::encode_value(7, &change.key, change.current.as_ref(), &mut bytes);
        let row = row::decode(7, &bytes).unwrap();
        assert_eq!((row.key, row.current), (change.key, change.current));
    }
}

#[test]
fn a_row_with_a_flipped_bit_or_another_revision_is_rejected() {
    let mut bytes = Vec::new();
    let change = change(Some("value"));
    row::encode_value(7, &change.key, change.current.as_ref(), &mut bytes);
    assert!(row::decode(8, &bytes).is_none());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(row::decode(7, &damaged).is_none(), "bit {bit} of byte {at}");
        }
        assert!(row::decode(7, &bytes[..at]).is_none(), "cut at {at}");
    }
}

#[test]
fn a_decoded_header_equals_the_encoded_one_and_checks_its_rows() {
    let changes = [Arc::new(change(Some("value")))];
    let batch = CommitBatch {
        changes: &changes,
        dropped: &[],
        revision: 7,
        compacted: 2,
        archive_ops: &[],
    };
    let header = LogHeader::default().with_batch(&batch);
    assert!(matches!(LogHeader::decode(&header.encode()), Ok(same) if same == header));
    let mut found = LogHeader::default();
    let missing = header.check_rows(&found);
    assert!(matches!(missing, Err(LoadError::Corrupted(detail)) if detail == "it has 0 of 1 rows"));
    found.add(8);
    assert!(header.check_rows(&found).is_err());
    let dropped =
        CommitBatch { changes: &[], dropped: &[7], revision: 7, compacted: 7, archive_ops: &[] };
    assert!(header.with_batch(&dropped).check_rows(&LogHeader::default()).is_ok());
}

#[test]
fn a_corrupted_header_is_rejected_and_a_newer_format_is_reported() {
    let bytes = LogHeader::default().encode();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(matches!(LogHeader::decode(&damaged), Err(LoadError::Corrupted(_))));
    }
    let body = [2_u64.to_le_bytes(), [0; 8]].concat();
    let newer = [&twox_hash::XxHash3_64::oneshot(&body).to_le_bytes(), body.as_slice()].concat();
    assert!(matches!(LogHeader::decode(&newer), Err(LoadError::UnsupportedFormat(2))));
}

#[test]
fn io_errors_become_errors_with_advice() {
    let converted =
        |kind: io::ErrorKind| errors::from_io("write", Path::new("/data/store"), kind.into());
    for (kind, advice) in [
        (io::ErrorKind::StorageFull, "no space left for /data/store; free some"),
        (io::ErrorKind::QuotaExceeded, "no space left"),
        (io::ErrorKind::ReadOnlyFilesystem, "/data/store cannot be written; check its owner"),
        (io::ErrorKind::PermissionDenied, "cannot be written"),
        (io::ErrorKind::InvalidData, "/data/store is corrupted"),
        (io::ErrorKind::NotConnected, "could not write /data/store"),
    ] {
        let message = converted(kind).to_string();
        assert!(message.contains(advice), "{message}");
    }
}
