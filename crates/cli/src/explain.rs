//! `punctual explain`: describes a schedule, warns about mistakes in it, and lists its next slots
//! (scheduled times).

use punctual_schedule::{Lint, Schedule, Zone};
use serde::Serialize;

use crate::{
    args::{ExplainArgs, Format},
    output,
    slots::{self, SlotList, SlotRow},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainOutput<'a> {
    schedule: &'a str,
    time_zone: &'a str,
    description: String,
    lints: Vec<LintOutput>,
    slots: &'a [SlotRow],
}

#[derive(Serialize)]
struct LintOutput {
    code: &'static str,
    message: String,
}

pub(crate) fn run(args: &ExplainArgs, zone: &Zone) -> anyhow::Result<()> {
    let schedule = slots::parse_schedule(&args.expr, zone)?;
    let slots = SlotList::from_args(&schedule, &args.range)?;
    let lints = schedule.lints(slots.after);
    match args.output.output {
        Format::Table => output::print(&explanation(&schedule, &lints, &slots)),
        Format::Json => output::print_json(&ExplainOutput {
            schedule: schedule.text(),
            time_zone: schedule.zone().name(),
            description: schedule.describe(),
            lints: lints.iter().map(LintOutput::new).collect(),
            slots: &slots.slots,
        }),
    }
}

impl LintOutput {
    fn new(lint: &Lint) -> LintOutput {
        LintOutput { code: lint.code(), message: lint.to_string() }
    }
}

fn explanation(schedule: &Schedule, lints: &[Lint], slots: &SlotList) -> String {
    let mut text = format!("{}.\n", schedule.describe());
    for lint in lints {
        text.push_str(&format!("\nnote: {lint} [{}]\n", lint.code()));
    }
    format!("{text}\n{}", slots.table(schedule.zone()))
}
