//! Changes `spec.suspend` and the annotations of a suspension, with one write that fails if the object has changed.

use http::Request;
use punctual_api::CronJob;
use punctual_api::well_known::annotations;
use punctual_client::resources::cron_jobs_of;
use punctual_views::annotation;
use serde_json::{Map, Value, json};

use crate::error::ReadError;
use crate::reader::Reader;

/// How often a write is repeated because the object was changed at the same time. The controller writes the status.
const ATTEMPTS_MAX: u32 = 10;

/// Which slots that were due during a suspension run after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedSlots {
    /// None.
    Drop,
    /// The latest, or all with the policy `CatchUp`.
    Latest,
    /// All, one after another, the oldest first.
    All,
}

impl MissedSlots {
    /// Returns the value of the annotation `punctual.dev/resume-missed`; `None` for the default.
    pub fn annotation(self) -> Option<&'static str> {
        match self {
            MissedSlots::Drop => Some("drop"),
            MissedSlots::Latest => None,
            MissedSlots::All => Some("all"),
        }
    }
}

/// Whether a write is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It is made.
    Commit,
    /// The server checks it only.
    ServerDryRun,
    /// It is not sent.
    ClientDryRun,
}

/// The suspension to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspensionPatch {
    /// Whether the CronJob is to be suspended.
    pub is_suspended: bool,
    /// When it is resumed; an absent annotation is removed, as the next two.
    pub until: Option<String>,
    /// Why it is suspended.
    pub reason: Option<String>,
    /// Who suspends it.
    pub by: Option<String>,
    /// Which slots of the suspension run after it; unchanged if `None`.
    pub missed: Option<MissedSlots>,
}

impl SuspensionPatch {
    /// Resumes and removes all annotations.
    pub fn resume(missed: Option<MissedSlots>) -> SuspensionPatch {
        SuspensionPatch { is_suspended: false, until: None, reason: None, by: None, missed }
    }

    /// Whether a CronJob is already so.
    fn is_done(&self, cron_job: &CronJob) -> bool {
        let values = [&self.until, &self.reason, &self.by];
        let is_same =
            |key, value: &Option<String>| cron_job.metadata.annotation(key) == value.as_deref();
        cron_job.is_suspended() == self.is_suspended
            && annotation::ALL.into_iter().zip(values).all(|(key, value)| is_same(key, value))
    }

    /// The merge patch. The resource version makes the server refuse it if the object has changed.
    fn to_json(&self, cron_job: &CronJob) -> Value {
        let values = [&self.until, &self.reason, &self.by];
        let values = annotation::ALL.into_iter().zip(values);
        let mut annotations: Map<String, Value> =
            values.map(|(key, value)| (key.to_owned(), json!(value))).collect();
        if let Some(missed) = self.missed {
            annotations.insert(annotations::RESUME_MISSED.to_owned(), json!(missed.annotation()));
        }
        let metadata = &cron_job.metadata;
        json!({
            "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version, "annotations": annotations},
            "spec": {"suspend": self.is_suspended},
        })
    }
}

/// Writes a suspension. Returns whether it changed the CronJob.
pub async fn write_suspension(
    reader: &Reader,
    cron_job: &CronJob,
    patch: &SuspensionPatch,
    mode: WriteMode,
) -> Result<bool, ReadError> {
    let kind = cron_job.cron_job_kind().unwrap_or(punctual_api::CronJobKind::BatchV1);
    let metadata = &cron_job.metadata;
    let path = cron_jobs_of(kind).object_path(&metadata.namespace, &metadata.name);
    let mut current = cron_job.clone();
    for _ in 0..ATTEMPTS_MAX {
        if patch.is_done(&current) {
            return Ok(false);
        }
        if mode == WriteMode::ClientDryRun {
            return Ok(true);
        }
        let query = if mode == WriteMode::ServerDryRun { "?dryRun=All" } else { "" };
        let request = Request::patch(format!("{path}{query}"))
            .header("Content-Type", "application/merge-patch+json")
            .body(patch.to_json(&current).to_string().into_bytes())?;
        match reader.send::<Value>(request).await? {
            Ok(_) => return Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                current = reread(reader, &path, &current).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(ReadError::Contended(cron_job.key().into_owned(), ATTEMPTS_MAX))
}

/// Reads the CronJob again. Another object of the same name is not changed.
async fn reread(reader: &Reader, path: &str, before: &CronJob) -> Result<CronJob, ReadError> {
    let found: Option<CronJob> = reader.get_optional(path).await?;
    match found.filter(|found| found.metadata.uid == before.metadata.uid) {
        Some(found) => Ok(found),
        None => Err(ReadError::Deleted(before.key().into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron_job(suspend: bool) -> CronJob {
        let object = json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "7",
                "annotations": {"punctual.dev/suspended-reason": "upgrade"}},
            "spec": {"suspend": suspend},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_patch_names_the_version_and_removes_what_is_absent() {
        let patch = SuspensionPatch::resume(None).to_json(&cron_job(true));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert_eq!(patch["metadata"]["uid"], "u");
        assert!(patch["metadata"]["annotations"]["punctual.dev/suspended-reason"].is_null());
        assert_eq!(patch["spec"]["suspend"], false);
        assert!(patch["metadata"]["annotations"].get("punctual.dev/resume-missed").is_none());
        for (choice, want) in [(MissedSlots::Latest, json!(null)), (MissedSlots::All, json!("all"))]
        {
            let patch = SuspensionPatch::resume(Some(choice)).to_json(&cron_job(true));
            assert_eq!(patch["metadata"]["annotations"]["punctual.dev/resume-missed"], want);
        }
    }

    #[test]
    fn nothing_is_written_if_nothing_changes() {
        let again = SuspensionPatch {
            is_suspended: true,
            until: None,
            reason: Some("upgrade".into()),
            by: None,
            missed: None,
        };
        assert!(again.is_done(&cron_job(true)));
        assert!(!again.is_done(&cron_job(false)));
        assert!(
            !SuspensionPatch::resume(None).is_done(&cron_job(false)),
            "the annotation is removed"
        );
    }
}
