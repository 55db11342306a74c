//! Runs the validation and the warnings of one write, by the kind of the object. The rules are in
//! [`crate::validate`] and [`crate::warnings`].

use jiff::Timestamp;
use serde_json::Value;

use super::{ResourceKind, read_as, read_run_request, reject_invalid};
use crate::core_v1::{ConfigMap, Namespace, ResourceQuota, Secret};
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

/// The validation of one write.
pub(super) struct Validation<'a> {
    pub(super) kind: ResourceKind,
    pub(super) object: &'a Value,
    pub(super) rules: &'a ValidationOptions,
    pub(super) now: Timestamp,
}

impl Validation<'_> {
    /// Returns the warnings, or an error if the object is invalid.
    pub(super) fn create(&self) -> Result<Vec<String>, Status> {
        match self.kind {
            ResourceKind::CronJob(_) => {
                let cron_job = read_as::<CronJob>(self.object)?;
                self.reject_invalid(self.rules.cron_job_create(&cron_job))?;
                Ok(warnings::cron_job_create(self.rules, &cron_job, self.now))
            }
            ResourceKind::Job => {
                let job = read_as::<Job>(self.object)?;
                self.reject_invalid(validate::job_create(&job))?;
                Ok(warnings::job_create(&job))
            }
            ResourceKind::Pod => {
                let pod = read_as::<Pod>(self.object)?;
                self.reject_invalid(validate::pod_create(&pod))?;
                Ok(warnings::pod_create(&pod))
            }
            ResourceKind::Namespace => {
                self.without_warnings(validate::namespace_create(&self.read::<Namespace>()?))
            }
            ResourceKind::ResourceQuota => self.resource_quota(None),
            ResourceKind::RunRequest => {
                self.without_warnings(validate::run_request_create(&read_run_request(self.object)?))
            }
            _ => self.without_warnings(self.simple_kind(None)?),
        }
    }

    pub(super) fn update(&self, old: &Value) -> Result<Vec<String>, Status> {
        match self.kind {
            ResourceKind::CronJob(_) => {
                let new = read_as::<CronJob>(self.object)?;
                let old = read_as::<CronJob>(old)?;
                self.reject_invalid(self.rules.cron_job_update(&new, &old))?;
                Ok(warnings::cron_job_update(self.rules, &new, &old, self.now))
            }
            ResourceKind::Job => {
                let new = read_as::<Job>(self.object)?;
                let old = read_as::<Job>(old)?;
                self.reject_invalid(validate::job_update(&new, &old))?;
                Ok(warnings::job_update(&new, &old))
            }
            ResourceKind::Pod => {
                let new = read_as::<Pod>(self.object)?;
                let old = read_as::<Pod>(old)?;
                self.without_warnings(validate::pod_update(&new, &old))
            }
            ResourceKind::ResourceQuota => self.resource_quota(Some(&read_as(old)?)),
            ResourceKind::RunRequest => {
                let new = read_run_request(self.object)?;
                self.without_warnings(validate::run_request_update(&new, &read_as(old)?))
            }
            _ => self.without_warnings(self.simple_kind(Some(old))?),
        }
    }

    fn resource_quota(&self, old: Option<&ResourceQuota>) -> Result<Vec<String>, Status> {
        let new = self.read::<ResourceQuota>()?;
        self.reject_invalid(validate::resource_quota(&new, old))?;
        Ok(warnings::resource_quota(&new))
    }

    /// Validates the kinds that have few rules.
    fn simple_kind(&self, old: Option<&Value>) -> Result<Vec<FieldError>, Status> {
        Ok(match self.kind {
            ResourceKind::ConfigMap => validate::config_map(
                &self.read::<ConfigMap>()?,
                old.map(read_as).transpose()?.as_ref(),
            ),
            ResourceKind::Secret => {
                validate::secret(&self.read::<Secret>()?, old.map(read_as).transpose()?.as_ref())
            }
            ResourceKind::Lease => {
                validate::lease(&self.read::<Lease>()?, old.map(read_as).transpose()?.as_ref())
            }
            ResourceKind::Event => {
                let old: Option<Event> = old.map(read_as).transpose()?;
                validate::event(&self.read::<Event>()?, old.as_ref())
            }
            _ => self.metadata(old)?,
        })
    }

    fn metadata(&self, old: Option<&Value>) -> Result<Vec<FieldError>, Status> {
        let read = |object: &Value| {
            object.get("metadata").map_or_else(|| Ok(ObjectMeta::default()), read_as::<ObjectMeta>)
        };
        let new = read(self.object)?;
        Ok(match old {
            Some(old) => validate::metadata_update(&new, &read(old)?),
            None => validate::metadata_create(&new, self.kind.is_namespaced()),
        })
    }

    fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, Status> {
        read_as(self.object)
    }

    fn without_warnings(&self, errors: Vec<FieldError>) -> Result<Vec<String>, Status> {
        self.reject_invalid(errors)?;
        Ok(Vec::new())
    }

    fn reject_invalid(&self, errors: Vec<FieldError>) -> Result<(), Status> {
        reject_invalid(self.kind, self.object, errors)
    }
}
