//! The rules of each kind, found by kind.

use jiff::Timestamp;
use serde_json::Value;

use super::{ResourceKind, refuse, typed};
use crate::core_v1::{ConfigMap, Namespace, Secret};
use crate::cronjob::CronJob;
use crate::event::Event;
use crate::field::FieldError;
use crate::job::Job;
use crate::lease::Lease;
use crate::meta::ObjectMeta;
use crate::pod::Pod;
use crate::status::Status;
use crate::validate::{self, ValidationOptions};
use crate::warnings;

/// One check of one object.
pub(super) struct Check<'a> {
    pub(super) kind: ResourceKind,
    pub(super) object: &'a Value,
    pub(super) rules: &'a ValidationOptions,
    pub(super) now: Timestamp,
}

impl Check<'_> {
    /// Errors refuse the object; otherwise the warnings.
    pub(super) fn create(&self) -> Result<Vec<String>, Status> {
        match self.kind {
            ResourceKind::CronJob(_) => {
                let cron_job = typed::<CronJob>(self.object)?;
                self.refuse(self.rules.cron_job_create(&cron_job))?;
                Ok(warnings::cron_job_create(self.rules, &cron_job, self.now))
            }
            ResourceKind::Job => {
                let job = typed::<Job>(self.object)?;
                self.refuse(validate::job_create(&job))?;
                Ok(warnings::job_create(&job))
            }
            ResourceKind::Pod => {
                let pod = typed::<Pod>(self.object)?;
                self.refuse(validate::pod_create(&pod))?;
                Ok(warnings::pod_create(&pod))
            }
            ResourceKind::Namespace => {
                self.plain(validate::namespace_create(&self.read::<Namespace>()?))
            }
            _ => self.plain(self.small(None)?),
        }
    }

    pub(super) fn update(&self, old: &Value) -> Result<Vec<String>, Status> {
        match self.kind {
            ResourceKind::CronJob(_) => {
                let (new, old) = (typed::<CronJob>(self.object)?, typed::<CronJob>(old)?);
                self.refuse(self.rules.cron_job_update(&new, &old))?;
                Ok(warnings::cron_job_update(self.rules, &new, &old, self.now))
            }
            ResourceKind::Job => {
                let (new, old) = (typed::<Job>(self.object)?, typed::<Job>(old)?);
                self.refuse(validate::job_update(&new, &old))?;
                Ok(warnings::job_update(&new, &old))
            }
            ResourceKind::Pod => {
                let (new, old) = (typed::<Pod>(self.object)?, typed::<Pod>(old)?);
                self.plain(validate::pod_update(&new, &old))
            }
            _ => self.plain(self.small(Some(old))?),
        }
    }

    /// The rules of the kinds that have few of them.
    fn small(&self, old: Option<&Value>) -> Result<Vec<FieldError>, Status> {
        Ok(match self.kind {
            ResourceKind::ConfigMap => validate::config_map(
                &self.read::<ConfigMap>()?,
                old.map(typed).transpose()?.as_ref(),
            ),
            ResourceKind::Secret => {
                validate::secret(&self.read::<Secret>()?, old.map(typed).transpose()?.as_ref())
            }
            ResourceKind::Lease => {
                validate::lease(&self.read::<Lease>()?, old.map(typed).transpose()?.as_ref())
            }
            ResourceKind::Event => {
                let old: Option<Event> = old.map(typed).transpose()?;
                validate::event(&self.read::<Event>()?, old.as_ref())
            }
            _ => self.metadata(old)?,
        })
    }

    fn metadata(&self, old: Option<&Value>) -> Result<Vec<FieldError>, Status> {
        let read = |object: &Value| {
            object.get("metadata").map_or_else(|| Ok(ObjectMeta::default()), typed::<ObjectMeta>)
        };
        let new = read(self.object)?;
        Ok(match old {
            Some(old) => validate::metadata_update(&new, &read(old)?),
            None => validate::metadata_create(&new, self.kind.is_namespaced()),
        })
    }

    fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, Status> {
        typed(self.object)
    }

    fn plain(&self, errors: Vec<FieldError>) -> Result<Vec<String>, Status> {
        self.refuse(errors)?;
        Ok(Vec::new())
    }

    fn refuse(&self, errors: Vec<FieldError>) -> Result<(), Status> {
        refuse(self.kind, self.object, errors)
    }
}
