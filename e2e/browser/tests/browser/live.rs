//! What changes while a page is open.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use punctual_e2e::{json, probe};

use crate::Session;

/// How long after its end a run may be shown as running.
const UPDATE_MAX: Duration = Duration::from_secs(2);

pub(crate) fn log_and_end(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url("/cronjobs/shop/slow"))?;
    browser.click("a[href$='/slow/trigger']")?;
    browser.click("dialog button.primary")?;
    browser.wait_for("the run", "document.querySelector('.links a[href*=\"/runs/\"]')")?;
    let path =
        browser.script("return document.querySelector('.links a[href*=\"/runs/\"]').pathname")?;
    let path = path.as_str().context("no link to the run")?.to_owned();
    browser.open(&site.url(&path))?;
    let log =
        |line: &str| format!("document.getElementById('log')?.textContent.includes({line:?})");
    browser.wait_for("the second line", &log("line 2"))?;
    browser.wait_for("a later line", &log("line 4"))?;
    let has_ended = |site: &mut crate::Site| -> anyhow::Result<bool> {
        let jobs = site.jobs("slow")?;
        Ok(jobs
            .iter()
            .any(|job| path.ends_with(json::name(job)) && json::has_condition(job, "Complete")))
    };
    for _ in 0..200 {
        if has_ended(site)? {
            break;
        }
        browser.wait_within("a moment", "false", Duration::from_millis(50)).unwrap_or_default();
    }
    ensure!(has_ended(site)?, "the run did not end");
    let shown = "document.querySelector('h1')?.innerText.includes('Succeeded')";
    browser.wait_within("the end of the run on its page", shown, UPDATE_MAX)?;
    browser.wait_for("the last line", &log("line 6"))?;
    let count = browser
        .script("return document.getElementById('log').textContent.split('line 3').length - 1")?;
    ensure!(count == 1, "a line is shown {count} times");
    browser.screenshot("run-ended")
}

pub(crate) fn restart(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url("/"))?;
    browser.wait_for("the rows", "document.querySelector('tr[data-row]')")?;
    browser.script("window.isTheSamePage = true")?;
    site.kill();
    browser.wait_for(
        "the sign of a lost connection",
        "document.getElementById('stale').hidden === false",
    )?;
    browser.screenshot("connection-lost")?;
    probe::sleep_seconds(1);
    site.start_again()?;
    browser.wait_within(
        "the end of the sign",
        "document.getElementById('stale').hidden === true && document.querySelector('tr[data-row]')",
        Duration::from_secs(30),
    )?;
    ensure!(
        browser.script("return window.isTheSamePage === true")? == true,
        "the page was loaded again"
    );
    // Changes arrive again.
    site.client.delete("/apis/batch/v1/namespaces/shop/cronjobs/paused")?;
    browser.wait_for("the change", "!document.getElementById('row-cronjobs/shop/paused')")?;
    // The failed connections are what this check wants.
    browser.discard_console()
}
