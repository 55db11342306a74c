//! Checks every page with axe-core, which npm provides at test time.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::Session;
use crate::pages::PAGES;

const AXE: &str = "axe-core@4";

pub(crate) fn no_serious_findings(session: &mut Session) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let Some(axe) = fetch(folder.path()) else {
        report_skip();
        return Ok(());
    };
    let Session { browser, site } = session;
    let mut findings = Vec::new();
    for theme in ["light", "dark"] {
        browser.prefer(theme)?;
        for (name, path) in PAGES {
            browser.open(&site.url(path))?;
            browser.script(&axe)?;
            browser.script("axe.run(document).then((result) => { window.axeResult = result; })")?;
            browser.wait_for("the result", "window.axeResult")?;
            let script = "return window.axeResult.violations.filter((it) => ['serious', 'critical'].includes(it.impact)) \
                          .map((it) => it.id + ': ' + it.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(' | '))";
            let serious = browser.script(script)?;
            let texts = serious.as_array().into_iter().flatten().filter_map(Value::as_str);
            findings.extend(texts.map(|text| format!("{name} ({theme}): {text}")));
        }
    }
    browser.prefer("light")?;
    browser.discard_console()?;
    ensure!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a test program reports to its user")]
fn report_skip() {
    println!("skipped: the accessibility check (npm cannot provide {AXE})");
}

/// Returns the script of axe-core; `None` if npm or its registry is missing.
fn fetch(folder: &Path) -> Option<String> {
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(folder)
        .arg(AXE)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.ok().filter(|status| status.success())?;
    let script = std::fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js"));
    script.context("axe-core").ok()
}
