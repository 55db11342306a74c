use std::{io, sync::Arc};

use super::*;
use crate::change::{Change, Entry};

fn written(value: Option<&'static str>) -> Change {
    let current = value.map(|value| Entry { value: value.into(), created: 3, modified: 7 });
    Change { key: "/a".into(), revision: 7, current, previous: None }
}

#[test]
fn a_row_comes_back_as_it_was() {
    let mut bytes = Vec::new();
    for change in [written(Some("value")), written(Some("")), written(None)] {
        row::encode(&change, &mut bytes);
        let row = row::decode(7, &bytes).unwrap();
        assert_eq!((row.key, row.current), (change.key, change.current));
    }
}

#[test]
fn a_row_with_any_flipped_bit_or_of_another_revision_is_refused() {
    let mut bytes = Vec::new();
    row::encode(&written(Some("value")), &mut bytes);
    assert!(row::decode(8, &bytes).is_err());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(row::decode(7, &damaged).is_err(), "bit {bit} of byte {at}");
        }
        assert!(row::decode(7, &bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn a_record_comes_back_as_it_was_and_knows_its_rows() {
    let changes = [Arc::new(written(Some("value")))];
    let batch = Batch { changes: &changes, dropped: &[], revision: 7, compacted: 2 };
    let record = Record::default().after(&batch);
    assert!(matches!(Record::decode(&record.encode()), Ok(same) if same == record));
    let mut found = Record::default();
    assert!(record.compare(&found).unwrap_err().contains("1 rows were written, 0"));
    found.add(8);
    assert!(record.compare(&found).is_err());
    let dropped = Batch { changes: &[], dropped: &[7], revision: 7, compacted: 7 };
    assert!(record.after(&dropped).compare(&Record::default()).is_ok());
}

#[test]
fn a_damaged_record_is_refused_and_a_newer_one_named() {
    let bytes = Record::default().encode();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(matches!(Record::decode(&damaged), Err(Refusal::Damage(_))));
    }
    let body = [2_u64.to_le_bytes(), [0; 8]].concat();
    let newer = [&twox_hash::XxHash3_64::oneshot(&body).to_le_bytes(), body.as_slice()].concat();
    assert!(matches!(Record::decode(&newer), Err(Refusal::Format(2))));
}

#[test]
fn what_the_system_says_becomes_advice() {
    let said = |kind: io::ErrorKind| fault::io("write", Path::new("/data/store"), kind.into());
    for (kind, advice) in [
        (io::ErrorKind::StorageFull, "no space left for /data/store; free some"),
        (io::ErrorKind::QuotaExceeded, "no space left"),
        (io::ErrorKind::ReadOnlyFilesystem, "/data/store cannot be written; check its owner"),
        (io::ErrorKind::PermissionDenied, "cannot be written"),
        (io::ErrorKind::InvalidData, "/data/store is damaged"),
        (io::ErrorKind::NotConnected, "could not write /data/store"),
    ] {
        let said = said(kind).to_string();
        assert!(said.contains(advice), "{said}");
    }
}
