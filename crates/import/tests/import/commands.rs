//! Imported commands do what cron makes of them, told by a real shell.

use std::process::Command;

use punctual_import::CrontabFormat;
use serde_json::Value;

use crate::importer;

/// Imports a line and runs the command of its container as Kubernetes does.
fn run(line: &str) -> String {
    let mut importer = importer("UTC");
    importer.import_crontab("t", &format!("{line}\n"), CrontabFormat::User, None);
    let items = importer.finish();
    let object = items.iter().find_map(|item| item.objects.first()).unwrap();
    let container =
        &object.manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    let words: Vec<String> = container["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().replace("$$", "$"))
        .collect();
    let variables = container["env"].as_array().unwrap().iter();
    let text = |variable: &Value, key: &str| variable[key].as_str().unwrap().to_owned();
    let output = Command::new(&words[0])
        .args(&words[1..])
        .env_clear()
        .envs(variables.map(|variable| (text(variable, "name"), text(variable, "value"))))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_text_after_a_percent_sign_is_the_input() {
    assert_eq!(run("0 0 * * * cat | sort%two%one"), "one\ntwo\n");
    assert_eq!(run(r"0 0 * * * printf '\%s' 'a b'"), "a b");
    assert_eq!(run(r"0 0 * * * cat%100\% $HOME $(x)"), "100% $HOME $(x)\n");
}

#[test]
fn the_shell_expands_what_kubernetes_must_not() {
    assert_eq!(run("0 0 * * * X=1; echo $X $(echo sub) \"$((1 + 1))\""), "1 sub 2\n");
    assert_eq!(run("0 0 * * * test $$ -gt 1 && echo pid"), "pid\n");
}

#[test]
fn a_restriction_to_weekdays_runs_the_command_on_these_alone() {
    let even = run("0 0 */2 * 0,2,4,6 echo today $$");
    let odd = run("0 0 */2 * 1,3,5 echo today $$");
    assert_eq!([even, odd].concat().matches("today").count(), 1);
}
