//! `punctual next`: lists the next slots (scheduled times) of a schedule.

use punctual_schedule::Zone;
use serde::Serialize;

use crate::{
    args::{Format, NextArgs},
    output,
    slots::{self, SlotList, SlotRow},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NextOutput<'a> {
    schedule: &'a str,
    time_zone: &'a str,
    after: String,
    slots: &'a [SlotRow],
}

pub(crate) fn run(args: &NextArgs, zone: &Zone) -> anyhow::Result<()> {
    let schedule = slots::parse_schedule(&args.expr, zone)?;
    let slots = SlotList::from_args(&schedule, &args.range)?;
    match args.output.output {
        Format::Table => output::print(&slots.table(schedule.zone())),
        Format::Json => output::print_json(&NextOutput {
            schedule: schedule.text(),
            time_zone: schedule.zone().name(),
            after: slots.after.to_string(),
            slots: &slots.slots,
        }),
    }
}
