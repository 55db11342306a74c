//! `punctual plan -f`: compares the CronJobs of manifests with those of the cluster.

use std::process::ExitCode;

use anyhow::{Context as _, anyhow, ensure};
use punctual_api::{CronJob, CronJobKind, Dialect, Time, defaults};
use punctual_client::resources::cron_jobs_of;
use punctual_schedule::Zone;
use punctual_views::{
    ChangeReport, CronJobSnapshot, FieldChange, compare, field_changes, find_collisions, local_time,
};
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use super::PlanRange;
use crate::cron_jobs::args::PlanArgs;
use crate::cron_jobs::output_format::object_name;
use crate::cron_jobs::records::{RecordQuery, complete_snapshot};
use crate::cron_jobs::session::Session;
use crate::cron_jobs::target::with_kind;
use crate::manifest::{self, Document};
use crate::{output, validate};

/// The newest records are enough to know which slots are accounted for.
const RECORDS_MAX: usize = 50;
/// How many slots and collisions of each kind are listed in the text.
const LISTED_MAX: usize = 5;
/// The exit status if something changes, as of `kubectl diff`.
const CHANGED: u8 = 1;

/// What `-o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanOutput {
    is_change: bool,
    items: Vec<ChangeReport>,
}

/// A CronJob of the manifests, with the cluster's one.
struct PlannedEdit {
    before: Option<CronJobSnapshot>,
    after: CronJobSnapshot,
    fields: Vec<FieldChange>,
}

pub(super) async fn run(
    args: &PlanArgs,
    session: &Session,
    zone: &Zone,
    range: PlanRange,
) -> anyhow::Result<ExitCode> {
    let mut edits = Vec::new();
    for Document { location, value, .. } in read_cron_jobs(args, zone)? {
        let edit = plan_edit(session, value, zone, range).await;
        edits.push(edit.with_context(|| location.to_string())?);
    }
    let fleet = read_fleet(session, zone).await?;
    let mut items = Vec::new();
    for edit in &edits {
        let PlannedEdit { before, after, fields } = edit;
        let mut report = compare(before.as_ref(), after, fields.clone(), range.now, range.until)?;
        // The manifests may contain several CronJobs, so the others count as they are after the edit.
        let edited = edits.iter().map(|edit| &edit.after);
        let is_edited =
            |other: &&CronJobSnapshot| edits.iter().any(|edit| is_same(&edit.after, other));
        let others = fleet.iter().filter(|other| !is_edited(other)).chain(edited);
        report.collisions = find_collisions(after, others, range.now, range.until);
        items.push(report);
    }
    let is_change = items.iter().any(ChangeReport::is_change);
    let plan = PlanOutput { is_change, items };
    args.output.print(&plan, || text(&plan, &edits, range))?;
    Ok(if is_change { ExitCode::from(CHANGED) } else { ExitCode::SUCCESS })
}

fn is_same(a: &CronJobSnapshot, b: &CronJobSnapshot) -> bool {
    a.kind() == b.kind() && a.cron_job.key() == b.cron_job.key()
}

/// Returns the CronJobs of the files, which must be valid. Objects of other kinds are skipped.
fn read_cron_jobs(args: &PlanArgs, zone: &Zone) -> anyhow::Result<Vec<Document>> {
    let read = manifest::read(&args.files).into_iter();
    let read =
        read.filter(|read| read.as_ref().map_or(true, |document| is_cron_job(&document.value)));
    let found = validate::require_valid(read.collect(), Dialect::Punctual, zone);
    let found = found.map_err(|errors| anyhow!("{}", errors.join("\n")))?;
    ensure!(!found.is_empty(), "the files contain no CronJob and no ScheduledJob");
    Ok(found)
}

fn is_cron_job(object: &Value) -> bool {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    CronJobKind::from_gvk(text("apiVersion"), text("kind")).is_some()
}

