//! `punctual version`: prints the versions of the program and of its time zone data.

use punctual_schedule::Zones;
use serde::Serialize;

use crate::{
    args::{Format, VersionArgs},
    output,
};

#[derive(Serialize)]
struct VersionOutput<'a> {
    version: &'a str,
    tzdata: &'a str,
}

pub(crate) fn run(args: &VersionArgs, zones: &Zones) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let tzdata = zones.version();
    match args.output.output {
        Format::Table => output::print(&format!("punctual {version}\ntzdata {tzdata}\n")),
        Format::Json => output::print_json(&VersionOutput { version, tzdata }),
    }
}
