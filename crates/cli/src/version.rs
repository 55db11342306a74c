//! `punctual version`.

use punctual_schedule::Zones;
use serde::Serialize;

use crate::{
    args::{Format, Version},
    output,
};

#[derive(Serialize)]
struct Answer<'a> {
    version: &'a str,
    tzdata: &'a str,
}

pub(crate) fn run(args: &Version, zones: &Zones) -> anyhow::Result<()> {
    let (version, tzdata) = (env!("CARGO_PKG_VERSION"), zones.version());
    match args.output.output {
        Format::Table => output::print(&format!("punctual {version}\ntzdata {tzdata}\n")),
        Format::Json => output::print_json(&Answer { version, tzdata }),
    }
}
