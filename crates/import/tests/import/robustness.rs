//! No text makes the import fail or lose a line.

use proptest::prelude::*;
use punctual_import::{CrontabFormat, UnitSource, to_yaml};

use crate::importer;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_a_crontab_is_an_object_or_a_warning(
        lines in prop::collection::vec("[ -~\\t\u{85}\u{2028}é\\x01]{0,60}", 0..8),
        format in prop::sample::select(vec![
            CrontabFormat::User, CrontabFormat::System, CrontabFormat::Anacron,
        ]),
    ) {
        let mut importer = importer("UTC");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        importer.import_crontab("t", &text, format, Some("alice"));
        let items = importer.finish();
        for item in &items {
            prop_assert!(!item.objects.is_empty() || !item.warnings.is_empty());
        }
        to_yaml(&items).unwrap();
    }

    #[test]
    fn no_unit_file_makes_the_import_fail(
        calendar in "[ -~]{0,30}",
        words in "[-0-9*.,/:~ MonFri]{0,30}",
        exec in "[ -~\\\\]{0,40}",
    ) {
        let text = format!(
            "# /t.timer\n[Timer]\nOnCalendar={calendar}\nOnCalendar={words}\nOnUnitActiveSec={words}\n\
             # /t.service\n[Service]\nExecStart={exec}\nEnvironment={exec}\n"
        );
        let mut importer = importer("UTC");
        importer.import_units(&[UnitSource { file: "t".into(), text }]);
        to_yaml(&importer.finish()).unwrap();
    }
}

#[test]
fn a_very_long_line_is_imported() {
    let mut importer = importer("UTC");
    let line = format!("0 0 * * * echo {}\n", "x".repeat(1 << 20));
    importer.import_crontab("t", &line, CrontabFormat::User, Some("alice"));
    let items = importer.finish();
    assert_eq!(items[0].objects.len(), 1);
    assert!(to_yaml(&items).unwrap().len() > 2 << 20);
}