/// Computes the object after the edit: the spec of the manifest with its defaults, and the state of the cluster.
async fn plan_edit(
    session: &Session,
    mut object: Value,
    zone: &Zone,
    range: PlanRange,
) -> anyhow::Result<PlannedEdit> {
    defaults::cron_job(&mut object);
    let mut after = CronJob::deserialize(&object)?;
    let kind = after.cron_job_kind().ok_or_else(|| anyhow!("not a CronJob"))?;
    ensure!(!after.metadata.name.is_empty(), "metadata.name is required");
    let metadata = &mut after.metadata;
    if metadata.namespace.is_empty() {
        metadata.namespace.clone_from(&session.namespace);
    }
    let path = cron_jobs_of(kind).object_path(&metadata.namespace, &metadata.name);
    let live: Option<Value> = session.get_optional(&path).await?;
    let Some(live) = live else {
        metadata.creation_timestamp = Some(Time::new(range.now));
        let after = CronJobSnapshot::new(after, zone);
        return Ok(PlannedEdit { before: None, after, fields: Vec::new() });
    };
    // The server may have stored the object before it knew a default, or in another canonical form.
    let mut with_defaults = live.clone();
    defaults::cron_job(&mut with_defaults);
    let spec = |object: &Value| object.get("spec").cloned().unwrap_or_default();
    let fields = field_changes("spec", &spec(&with_defaults), &spec(&object));
    let before = with_kind(CronJob::deserialize(&live)?, kind);
    after.status = before.status.clone();
    let mut annotations = before.metadata.annotations.clone();
    annotations.extend(std::mem::take(&mut after.metadata.annotations));
    after.metadata = punctual_api::ObjectMeta { annotations, ..before.metadata.clone() };
    let query = RecordQuery::newest(RECORDS_MAX);
    let before = complete_snapshot(session, before, &query, zone).await?;
    let after = before.with_edit(after);
    Ok(PlannedEdit { before: Some(before), after, fields })
}

/// Reads all CronJobs for collisions: of all namespaces, or of one where the user may not read others.
async fn read_fleet(session: &Session, zone: &Zone) -> anyhow::Result<Vec<CronJobSnapshot>> {
    let mut fleet = Vec::new();
    for kind in session.kinds() {
        let listed = match session.list_cron_jobs(kind, "", None).await {
            Ok(listed) => listed,
            Err(_) => session.list_cron_jobs(kind, &session.namespace, None).await?,
        };
        fleet.extend(listed.items.into_iter().map(|it| CronJobSnapshot::new(it, zone)));
    }
    Ok(fleet)
}

fn text(plan: &PlanOutput, edits: &[PlannedEdit], range: PlanRange) -> String {
    let items = plan.items.iter().zip(edits);
    let texts: Vec<String> = items.map(|(report, edit)| report_text(report, edit, range)).collect();
    texts.join("\n")
}

fn report_text(report: &ChangeReport, edit: &PlannedEdit, range: PlanRange) -> String {
    let zone = edit.after.zone();
    let name = object_name(edit.after.kind(), &report.name);
    let mut text = format!("{name} in {}: ", report.namespace);
    if !report.is_change() {
        return text + "no change\n";
    }
    text += if report.is_new { "would be created\n" } else { "would change\n" };
    for FieldChange { path, before, after } in &report.fields {
        let shown =
            |value: &Option<Value>| value.as_ref().map_or("(none)".to_owned(), Value::to_string);
        text += &format!("  {path}: {} -> {}\n", shown(before), shown(after));
    }
    let slots = &report.slots;
    text += &format!(
        "  slots until {}: {} before, {} after\n",
        local_time(zone, range.until),
        slots.before,
        slots.after
    );
    if !report.is_new {
        text += &slot_list("gained", &slots.gained, zone);
    }
    text += &slot_list("lost", &slots.lost, zone);
    match report.starts_at_once {
        Some(slot) => text += &format!("  starts at once: slot {}\n", local_time(zone, slot)),
        None => text += "  nothing starts at once\n",
    }
    for note in &report.notes {
        text += &format!("  note: {}\n", output::one_line(note));
    }
    text + &collision_list(report, zone)
}

fn slot_list(what: &str, slots: &[jiff::Timestamp], zone: &Zone) -> String {
    if slots.is_empty() {
        return String::new();
    }
    let shown: Vec<String> =
        slots.iter().take(LISTED_MAX).map(|slot| local_time(zone, *slot)).collect();
    let more = more_text(slots.len());
    format!("  {} {what}: {}{more}\n", slots.len(), shown.join(", "))
}

fn collision_list(report: &ChangeReport, zone: &Zone) -> String {
    let mut text = String::new();
    for collision in report.collisions.iter().take(LISTED_MAX) {
        let times = if collision.count == 1 {
            "once".to_owned()
        } else {
            format!("{} times", collision.count)
        };
        let first = local_time(zone, collision.first);
        text += &format!("  same minute as {}: {times}, first at {first}\n", collision.cron_job);
    }
    match report.collisions.len().saturating_sub(LISTED_MAX) {
        0 => text,
        more => text + &format!("  same minute as {more} more CronJobs\n"),
    }
}

fn more_text(count: usize) -> String {
    match count.saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(", and {more} more"),
    }
}
