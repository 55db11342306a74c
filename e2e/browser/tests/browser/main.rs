//! The dashboard in a real browser: every page, every action with its effect on the server, live updates, keys, themes,
//! narrow windows and accessibility. Screenshots are kept in `target/browser`.
//!
//! With `--bless` the pictures of the documentation are written to `docs/images`.
//!
//! Without chromium and chromedriver the checks are skipped with a message; `e2e/setup` installs them.

mod accessibility;
mod actions;
mod browser;
mod live;
mod pages;
mod site;

use std::process::ExitCode;

use punctual_e2e::Punctual;
use punctual_e2e::harness::{self, NamedCheck, TestArgs, TestReport};

use crate::browser::Browser;
use crate::site::Site;

/// The browser and the program under test.
pub(crate) struct Session {
    pub(crate) browser: Browser,
    pub(crate) site: Site,
}

/// The checks in order: later ones use objects of earlier ones.
const CHECKS: [NamedCheck<Session>; 16] = [
    ("a login link signs in once", pages::login_link),
    ("every page is shown in both themes", pages::both_themes),
    ("every page fits into 400 pixels", pages::narrow),
    ("the theme is switched without a script", pages::theme_switch),
    ("a list is searched and sorted by its URL", pages::search),
    ("a run is started", actions::trigger),
    ("a log is followed, and the end of its run is shown within two seconds", live::log_and_end),
    ("a run is stopped", actions::stop),
    ("a CronJob is suspended and resumed", actions::suspend_and_resume),
    ("slots of the past are previewed and requested", actions::backfill),
    ("an edit is planned and saved", actions::edit),
    ("selected CronJobs are suspended together", actions::bulk),
    ("everything is reached by keys", pages::keys),
    ("the pictures of the documentation are taken", pages::pictures),
    ("no page has a serious accessibility finding", accessibility::no_serious_findings),
    ("the page reconnects after a restart", live::restart),
];

fn main() -> ExitCode {
    harness::main("browser", &[], run)
}

fn run(args: &TestArgs, report: &mut TestReport) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let browser = match Browser::start(folder.path()) {
        Ok(browser) => browser,
        Err(error) => {
            report.skip("the dashboard in a browser", CHECKS.len(), &error);
            return Ok(());
        }
    };
    let site = Site::start(Punctual::find()?, folder.path())?;
    let mut session = Session { browser, site };
    for (name, check) in CHECKS {
        if name.contains(&args.filter) || name == CHECKS[0].0 {
            let result = check(&mut session).and_then(|()| session.browser.ensure_quiet());
            if result.is_err() {
                session.browser.screenshot("failure")?;
            }
            report.record(name, result);
        }
    }
    if args.bless {
        browser::copy_pictures()?;
    }
    report.note(&format!("screenshots are in {}", browser::screenshot_folder().display()));
    Ok(())
}
