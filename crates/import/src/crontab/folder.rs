//! Folders of scripts that cron runs periodically, such as `/etc/cron.daily`.

use crate::{
    ImportItem,
    calendar_fields::ConvertedSchedule,
    crontab::{entry::schedule_warnings, environment::Environment},
    draft::{DEADLINE_WITHOUT_CATCH_UP_SECONDS, JobDraft},
    importer::{Importer, SourceLine},
};

/// How often the scripts of a folder run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderPeriod {
    /// `cron.hourly`
    Hourly,
    /// `cron.daily`
    Daily,
    /// `cron.weekly`
    Weekly,
    /// `cron.monthly`
    Monthly,
    /// `cron.yearly`
    Yearly,
}

/// A file of such a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderScript {
    /// The name of the file.
    pub name: String,
    /// Whether it can be executed.
    pub is_executable: bool,
}

impl FolderPeriod {
    /// Finds the period by the name of the folder.
    pub fn from_directory_name(name: &str) -> Option<FolderPeriod> {
        Some(match name {
            "cron.hourly" => FolderPeriod::Hourly,
            "cron.daily" => FolderPeriod::Daily,
            "cron.weekly" => FolderPeriod::Weekly,
            "cron.monthly" => FolderPeriod::Monthly,
            "cron.yearly" => FolderPeriod::Yearly,
            _ => return None,
        })
    }

    /// Returns the schedule in Debian's `/etc/crontab`.
    fn schedule(self) -> &'static str {
        match self {
            FolderPeriod::Hourly => "17 * * * *",
            FolderPeriod::Daily => "25 6 * * *",
            FolderPeriod::Weekly => "47 6 * * 0",
            FolderPeriod::Monthly => "52 6 1 * *",
            FolderPeriod::Yearly => "52 6 1 1 *",
        }
    }
}

impl Importer {
    /// Imports the scripts of a folder, one object for each.
    pub fn import_directory(
        &mut self,
        folder: &str,
        period: FolderPeriod,
        scripts: &[FolderScript],
    ) {
        let folder = folder.trim_end_matches('/');
        for script in scripts {
            let source = SourceLine {
                file: format!("{folder}/{}", script.name),
                line: 0,
                text: "script".into(),
            };
            if !is_run_parts_name(&script.name) {
                let reason = "run-parts ignores files whose names have other characters than \
                              letters, digits, hyphens and underscores";
                self.reject(source, reason.into());
            } else if !script.is_executable {
                self.reject(source, "the file is not executable, so cron does not run it".into());
            } else {
                self.import_script(source, period);
            }
        }
    }

    fn import_script(&mut self, source: SourceLine, period: FolderPeriod) {
        let zone = self.options.zone.clone();
        let schedule = ConvertedSchedule::new(period.schedule());
        let mut warnings = vec![format!(
            "cron runs the scripts of a folder one after another; here each runs on its own, at {:?} \
             as in Debian's /etc/crontab",
            schedule.text
        )];
        warnings.extend(schedule_warnings(&schedule, &zone, self.options.now));
        let environment = Environment::default();
        let user = self.find_user("root", &mut warnings);
        let name = source.file.rsplit('/').next().unwrap_or_default().to_owned();
        let object = self.build(JobDraft {
            name,
            schedule,
            time_zone: zone.name().into(),
            command: vec![source.file.clone()],
            env: environment.variables_for(user.as_ref()),
            working_dir: Some("/".into()),
            user,
            concurrency_policy: "Allow",
            starting_deadline: Some(DEADLINE_WITHOUT_CATCH_UP_SECONDS),
            active_deadline: None,
            jitter: None,
        });
        self.push(ImportItem { source, objects: vec![object], warnings });
    }
}

/// Whether `run-parts` runs a file of this name.
fn is_run_parts_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
