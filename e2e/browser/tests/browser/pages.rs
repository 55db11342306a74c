//! Every page: themes, widths, search, keys.

use anyhow::{Context as _, ensure};
use punctual_e2e::json;

use crate::Session;

/// Every page of the dashboard, with the name of its screenshot.
pub(crate) const PAGES: [(&str, &str); 12] = [
    ("fleet", "/"),
    ("cronjob", "/cronjobs/shop/sync-orders"),
    ("cronjob-suspended", "/cronjobs/shop/paused"),
    ("slot", "/cronjobs/shop/rotate/slots/2027-03-14T06:30:00Z"),
    ("timeline", "/timeline?hours=3"),
    ("load", "/load"),
    ("plan", "/plan"),
    ("ledger", "/ledger"),
    ("edit", "/cronjobs/shop/report/edit"),
    ("suspend", "/cronjobs/shop/report/suspend"),
    ("backfill", "/cronjobs/shop/report/backfill"),
    ("error", "/cronjobs/shop/none"),
];

pub(crate) fn login_link(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    let link = site.login_link()?;
    browser.open(&link)?;
    browser.wait_for("the start page", "document.getElementById('fleet')")?;
    browser.ensure_quiet()?;
    browser.open(&link)?;
    ensure!(browser.text("main")?.contains("used already"), "a link works twice");
    // The refused link answers with 401, which the console notes.
    browser.discard_console()?;
    browser.open(&site.url("/"))?;
    browser.wait_for_text("CronJobs in 1 namespace")
}

fn visit(session: &Session, suffix: &str) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    for (name, path) in PAGES {
        browser.open(&site.url(path))?;
        browser.wait_for(name, "document.querySelector('main h1')")?;
        let overflow =
            browser.script("return document.documentElement.scrollWidth - innerWidth")?;
        ensure!(overflow.as_i64() <= Some(0), "{name}{suffix} is {overflow} pixels too wide");
        browser.screenshot(&format!("{name}{suffix}"))?;
        if name == "error" {
            browser.discard_console()?;
        }
        browser.ensure_quiet()?;
    }
    Ok(())
}

pub(crate) fn both_themes(session: &mut Session) -> anyhow::Result<()> {
    session.browser.resize(1400, 900)?;
    session.browser.prefer("dark")?;
    visit(session, "-dark")?;
    let dark = session.browser.script("return getComputedStyle(document.body).backgroundColor")?;
    session.browser.prefer("light")?;
    visit(session, "")?;
    let light = session.browser.script("return getComputedStyle(document.body).backgroundColor")?;
    ensure!(dark != light, "the themes have the same background");
    Ok(())
}

pub(crate) fn narrow(session: &mut Session) -> anyhow::Result<()> {
    session.browser.resize(400, 800)?;
    let result = visit(session, "-narrow");
    session.browser.resize(3840, 2160)?;
    let wide = visit(session, "-wide");
    session.browser.resize(1400, 900)?;
    result.and(wide)
}

pub(crate) fn theme_switch(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url("/load"))?;
    browser.click("details.menu summary")?;
    browser.click("button[name=theme][value=dark]")?;
    browser.wait_for("the dark theme", "document.documentElement.dataset.theme === 'dark'")?;
    ensure!(browser.url()?.ends_with("/load"), "the switch leads back");
    browser.click("details.menu summary")?;
    browser.click("button[name=theme][value=system]")?;
    browser.wait_for("the theme of the system", "!document.documentElement.dataset.theme")
}

pub(crate) fn search(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url("/"))?;
    browser.enter("#search", "report team=shop\u{e007}")?;
    browser.wait_for("one row", "document.querySelectorAll('tr[data-row]').length === 1")?;
    ensure!(browser.url()?.contains("q=report"), "the search is not in the URL");
    browser.open(&site.url("/?sort=next"))?;
    let sorted = browser.script("return document.querySelector('th[aria-sort]').innerText")?;
    ensure!(sorted.as_str().is_some_and(|text| text.starts_with("Next")), "{sorted}");
    browser.open(&site.url("/?state=suspended"))?;
    browser.wait_for_text("paused")
}

pub(crate) fn keys(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.open(&site.url("/"))?;
    browser.wait_for("the rows", "document.querySelector('tr[data-row]')")?;
    browser.keys("/")?;
    browser.wait_for("focus in the search", "document.activeElement.id === 'search'")?;
    browser.keys("\u{e00c}")?;
    browser.keys("?")?;
    browser.wait_for("the list of keys", "document.querySelector('dialog[open] .keys')")?;
    browser.keys("\u{e00c}")?;
    browser.wait_for("the closed dialog", "!document.querySelector('dialog[open]')")?;
    browser.keys("jj")?;
    browser.wait_for(
        "the second row",
        "[...document.querySelectorAll('tr[data-row]')][1].classList.contains('current')",
    )?;
    browser.keys("x")?;
    browser.wait_for("the selection", "document.querySelector('tr.current input:checked')")?;
    browser.keys("r")?;
    browser.wait_for("the dialog of the row", "document.querySelector('dialog[open] form')")?;
    browser.keys("\u{e00c}")?;
    browser.wait_for("the closed dialog", "!document.querySelector('dialog[open]')")?;
    browser.keys("gl")?;
    browser.wait_for("the load page", "location.pathname === '/load'")?;
    browser.keys("gf")?;
    browser.wait_for("the fleet page", "location.pathname === '/'")
}

/// Takes the pictures of the documentation.
pub(crate) fn pictures(session: &mut Session) -> anyhow::Result<()> {
    let Session { browser, site } = session;
    browser.resize(1200, 780)?;
    browser.open(&site.url("/"))?;
    browser.wait_for("the rows", "document.querySelector('tr[data-row]')")?;
    browser.screenshot("dashboard-fleet")?;
    browser.open(&site.url("/cronjobs/shop/cart-cleanup"))?;
    browser.wait_for("the strip", "document.querySelector('svg.strip')")?;
    browser.screenshot("dashboard-cronjob")?;
    browser.open(&site.url("/cronjobs/shop/sync-orders"))?;
    browser.click("table.ledger .links a[href*='/slots/']")?;
    browser.wait_for("the slot", "document.getElementById('slot')")?;
    browser.screenshot("dashboard-slot")?;
    let jobs = site.jobs("slow")?;
    let job = jobs.last().context("no run")?;
    browser.open(&site.url(&format!("/runs/shop/{}", json::name(job))))?;
    browser.wait_for("the log", "document.getElementById('log')")?;
    browser.screenshot("dashboard-run")?;
    browser.resize(1400, 900)
}
