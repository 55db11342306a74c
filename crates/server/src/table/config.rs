//! The columns of ConfigMaps, Secrets, Leases, and of kinds that have only a name and an age, in
//! the tables that `kubectl get` shows.

use serde_json::Value;

use super::row::TableRow;
use super::{AGE, Column, NAME, TableLayout};

pub(super) static NAME_AND_AGE: TableLayout = TableLayout::new(&[NAME, AGE]);

pub(super) static CONFIG_MAP: TableLayout = TableLayout::new(&[
    NAME,
    Column::text("Data", "The number of entries, including binary ones.", |row| {
        (row.entry_count("/data") + row.entry_count("/binaryData")).into()
    }),
    AGE,
]);

pub(super) static SECRET: TableLayout = TableLayout::new(&[
    NAME,
    Column::text("Type", "The type of the Secret.", |row| row.text("/type").into()),
    Column::text("Data", "The number of entries.", |row| row.entry_count("/data").into()),
    AGE,
]);

pub(super) static LEASE: TableLayout =
    TableLayout::new(&[NAME, Column::text("Holder", "The holder of the lease.", holder), AGE]);

fn holder(row: &TableRow<'_>) -> Value {
    row.text("/spec/holderIdentity").into()
}
