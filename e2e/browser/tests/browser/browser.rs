//! A headless Chromium that is controlled through chromedriver.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use hyper::Method;
use serde_json::Value;
use thirtyfour::prelude::*;
use thirtyfour::{DesiredCapabilities, LoggingPrefsLogLevel, WebDriver};
use tokio::runtime::Runtime;

const WAIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// A headless Chromium.
pub(crate) struct Browser {
    runtime: Runtime,
    driver: WebDriver,
    process: Child,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let driver = self.driver.clone();
        let _ = self.runtime.block_on(driver.quit());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The folder in which screenshots are kept.
pub(crate) fn screenshot_folder() -> PathBuf {
    let target = std::env::current_exe().ok();
    let target = target.as_deref().and_then(|exe| exe.ancestors().nth(3)).map(Path::to_owned);
    target.unwrap_or_else(|| PathBuf::from("target")).join("browser")
}

/// The pictures of the documentation.
const PICTURES: [&str; 4] =
    ["dashboard-fleet", "dashboard-cronjob", "dashboard-slot", "dashboard-run"];

/// Writes the pictures of the documentation.
pub(crate) fn copy_pictures() -> anyhow::Result<()> {
    let images = punctual_e2e::files::repository_root().join("docs/images");
    std::fs::create_dir_all(&images)?;
    for name in PICTURES {
        let file = format!("{name}.png");
        std::fs::copy(screenshot_folder().join(&file), images.join(&file))?;
    }
    Ok(())
}

/// Returns a port that is free now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Browser {
    /// Starts chromedriver and a browser with an empty profile.
    pub(crate) fn start(folder: &Path) -> anyhow::Result<Browser> {
        let port = free_port()?;
        let process = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("chromedriver is not on this machine (run e2e/setup)")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let driver = runtime.block_on(connect(port, &folder.join("profile")));
        match driver {
            Ok(driver) => Ok(Browser { runtime, driver, process }),
            Err(error) => {
                let mut process = process;
                process.kill()?;
                process.wait()?;
                Err(error.context("chromium did not start"))
            }
        }
    }

    pub(crate) fn open(&self, url: &str) -> anyhow::Result<()> {
        Ok(self.runtime.block_on(self.driver.goto(url))?)
    }

    pub(crate) fn url(&self) -> anyhow::Result<String> {
        Ok(self.runtime.block_on(self.driver.current_url())?.to_string())
    }

    /// Runs a script and returns its result.
    pub(crate) fn script(&self, script: &str) -> anyhow::Result<Value> {
        let result = self.runtime.block_on(self.driver.execute(script, Vec::new()))?;
        Ok(result.json().clone())
    }

    fn element(&self, css: &str) -> anyhow::Result<WebElement> {
        let query = self.driver.query(By::Css(css)).wait(WAIT, POLL).and_displayed();
        self.runtime.block_on(query.first()).with_context(|| format!("no element {css}"))
    }

    pub(crate) fn text(&self, css: &str) -> anyhow::Result<String> {
        Ok(self.runtime.block_on(self.element(css)?.text())?)
    }

    pub(crate) fn click(&self, css: &str) -> anyhow::Result<()> {
        let element = self.element(css)?;
        self.runtime.block_on(async {
            element.scroll_into_view().await?;
            element.click().await
        })?;
        Ok(())
    }

    pub(crate) fn enter(&self, css: &str, text: &str) -> anyhow::Result<()> {
        let element = self.element(css)?;
        self.runtime.block_on(element.send_keys(text))?;
        Ok(())
    }

    /// Sets the value of a field that the keyboard layout would change, such as a time.
    pub(crate) fn set_value(&self, css: &str, value: &str) -> anyhow::Result<()> {
        self.element(css)?;
        self.script(&format!("document.querySelector({css:?}).value = {value:?}"))?;
        Ok(())
    }

    /// Sends keys to what has the focus.
    pub(crate) fn keys(&self, keys: &str) -> anyhow::Result<()> {
        let actions = self.driver.action_chain().send_keys(keys);
        Ok(self.runtime.block_on(actions.perform())?)
    }

