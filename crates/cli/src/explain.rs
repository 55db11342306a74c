//! `punctual explain`: what a schedule means.

use punctual_schedule::{Lint, Schedule, Zone};
use serde::Serialize;

use crate::{
    args::{Explain, Format},
    output,
    slots::{self, Slot, Slots},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    schedule: &'a str,
    time_zone: &'a str,
    description: String,
    lints: Vec<Finding>,
    slots: &'a [Slot],
}

#[derive(Serialize)]
struct Finding {
    code: &'static str,
    message: String,
}

pub(crate) fn run(args: &Explain, zone: &Zone) -> anyhow::Result<()> {
    let schedule = slots::parse_schedule(&args.expr, zone)?;
    let coming = Slots::asked(&schedule, &args.span)?;
    let lints = schedule.lints(coming.after);
    match args.output.output {
        Format::Table => output::print(&explain(&schedule, &lints, &coming)),
        Format::Json => output::print_json(&Answer {
            schedule: schedule.text(),
            time_zone: schedule.zone().name(),
            description: schedule.describe(),
            lints: lints.iter().map(Finding::of).collect(),
            slots: &coming.slots,
        }),
    }
}

impl Finding {
    fn of(lint: &Lint) -> Finding {
        Finding { code: lint.code(), message: lint.to_string() }
    }
}

fn explain(schedule: &Schedule, lints: &[Lint], coming: &Slots) -> String {
    let mut text = format!("{}.\n", schedule.describe());
    for lint in lints {
        text.push_str(&format!("\nnote: {lint} [{}]\n", lint.code()));
    }
    format!("{text}\n{}", coming.table(schedule.zone()))
}
