//! The editor of a CronJob: what the cluster says about an edit, and what it changes, before it is saved.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_schedule::Zone;
use punctual_views::ChangeReport;

use super::plan::change_report;
use crate::data::CronJobId;

/// The longest YAML that the editor accepts.
pub(crate) const YAML_LEN_MAX: usize = 256 * 1024;

/// The inputs of the page.
pub(crate) struct EditPage<'a> {
    pub(crate) id: &'a CronJobId,
    pub(crate) yaml: &'a str,
    pub(crate) error: Option<&'a str>,
    pub(crate) preview: Option<EditPreview<'a>>,
    pub(crate) zone: &'a Zone,
    pub(crate) now: Timestamp,
}

/// What the edit changes. The cluster has accepted it in a dry run.
pub(crate) struct EditPreview<'a> {
    pub(crate) report: &'a ChangeReport,
    pub(crate) until: Timestamp,
}

/// Builds the page.
pub(crate) fn edit_page(page: &EditPage<'_>) -> Markup {
    let path = page.id.path();
    html! {
        div.medium {
            p.crumbs { a href="/" { "Fleet" } " / " a href=(path) { (page.id.namespace) "/" (page.id.name) } " / edit" }
            h1 { "Edit " (page.id.name) }
            @if let Some(error) = page.error { div.banner.bad role="alert" { span.mark aria-hidden="true" { "✕" } span.pre { (error) } } }
            @if let Some(preview) = &page.preview { (preview_section(page, preview)) }
            form.card.action-form action={ (path) "/edit" } method="post" {
                label for="yaml" { "YAML" }
                textarea #yaml name="yaml" rows="28" spellcheck="false" autocomplete="off" maxlength=(YAML_LEN_MAX) { (page.yaml) }
                div.actions {
                    button.primary type="submit" name="step" value="preview" { "Preview changes" }
                    a.button href=(path) { "Cancel" }
                }
                p.dim { "The preview asks the cluster to check the edit, and changes nothing." }
            }
        }
    }
}

fn preview_section(page: &EditPage<'_>, preview: &EditPreview<'_>) -> Markup {
    let path = page.id.path();
    html! {
        section.preview aria-labelledby="preview" {
            h2 #preview { "What this changes" }
            (change_report(preview.report, page.zone, preview.until, page.now))
            @if preview.report.is_change() {
                form.actions action={ (path) "/edit" } method="post" {
                    textarea.hidden name="yaml" aria-hidden="true" tabindex="-1" readonly { (page.yaml) }
                    button.primary type="submit" name="step" value="save" { "Save" }
                    span.dim { "The cluster accepts it. Edit below to change it further." }
                }
            }
        }
    }
}