    /// Waits until a script returns true.
    pub(crate) fn wait_for(&self, what: &str, script: &str) -> anyhow::Result<()> {
        self.wait_within(what, script, WAIT)
    }

    /// Waits until a script returns true, and fails after a time.
    pub(crate) fn wait_within(
        &self,
        what: &str,
        script: &str,
        time: Duration,
    ) -> anyhow::Result<()> {
        let tries = (time.as_millis() / POLL.as_millis()).max(1);
        for _ in 0..tries {
            if self.script(&format!("return Boolean({script})")).is_ok_and(|it| it == true) {
                return Ok(());
            }
            self.runtime.block_on(async { tokio::time::sleep(POLL).await });
        }
        bail!("{what} did not happen within {time:?}: {}", self.text("main").unwrap_or_default())
    }

    /// Waits until the page contains a text.
    pub(crate) fn wait_for_text(&self, text: &str) -> anyhow::Result<()> {
        let script = format!("document.getElementById('main')?.innerText.includes({text:?})");
        self.wait_for(&format!("the text {text:?}"), &script)
    }

    pub(crate) fn resize(&self, width: u32, height: u32) -> anyhow::Result<()> {
        let parameters = serde_json::json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", &parameters)
    }

    /// Sets what the system prefers: `light` or `dark`.
    pub(crate) fn prefer(&self, theme: &str) -> anyhow::Result<()> {
        let features =
            serde_json::json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.devtools("Emulation.setEmulatedMedia", &features)
    }

    fn devtools(&self, command: &'static str, parameters: &Value) -> anyhow::Result<()> {
        let command = DevToolsCommand { command, parameters: parameters.clone() };
        self.runtime.block_on(
            self.driver
                .cmd(thirtyfour::common::command::Command::ExtensionCommand(Box::new(command))),
        )?;
        Ok(())
    }

    /// Keeps a picture of the page.
    pub(crate) fn screenshot(&self, name: &str) -> anyhow::Result<()> {
        let folder = screenshot_folder();
        std::fs::create_dir_all(&folder)?;
        Ok(self.runtime.block_on(self.driver.screenshot(&folder.join(format!("{name}.png"))))?)
    }

    /// Fails if the console has an error or a violation of the content security policy.
    pub(crate) fn ensure_quiet(&self) -> anyhow::Result<()> {
        let entries = self.runtime.block_on(self.driver.browser_log())?;
        let errors: Vec<String> = entries
            .into_iter()
            .filter(|entry| {
                entry.level == "SEVERE" || entry.message.contains("Content Security Policy")
            })
            .map(|entry| entry.message)
            .collect();
        ensure!(errors.is_empty(), "the console has errors: {}", errors.join("; "));
        Ok(())
    }

    /// Discards what the console has, for a check that cuts the connection.
    pub(crate) fn discard_console(&self) -> anyhow::Result<()> {
        self.runtime.block_on(self.driver.browser_log())?;
        Ok(())
    }
}

/// A command of Chromium beyond WebDriver.
#[derive(Debug)]
struct DevToolsCommand {
    command: &'static str,
    parameters: Value,
}

impl thirtyfour::common::command::ExtensionCommand for DevToolsCommand {
    fn parameters_json(&self) -> Option<Value> {
        Some(serde_json::json!({"cmd": self.command, "params": self.parameters}))
    }

    fn method(&self) -> Method {
        Method::POST
    }

    fn endpoint(&self) -> std::sync::Arc<str> {
        "/goog/cdp/execute".into()
    }
}

async fn connect(port: u16, profile: &Path) -> anyhow::Result<WebDriver> {
    let mut capabilities = DesiredCapabilities::chrome();
    for argument in [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--window-size=1400,900",
    ] {
        capabilities.add_arg(argument)?;
    }
    capabilities.add_arg(&format!("--user-data-dir={}", profile.display()))?;
    capabilities.set_browser_log_level(LoggingPrefsLogLevel::All)?;
    let url = format!("http://127.0.0.1:{port}");
    for _ in 0..100 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(WebDriver::new(&url, capabilities).await?)
}
