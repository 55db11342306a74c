//! `punctual crd`: prints the CustomResourceDefinition of ScheduledJob.

use punctual_api::crd;

use crate::output;

pub(crate) fn run() -> anyhow::Result<()> {
    output::print(&crd::manifest())
}
