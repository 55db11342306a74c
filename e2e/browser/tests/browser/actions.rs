//! Every action, with its effect on the server.

use anyhow::{Context as _, ensure};
use punctual_e2e::json;

use crate::Session;

/// Repeats a look at the server until it is as wanted.
fn eventually(what: &str, mut check: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    for _ in 0..20 {
        if check()? {
            return Ok(());
        }
        punctual_e2e::probe::sleep_seconds(1);
    }
    anyhow::bail!("{what} did not happen")
}

/// Opens the dialog of an action on the page of a CronJob.
fn open_dialog(session: &Session, name: &str, action: &str) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url(&format!("/cronjobs/shop/{name}")))?;
    browser.click(&format!("a[href$='/{name}/{action}']"))?;
    browser.wait_for("the dialog", "document.querySelector('dialog[open] form')")
}

pub(crate) fn trigger(session: &mut Session) -> anyhow::Result<()> {
    open_dialog(session, "endless", "trigger")?;
    session.browser.screenshot("trigger-dialog")?;
    session.browser.click("dialog button.primary")?;
    session.browser.wait_for_text("was requested")?;
    let Session { site, browser } = session;
    eventually("the run", || Ok(!site.jobs("endless")?.is_empty()))?;
    browser.wait_for_text("Running")
}

pub(crate) fn stop(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    let jobs = site.jobs("endless")?;
    let job = jobs.last().context("no run to stop")?;
    browser.open(&site.url(&format!("/runs/shop/{}", json::name(job))))?;
    browser.wait_for_text("started")?;
    browser.screenshot("run")?;
    browser.click("a.danger")?;
    browser.click("dialog button.danger")?;
    browser.wait_for_text("is being stopped")?;
    eventually("the end of the run", || Ok(site.jobs("endless")?.is_empty()))
}

pub(crate) fn suspend_and_resume(session: &mut Session) -> anyhow::Result<()> {
    open_dialog(session, "minutely", "suspend")?;
    session.browser.enter("dialog #reason", "database <upgrade>")?;
    session.browser.script("document.querySelector('dialog #for').value = '4h'")?;
    session.browser.click("dialog button.primary")?;
    session.browser.wait_for_text("minutely is suspended.")?;
    session.browser.wait_for_text("database <upgrade>")?;
    let object = session.site.cron_job("minutely")?;
    ensure!(object["spec"]["suspend"] == true, "{object}");
    let reason = json::annotation(&object, "punctual.dev/suspended-reason");
    ensure!(reason == "database <upgrade>", "{reason}");
    ensure!(!json::annotation(&object, "punctual.dev/suspended-until").is_empty(), "no end");
    open_dialog(session, "minutely", "resume")?;
    session.browser.screenshot("resume-dialog")?;
    session.browser.click("dialog input[value=drop]")?;
    session.browser.click("dialog button.primary")?;
    session.browser.wait_for_text("is resumed")?;
    let object = session.site.cron_job("minutely")?;
    ensure!(object["spec"]["suspend"] == false, "{object}");
    Ok(())
}

pub(crate) fn bulk(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url("/"))?;
    for name in ["report", "rotate"] {
        browser.click(&format!("input[value='cronjobs/shop/{name}']"))?;
    }
    browser.click("button[name=action][value=suspend]")?;
    browser.wait_for(
        "the dialog",
        "document.querySelectorAll('dialog[open] .items li').length === 2",
    )?;
    browser.click("dialog button.primary")?;
    browser.wait_for_text("2 of 2 CronJobs suspended.")?;
    for name in ["report", "rotate"] {
        ensure!(site.cron_job(name)?["spec"]["suspend"] == true, "{name} is not suspended");
    }
    Ok(())
}

pub(crate) fn backfill(session: &mut Session) -> anyhow::Result<()> {
    open_dialog(session, "minutely", "backfill")?;
    session.browser.set_value("dialog #from", "2026-01-01T00:00")?;
    session.browser.set_value("dialog #to", "2026-01-01T00:03")?;
    session.browser.script("document.querySelector('dialog #runs').value = 'All'")?;
    session.browser.click("dialog button[name=preview]")?;
    session.browser.wait_for(
        "the preview",
        "document.querySelector('dialog')?.innerText.includes('3 slots of 3 would run')",
    )?;
    session.browser.screenshot("backfill-preview")?;
    session.browser.click("dialog button.primary")?;
    session.browser.wait_for_text("was requested")?;
    let Session { site, .. } = session;
    eventually("the runs of the backfill", || {
        let records = site.client.get(
            "/apis/punctual.dev/v1/namespaces/shop/slotrecords?fieldSelector=cronJob=minutely",
        )?;
        let records = records["items"].as_array().cloned().unwrap_or_default();
        Ok(records.iter().filter(|record| json::text(record, "/reason") == "Requested").count()
            == 3)
    })
}

pub(crate) fn edit(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url("/cronjobs/shop/report/edit"))?;
    browser.script("const yaml = document.getElementById('yaml'); yaml.value = yaml.value.replace('schedule: 0 2 * * 1-5', 'schedule: 15 3 * * *')")?;
    browser.click("button[value=preview]")?;
    browser.wait_for_text("What this changes")?;
    browser.wait_for_text("spec.schedule")?;
    browser.screenshot("edit-preview")?;
    ensure!(site.cron_job("report")?["spec"]["schedule"] == "0 2 * * 1-5", "a preview writes");
    browser.click("button[value=save]")?;
    browser.wait_for_text("report is saved.")?;
    ensure!(site.cron_job("report")?["spec"]["schedule"] == "15 3 * * *", "the edit is not saved");
    Ok(())
}
