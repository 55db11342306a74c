//! Debian's cron with a private crontab.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use jiff::{Timestamp, tz::TimeZone};
use punctual_e2e::load::clock;

use super::{CHILDREN_PROCESSOR, PROCESSOR, marks::MarkFolder};
use crate::bench::{bench_server, report::Figures};

const CRON: &str = "/usr/sbin/cron";
/// The time that cron needs at most to start and to read its crontab.
const START_TIME: i64 = 5;
/// cron reaps its children only when it wakes, which is once a minute.
const REAP_TIME: Duration = Duration::from_secs(61);

pub(super) async fn measure(count: usize, marks: &MarkFolder) -> anyhow::Result<Figures> {
    ensure!(Path::new(CRON).exists(), "cron is missing: apt-get install cron, or use --no-cron");
    let slot = next_minute(clock::wall_time())?;
    write_crontab(slot, count, marks)?;
    println!("cron: {count} programs are due at {slot}");
    let mut cron = Cron::start(marks.path())?;
    tokio::time::sleep(clock::time_until(slot).saturating_sub(Duration::from_secs(1))).await;
    let before = cron.processor_times()?;
    marks.wait_for(count).await?;
    tokio::time::sleep(REAP_TIME).await;
    let after = cron.processor_times()?;
    let mut figures = Figures::default();
    marks.add_starts(slot, &mut figures)?;
    figures.add_time(PROCESSOR, after.own.saturating_sub(before.own));
    figures.add_time(CHILDREN_PROCESSOR, after.children.saturating_sub(before.children));
    cron.stop()?;
    Ok(figures)
}

fn next_minute(now: Timestamp) -> anyhow::Result<Timestamp> {
    let latest = now.as_second() + START_TIME + 59;
    Ok(Timestamp::from_second(latest - latest.rem_euclid(60))?)
}

/// Writes a crontab in the system's format, with a user in each line.
fn write_crontab(slot: Timestamp, count: usize, marks: &MarkFolder) -> anyhow::Result<()> {
    let folder = marks.path().join("cron.d");
    fs::create_dir_all(&folder)?;
    fs::create_dir_all(marks.path().join("empty"))?;
    let schedule = slot.to_zoned(TimeZone::system()).strftime("%-M %-H %-d %-m *").to_string();
    let mut text = "SHELL=/bin/sh\nMAILTO=\"\"\n".to_owned();
    for number in 0..count {
        text += &format!("{schedule} root {}\n", marks.command(number));
    }
    fs::write(folder.join("bench"), text)?;
    Ok(())
}

/// cron in mount and PID namespaces of its own, so that it sees only our crontab and ends with its init.
struct Cron(Child);

impl Cron {
    fn start(folder: &Path) -> anyhow::Result<Cron> {
        let script = "mount --bind \"$1/cron.d\" /etc/cron.d && mount --bind \"$1/empty\" /var/spool/cron/crontabs \
            && mount --bind /dev/null /etc/crontab && mount -t tmpfs none /run && exec \"$2\" -f";
        let mut command = Command::new("unshare");
        command.args(["-m", "-p", "-f", "--kill-child", "sh", "-c", script, "sh"]);
        command.arg(folder).arg(CRON).stdin(Stdio::null()).stdout(Stdio::null());
        Ok(Cron(command.spawn().context("unshare")?))
    }

    /// The times of cron, which is the only child of `unshare`.
    fn processor_times(&self) -> anyhow::Result<bench_server::ProcessorTimes> {
        let unshare = self.0.id();
        let children = fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children"))?;
        bench_server::processor_times(children.trim().parse().context("cron has ended")?)
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Cron {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
