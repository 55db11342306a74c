//! `punctual crd`: prints the CustomResourceDefinitions of ScheduledJob and RunRequest.

use clap::ValueEnum;
use punctual_api::crd::{self, CustomKind};
use punctual_schedule::Zones;

use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct CrdArgs {
    /// Print only the definition of this resource
    #[arg(value_name = "RESOURCE")]
    resource: Option<CustomResource>,
}

/// A resource with a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CustomResource {
    #[value(name = "scheduledjobs")]
    ScheduledJobs,
    #[value(name = "runrequests")]
    RunRequests,
}

impl CustomResource {
    fn kind(self) -> CustomKind {
        match self {
            CustomResource::ScheduledJobs => CustomKind::ScheduledJob,
            CustomResource::RunRequests => CustomKind::RunRequest,
        }
    }
}

/// Prints the definitions, as one YAML document each.
pub(crate) fn run(args: &CrdArgs, zones: &Zones) -> anyhow::Result<()> {
    let is_wanted =
        |kind: &CustomKind| args.resource.is_none_or(|resource| resource.kind() == *kind);
    let kinds = CustomKind::ALL.into_iter().filter(is_wanted);
    let documents: Vec<_> = kinds.map(|kind| crd::manifest(kind, zones)).collect();
    output::print(&documents.join("---\n"))
}
