//! `punctual crd`: prints the CustomResourceDefinition of ScheduledJob.

use punctual_api::crd;
use punctual_schedule::Zones;

use crate::output;

pub(crate) fn run(zones: &Zones) -> anyhow::Result<()> {
    output::print(&crd::manifest(zones))
}
