//! Tables of what each line of the test data becomes. `PUNCTUAL_BLESS=1` writes them.

use std::{fmt::Write as _, fs, path::PathBuf};

use punctual_api::{
    CronJobKind, Dialect,
    json_tree::SizeBudget,
    validate::ValidationOptions,
    write_rules::{self, CreateContext, ResourceKind},
    yaml,
};
use punctual_import::{
    CrontabFormat, FolderPeriod, FolderScript, ImportItem, Importer, UnitSource, to_yaml,
};
use punctual_schedule::Zones;

use crate::{NOW, importer, importer_of};

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(testdata(name)).unwrap()
}

fn table(items: &[ImportItem]) -> String {
    let mut text = String::new();
    for item in items {
        let source = item.source.text.escape_default().to_string().replace("\\\"", "\"");
        writeln!(text, "{}: {source}", item.source).unwrap();
        for object in &item.objects {
            let field =
                |path: &str| object.manifest.pointer(path).map_or("none".into(), |v| v.to_string());
            let container = "/spec/jobTemplate/spec/template/spec/containers/0/command";
            writeln!(
                text,
                "  {} {} in {}, {}, deadline {}\n  runs {}",
                field("/metadata/name"),
                field("/spec/schedule"),
                field("/spec/timeZone"),
                field("/spec/concurrencyPolicy"),
                field("/spec/startingDeadlineSeconds"),
                field(container),
            )
            .unwrap();
        }
        for warning in &item.warnings {
            writeln!(text, "  warning: {warning}").unwrap();
        }
    }
    text
}

/// Compares a table with its file, and checks the manifests.
fn check(name: &str, importer: Importer) {
    let items = importer.finish();
    let found = table(&items);
    let file = format!("{name}.golden");
    if std::env::var_os("PUNCTUAL_BLESS").is_some() {
        fs::write(testdata(&file), &found).unwrap();
    }
    assert_eq!(found, read(&file), "{file}");
    check_manifests(&items);
}

/// The YAML contains exactly the manifests, and a server accepts each.
fn check_manifests(items: &[ImportItem]) {
    let text = to_yaml(items).unwrap();
    let parsed: Vec<_> = text
        .split("\n---\n")
        .map(|document| yaml::parse_document(document, 0, &mut SizeBudget::default()).unwrap().0)
        .collect();
    let manifests: Vec<_> =
        items.iter().flat_map(|item| &item.objects).map(|object| object.manifest.clone()).collect();
    assert_eq!(parsed, manifests);
    let rules = ValidationOptions { zones: Zones::bundled(), dialect: Dialect::Punctual };
    for manifest in manifests {
        let kind = manifest["kind"].as_str().unwrap();
        let kind = CronJobKind::from_gvk(manifest["apiVersion"].as_str().unwrap(), kind).unwrap();
        let context = CreateContext {
            namespace: "default",
            uid: "00000000-0000-4000-8000-000000000000",
            suffix: "x",
            now: NOW.parse().unwrap(),
        };
        let name = manifest["metadata"]["name"].to_string();
        let created = write_rules::create(ResourceKind::CronJob(kind), manifest, &context, &rules);
        assert!(created.is_ok(), "{name}: {:?}", created.err());
    }
}

#[test]
fn a_crontab_of_odd_lines_becomes_this_table() {
    let mut importer = importer("Europe/Berlin");
    importer.import_crontab(
        "odd.crontab",
        &read("odd.crontab"),
        CrontabFormat::User,
        Some("alice"),
    );
    check("odd.crontab", importer);
}

#[test]
fn a_crontab_of_the_system_becomes_this_table() {
    let mut importer = importer("UTC");
    importer.import_crontab("system.crontab", &read("system.crontab"), CrontabFormat::System, None);
    check("system.crontab", importer);
}

#[test]
fn an_anacrontab_becomes_this_table() {
    let mut importer = importer("UTC");
    importer.import_crontab("anacrontab", &read("anacrontab"), CrontabFormat::Anacron, None);
    check("anacrontab", importer);
}

#[test]
fn a_folder_of_scripts_becomes_this_table() {
    let mut importer = importer("UTC");
    let script =
        |name: &str, is_executable: bool| FolderScript { name: name.into(), is_executable };
    let scripts = [script("apt", true), script("man-db", false), script("old.sh", true)];
    importer.import_directory("/etc/cron.daily/", FolderPeriod::Daily, &scripts);
    importer.import_directory("/etc/cron.weekly", FolderPeriod::Weekly, &[script("apt", true)]);
    check("folder", importer);
}

#[test]
fn timers_become_this_table() {
    let mut importer = importer_of("Europe/Berlin", CronJobKind::ScheduledJob);
    importer.import_units(&[UnitSource { file: "timers.txt".into(), text: read("timers.txt") }]);
    check("timers", importer);
}
