//! Tests of `punctual import`: files, directories, warnings and the exit status.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod program;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Output};

use crate::program::{empty_directory, punctual};

/// Runs the command with the users of the test data.
fn import(args: &[&str]) -> Output {
    let passwd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/testdata/passwd");
    punctual(&["import"]).args(args).arg("--passwd").arg(passwd).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_path_tells_the_format_of_a_crontab() {
    let folder = empty_directory("import-crontab");
    let cron_d = folder.join("cron.d");
    fs::create_dir(&cron_d).unwrap();
    fs::write(cron_d.join("php"), "*/10 * * * * www-data php /srv/cron.php\n").unwrap();
    fs::write(cron_d.join(".placeholder"), "broken\n").unwrap();
    let daily = folder.join("cron.daily");
    fs::create_dir(&daily).unwrap();
    fs::write(daily.join("rotate"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(daily.join("rotate"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("anacrontab"), "1 5 backup /usr/bin/backup\n").unwrap();
    let paths = ["cron.d", "cron.daily", "anacrontab"].map(|name| folder.join(name));
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let output = import(&[&["crontab"], paths.as_slice()].concat());
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for wanted in ["runAsUser: 33", "name: cron-php", "name: rotate", "name: backup", "5 0 * * *"] {
        assert!(stdout.contains(wanted), "{wanted}: {stdout}");
    }
    assert!(!stdout.contains("placeholder"), "{stdout}");
}

#[test]
fn strict_prints_no_manifest_if_there_is_a_warning() {
    let folder = empty_directory("import-strict");
    let file = folder.join("tab");
    fs::write(&file, "0 0 * * * date\n@reboot agent\n").unwrap();
    let path = file.to_str().unwrap();
    let output = import(&["crontab", path, "--user", "alice", "--strict"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with(&format!("warning: {path}:2: not imported: @reboot")), "{stderr}");
    assert!(
        stderr.ends_with("error: 1 warnings; no manifests are printed, because --strict is set\n")
    );
    let output =
        import(&["crontab", path, "--user", "alice", "-n", "ops", "--kind", "ScheduledJob"]);
    let stdout = text(&output.stdout);
    assert!(output.status.success() && stdout.contains("namespace: ops"), "{stdout}");
    assert!(stdout.contains("kind: ScheduledJob") && stdout.contains(&format!("# {path}:1: 0 0")));
}

#[test]
fn the_service_of_a_timer_is_found_beside_it() {
    let folder = empty_directory("import-systemd");
    let timer = folder.join("sync@home.timer");
    fs::write(&timer, "[Timer]\nOnCalendar=daily\n").unwrap();
    fs::write(folder.join("sync@.service"), "[Service]\nExecStart=/bin/sync %i\n").unwrap();
    for path in [&timer, &folder] {
        let output = import(&["systemd", path.to_str().unwrap(), "--strict"]);
        let stdout = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(stdout.contains("- home\n") && stdout.contains("name: sync-home"), "{stdout}");
    }
}

#[test]
fn a_dump_of_kubectl_becomes_manifests() {
    let folder = empty_directory("import-kubernetes");
    let file = folder.join("dump.yaml");
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: batch/v1\n  kind: CronJob\n  \
                metadata: {name: a, uid: b}\n  spec: {schedule: '@daily'}\n  status: {}\n";
    fs::write(&file, list).unwrap();
    let output = import(&["kubernetes", file.to_str().unwrap(), "--time-zone", "Asia/Tokyo"]);
    let stdout = text(&output.stdout);
    assert!(stdout.contains("timeZone: Asia/Tokyo") && !stdout.contains("uid"), "{stdout}");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}
