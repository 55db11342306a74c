//! Tests that changes of manifest folders take effect while `punctual up` runs.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::program::{TestHome, api};

/// Longer than any step takes, even on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
const FILE: &str = "punctual.dev/manifest-file";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A running `punctual up` with a folder of manifests.
struct FolderTest {
    home: TestHome,
    child: Option<Child>,
    /// The lines of standard output and standard error.
    lines: Receiver<String>,
    seen: Vec<String>,
    client: Client,
}

impl FolderTest {
    async fn start(home: TestHome, flags: &[&str]) -> FolderTest {
        let folder = home.path().join("m").display().to_string();
        let mut command = home.command(&[]);
        command.args(flags).arg(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        let mut seen = Vec::new();
        wait_for_line(&lines, &mut seen, "try: ");
        let client = home.client().await;
        FolderTest { home, child: Some(child), lines, seen, client }
    }

    /// Waits for a line of output with this text, and returns it.
    fn wait_for_line(&mut self, text: &str) -> String {
        wait_for_line(&self.lines, &mut self.seen, text)
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.as_ref().unwrap().id().try_into().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    fn stop(mut self) -> TestHome {
        self.signal(Signal::TERM);
        assert!(self.child.take().unwrap().wait().unwrap().success(), "{:#?}", self.seen);
        std::mem::replace(&mut self.home, TestHome::new())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("m").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn config_maps(&self) -> Api<DynamicObject> {
        api(&self.client, "v1", "ConfigMap")
    }

    /// Waits until the ConfigMap has this value.
    async fn wait_for_value(&self, name: &str, value: &str) -> DynamicObject {
        let is_wanted = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["data"]["value"] == value)
        };
        wait_for(self.config_maps(), name, is_wanted).await.unwrap()
    }

    async fn wait_until_gone(&self, name: &str) {
        wait_for(self.config_maps(), name, |object| object.is_none()).await;
    }

    async fn value(&self, name: &str) -> Option<String> {
        let object = self.config_maps().get_opt(name).await.unwrap()?;
        Some(object.data["data"]["value"].as_str().unwrap().to_owned())
    }
}

impl Drop for FolderTest {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wait_for_line(lines: &Receiver<String>, seen: &mut Vec<String>, text: &str) -> String {
    loop {
        let line = lines.recv_timeout(WAIT_TIMEOUT);
        let line = line.unwrap_or_else(|error| panic!("{error} before {text:?}: {seen:#?}"));
        seen.push(line.clone());
        if line.contains(text) {
            return line;
        }
    }
}

/// Waits until an object is as wanted.
async fn wait_for(
    objects: Api<DynamicObject>,
    name: &str,
    is_wanted: impl Fn(Option<&DynamicObject>) -> bool,
) -> Option<DynamicObject> {
    let mut changes = std::pin::pin!(watcher::watch_object(objects, name));
    let wait = async {
        loop {
            let object = changes.next().await.unwrap().unwrap();
            if is_wanted(object.as_ref()) {
                return object;
            }
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, wait)
        .await
        .unwrap_or_else(|_| panic!("{name} did not reach the wanted state"))
}

fn config_map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: \"{value}\"}}\n"
    )
}

fn new_home(files: &[(&str, String)]) -> TestHome {
    let home = TestHome::new();
    fs::create_dir(home.path().join("m")).unwrap();
    for (name, text) in files {
        fs::write(home.path().join("m").join(name), text).unwrap();
    }
    home
}

fn mkfifo(path: &std::path::Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_files_take_effect_and_wrong_ones_are_reported() {
    let home = new_home(&[("a.yaml", config_map("a", "1"))]);
    let mut test = FolderTest::start(home, &["--prune"]).await;
    let first = test.wait_for_value("a", "1").await;
    assert!(first.annotations()[LAST_APPLIED].ends_with("\"namespace\":\"default\"}}\n"));
    assert_eq!(first.annotations()[FILE], test.path("a.yaml").display().to_string());

    // 1 to 3: a new file, a changed file, a new folder.
    test.write("b.yaml", config_map("b", "1"));
    test.wait_for_value("b", "1").await;
    test.write("a.yaml", config_map("a", "2"));
    test.wait_for_value("a", "2").await;
    test.write("sub/deep/c.yaml", config_map("c", "1"));
    test.wait_for_value("c", "1").await;

    // 4 and 5: a wrong file is reported with line, field and suggestion, the others are applied, and it is tried again.
    let schedule = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j}\nspec:\n  schedule: \
                    SCHEDULE\n  suspend: true\n  jobTemplate: {spec: {template: {spec: {restartPolicy: \
                    Never, containers: [{name: a, image: a, command: [a]}]}}}}\n";
    test.write("bad.yaml", schedule.replace("SCHEDULE", "\"0 25 * * *\""));
    let line = test.wait_for_line("bad.yaml");
    assert!(line.contains("document 1 (line 1), CronJob j: spec.schedule: Invalid"), "{line}");
    test.write("b.yaml", config_map("b", "2"));
    test.wait_for_value("b", "2").await;
    test.write("bad.yaml", schedule.replace("SCHEDULE", "\"0 23 * * *\""));
    test.wait_for_line("all manifests are applied");
    let cron_jobs = api(&test.client, "batch/v1", "CronJob");
    assert!(cron_jobs.get_opt("j").await.unwrap().is_some());

    // 6 and 7: while a file is wrong, its objects stay, and nothing is pruned.
    test.write("a.yaml", "a: [\n");
    test.wait_for_line("YAML");
    test.remove("b.yaml");
    test.wait_for_line("1 object of it not pruned, because it cannot be read completely");
    assert_eq!(test.value("a").await.as_deref(), Some("2"));
    assert_eq!(test.value("b").await.as_deref(), Some("2"));
    test.write("a.yaml", config_map("a", "3"));
    test.wait_until_gone("b").await;
    test.wait_for_value("a", "3").await;

    test.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_renamed_and_moved_files_keep_their_objects() {
    let files = [("a.yaml", config_map("a", "1")), ("c.yaml", config_map("c", "1"))];
    let mut test = FolderTest::start(new_home(&files), &["--prune"]).await;
    let first = test.wait_for_value("a", "1").await;

    // 8 and 9: an editor replaces a file and leaves a backup and a swap file.
    test.write(".a.yaml.swp", config_map("swap", "1"));
    test.write("a.yaml~", config_map("backup", "1"));
    test.write("4913", config_map("probe", "1"));
    test.write("a.tmp", config_map("a", "4"));
    test.rename("a.tmp", "a.yaml");
    let changed = test.wait_for_value("a", "4").await;
    assert_eq!(changed.uid(), first.uid());
    for name in ["swap", "backup", "probe"] {
        assert_eq!(test.value(name).await, None, "{name}");
    }

    // 10: a renamed file.
    let before = test.wait_for_value("c", "1").await;
    fs::create_dir(test.path("sub")).unwrap();
    test.rename("c.yaml", "sub/renamed.yaml");
    let has_moved = |object: Option<&DynamicObject>| {
        object.is_some_and(|it| it.annotations()[FILE].ends_with("/m/sub/renamed.yaml"))
    };
    let renamed = wait_for(test.config_maps(), "c", has_moved).await.unwrap();
    assert_eq!(renamed.uid(), before.uid(), "the object was not deleted");

    // 11 and 12: an object in two files: the first one is used, until it is removed.
    test.write("d.yaml", format!("{}---\n{}", config_map("a", "5"), config_map("d", "1")));
    let line = test.wait_for_line("is already in");
    assert!(line.contains("d.yaml, document 1 (line 1), ConfigMap a: is already in"), "{line}");
    test.wait_for_value("d", "1").await;
    assert_eq!(test.value("a").await.as_deref(), Some("4"));
    test.remove("a.yaml");
    let moved = test.wait_for_value("a", "5").await;
    assert_eq!(moved.uid(), first.uid(), "an object that moves between files is not deleted");

    // 13: the links of a ConfigMap volume.
    test.write("..2026_1/e.yaml", config_map("e", "1"));
    symlink("..2026_1", test.path("..data")).unwrap();
    symlink("..data/e.yaml", test.path("e.yaml")).unwrap();
    test.wait_for_value("e", "1").await;
    test.write("..2026_2/e.yaml", config_map("e", "2"));
    symlink("..2026_2", test.path("..data_tmp")).unwrap();
    test.rename("..data_tmp", "..data");
    test.wait_for_value("e", "2").await;

    test.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_readable_file_is_reported_and_blocks_nothing() {
    let files = [("a.yaml", config_map("a", "1")), ("d.yaml", config_map("d", "1"))];
    let mut test = FolderTest::start(new_home(&files), &["--prune"]).await;

    // 14 to 17: a FIFO, a link to nothing, a file that is no text, and a huge file.
    mkfifo(&test.path("fifo.yaml"));
    test.wait_for_line("is a FIFO");
    symlink("nowhere", test.path("dangling.yaml")).unwrap();
    test.wait_for_line("dangling.yaml: No such file");
    test.write("binary.yaml", [b'a', 0xff]);
    test.wait_for_line("binary.yaml: the file is not UTF-8 text: byte 2");
    fs::File::create(test.path("huge.yaml")).unwrap().set_len(1 << 40).unwrap();
    test.wait_for_line("huge.yaml: the file is larger than 16 MiB");
    test.write("d.yaml", config_map("d", "2"));
    test.wait_for_value("d", "2").await;
    for name in ["fifo.yaml", "dangling.yaml", "binary.yaml", "huge.yaml"] {
        test.remove(name);
    }
    test.wait_for_line("all manifests are applied");
    assert_eq!(test.value("a").await.as_deref(), Some("1"));
    test.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_objects_of_removed_manifests_are_pruned() {
    let files = ["a", "b", "c", "d"].map(|name| (format!("{name}.yaml"), config_map(name, "1")));
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let mut test = FolderTest::start(new_home(&files), &["--prune"]).await;
    let maps = test.config_maps();

    // 18: what a user changed or deleted comes back on SIGHUP, and not before.
    let edit = Patch::Merge(json!({"data": {"value": "edited"}}));
    maps.patch("a", &PatchParams::default(), &edit).await.unwrap();
    maps.delete("b", &DeleteParams::default()).await.unwrap();
    test.write("new.yaml", config_map("new", "1"));
    test.wait_for_value("new", "1").await;
    assert_eq!(test.value("a").await.as_deref(), Some("edited"));
    test.signal(Signal::HUP);
    test.wait_for_value("a", "1").await;
    test.wait_for_value("b", "1").await;

    // 19: a Namespace and an object in it, in two files; a Namespace is never pruned.
    let inner = config_map("inner", "1").replace("{name: inner}", "{name: inner, namespace: ns}");
    test.write("0.yaml", inner);
    test.wait_for_line("namespaces \"ns\" not found");
    test.write("z.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n");
    test.wait_for_line("ConfigMap ns/inner created");
    test.remove("z.yaml");
    test.wait_for_line("Namespace ns is no longer in");

    // 20: an object without our label is not ours any more.
    let unlabel = Patch::Merge(json!({"metadata": {"labels": {"punctual.dev/applied-by": null}}}));
    maps.patch("c", &PatchParams::default(), &unlabel).await.unwrap();
    test.remove("c.yaml");
    test.wait_for_line("ConfigMap default/c is no longer in");
    assert_eq!(test.value("c").await.as_deref(), Some("1"));

    // 21 and 22: an emptied folder and a folder that is gone prune nothing.
    test.rename("../m", "../away");
    test.wait_for_line("not pruned, because it cannot be read completely");
    fs::create_dir(test.path("")).unwrap();
    test.wait_for_line("not pruned, because it contains no object");
    for name in ["a", "b", "d", "new"] {
        assert_eq!(test.value(name).await.as_deref(), Some("1"), "{name}");
    }

    // 23: a folder that has objects again.
    test.write("a.yaml", config_map("a", "2"));
    test.wait_for_value("a", "2").await;
    for name in ["b", "d", "new"] {
        test.wait_until_gone(name).await;
    }

    // 24: a file that is removed while nothing runs; objects of other sources stay.
    test.write("last.yaml", config_map("last", "1"));
    test.wait_for_value("last", "1").await;
    let home = test.stop();
    fs::remove_file(home.path().join("m/last.yaml")).unwrap();
    let test = FolderTest::start(home, &["--prune"]).await;
    test.wait_until_gone("last").await;
    for (name, value) in [("a", "2"), ("c", "1")] {
        assert_eq!(test.value(name).await.as_deref(), Some(value), "{name}");
    }
    test.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_prune_an_object_stays_when_its_manifest_is_removed_which_is_said_once() {
    let home = new_home(&[("a.yaml", config_map("a", "1")), ("b.yaml", config_map("b", "1"))]);
    let mut test = FolderTest::start(home, &[]).await;
    test.remove("a.yaml");
    let line = test.wait_for_line("ConfigMap default/a is no longer in");
    assert!(line.contains("the object stays: delete it with kubectl, or use --prune"), "{line}");
    test.write("b.yaml", config_map("b", "2"));
    test.wait_for_value("b", "2").await;
    test.remove("b.yaml");
    test.wait_for_line("ConfigMap default/b is no longer in");
    let notes = test.seen.iter().filter(|line| line.contains("default/a is no longer in"));
    assert_eq!(notes.count(), 1);
    assert_eq!(test.value("a").await.as_deref(), Some("1"));
    test.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_named_is_watched_when_it_is_replaced_or_created_later() {
    let home = new_home(&[("a.yaml", config_map("a", "1"))]);
    fs::write(home.path().join("one.yaml"), config_map("one", "1")).unwrap();
    let one = home.path().join("one.yaml").display().to_string();
    let later = home.path().join("later/two.yaml").display().to_string();
    let mut test = FolderTest::start(home, &[&one, &later]).await;
    test.write("../new", config_map("one", "2"));
    test.rename("../new", "../one.yaml");
    test.wait_for_value("one", "2").await;
    test.write("../later/two.yaml", config_map("two", "1"));
    test.wait_for_line("all manifests are applied");
    test.wait_for_value("two", "1").await;
    test.stop();
}
