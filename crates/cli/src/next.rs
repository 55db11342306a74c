//! `punctual next`: when a schedule runs.

use punctual_schedule::Zone;
use serde::Serialize;

use crate::{
    args::{Format, Next},
    output,
    slots::{self, Slot, Slots},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    schedule: &'a str,
    time_zone: &'a str,
    after: String,
    slots: &'a [Slot],
}

pub(crate) fn run(args: &Next, zone: &Zone) -> anyhow::Result<()> {
    let schedule = slots::parse_schedule(&args.expr, zone)?;
    let coming = Slots::asked(&schedule, &args.span)?;
    match args.output.output {
        Format::Table => output::print(&coming.table(schedule.zone())),
        Format::Json => output::print_json(&Answer {
            schedule: schedule.text(),
            time_zone: schedule.zone().name(),
            after: coming.after.to_string(),
            slots: &coming.slots,
        }),
    }
}
