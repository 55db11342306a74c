//! Tests of the import: equivalence by simulation, golden tables, and valid manifests.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod civil_minutes;
mod commands;
mod crontab_equivalence;
mod golden;
mod kubernetes;
mod robustness;
mod systemd_equivalence;
mod vixie_oracle;

use punctual_api::CronJobKind;
use punctual_import::{ImportOptions, Importer, UserTable};
use punctual_schedule::Zones;

/// The instant that imports take as the present.
pub(crate) const NOW: &str = "2026-11-18T06:00:00Z";

/// Starts an import into CronJobs in a zone.
pub(crate) fn importer(zone: &str) -> Importer {
    importer_of(zone, CronJobKind::BatchV1)
}

pub(crate) fn importer_of(zone: &str, kind: CronJobKind) -> Importer {
    Importer::new(ImportOptions {
        kind,
        namespace: None,
        image: "none".into(),
        zone: Zones::bundled().get(zone).unwrap(),
        is_zone_explicit: false,
        users: UserTable::parse(include_str!("../../testdata/passwd")),
        now: NOW.parse().unwrap(),
    })
}
