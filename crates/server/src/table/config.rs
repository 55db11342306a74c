//! Config maps, secrets, leases, and what has nothing to show but its name.

use serde_json::Value;

use super::row::Row;
use super::{AGE, Column, Layout, NAME};

pub(super) static NAME_AND_AGE: Layout = Layout::new(&[NAME, AGE]);

pub(super) static CONFIG_MAP: Layout = Layout::new(&[
    NAME,
    Column::text("Data", "How many entries it has, binary ones included.", |row| {
        (row.entry_count("/data") + row.entry_count("/binaryData")).into()
    }),
    AGE,
]);

pub(super) static SECRET: Layout = Layout::new(&[
    NAME,
    Column::text("Type", "What the secret is for.", |row| row.text("/type").into()),
    Column::text("Data", "How many entries it has.", |row| row.entry_count("/data").into()),
    AGE,
]);

pub(super) static LEASE: Layout =
    Layout::new(&[NAME, Column::text("Holder", "Who holds the lease.", holder), AGE]);

fn holder(row: &Row<'_>) -> Value {
    row.text("/spec/holderIdentity").into()
}
