//! `punctual version`.

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
    let (version, tzdata) = (env!("CARGO_PKG_VERSION"), zones.version());
    match args.output.output {
        Format::Table => output::print(&format!("punctual {version}\ntzdata {tzdata}\n")),
        Format::Json => output::print_json(&VersionOutput { version, tzdata }),
    }
}
