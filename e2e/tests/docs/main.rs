//! Tests of the documentation: its commands run, and it mentions every field, event and metric.
//!
//! A test runs the blocks of a page that are marked `console`: lines that begin with `$ ` are shell
//! commands, and the lines below them are the expected output. All blocks of a page run in order in one
//! shell. Blocks with another mark do not run.

mod attacks;
mod background_job;
mod command_reference;
mod coverage;
mod design_documents;
mod output_matcher;
mod page;
mod shell;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use punctual_e2e::{
    Programs, Punctual,
    files::repository_root,
    harness::{self, TestArgs, TestReport},
};

use page::{DocPage, PageStep, StepAction};
use shell::PageShell;

/// The number of lines of an unexpected output that the report shows.
const SHOWN_LINES_MAX: usize = 60;

/// The unit tests of this suite's parsers. The usual harness, which would find them, is not used.
const UNIT_CHECKS: [fn(); 13] = [
    attacks::tests::items_are_the_rows_with_a_name_and_tests,
    command_reference::tests::command_names_are_read_from_the_list,
    coverage::tests::only_whole_names_in_inline_code_are_mentions,
    coverage::tests::fields_are_converted_to_camel_case,
    coverage::tests::every_pattern_finds_names,
    design_documents::tests::missing_names_are_found,
    design_documents::tests::only_functions_with_the_attribute_are_tests,
    design_documents::tests::requirements_are_the_numbered_rows,
    output_matcher::tests::dots_match_any_lines,
    output_matcher::tests::values_that_differ_between_runs_are_ignored,
    output_matcher::tests::an_exact_comparison_ignores_nothing,
    page::tests::commands_have_their_here_documents_and_outputs,
    page::tests::output_without_a_command_is_an_error,
];

/// Tests all pages and returns the exit code of the test program.
///
/// Arguments: a text that the names of pages must contain, and `--bless`, which writes the command
/// reference.
fn main() -> ExitCode {
    harness::main("docs", &UNIT_CHECKS, run)
}

fn run(args: &TestArgs, report: &mut TestReport) -> anyhow::Result<()> {
    let pages = read_pages(&args.filter)?;
    report.note(&count_blocks(&pages));
    check_coverage(report)?;
    check_design_documents(report)?;
    check_attacks(report)?;
    let step_count = pages.iter().map(|page| page.steps().count()).sum();
    let punctual = match Punctual::find() {
        Ok(punctual) => punctual,
        Err(error) => {
            report.skip("punctual", step_count, &error);
            return Ok(());
        }
    };
    check_command_reference(punctual.binary(), args.bless, report)?;
    let programs = Programs::find();
    if let Err(error) = programs.path("kubectl") {
        report.skip("punctual", step_count, &error);
        return Ok(());
    }
    for page in pages.iter().filter(|page| page.steps().next().is_some()) {
        let shell = PageShell::new(punctual.binary(), &programs.search_path())?;
        run_page(page, shell, report).with_context(|| page.name.clone())?;
    }
    Ok(())
}

fn count_blocks(pages: &[DocPage]) -> String {
    let blocks: Vec<_> = pages.iter().flat_map(|page| &page.blocks).collect();
    let run = blocks.iter().filter(|block| !block.steps.is_empty()).count();
    let shown = blocks.len() - run;
    format!("{} pages: {run} blocks run, {shown} do not", pages.len())
}

fn check_coverage(report: &mut TestReport) -> anyhow::Result<()> {
    for (page, missing) in coverage::missing()? {
        report.fail(&page, &format!("does not mention {}\n", missing.join(", ")));
    }
    report.pass();
    Ok(())
}

fn check_design_documents(report: &mut TestReport) -> anyhow::Result<()> {
    match design_documents::problems()?.as_slice() {
        [] => report.pass(),
        problems => report.fail("docs/design-documents.md", &(problems.join("\n") + "\n")),
    }
    Ok(())
}

fn check_attacks(report: &mut TestReport) -> anyhow::Result<()> {
    match attacks::problems()?.as_slice() {
        [] => report.pass(),
        problems => report.fail("docs/attacks.md", &(problems.join("\n") + "\n")),
    }
    Ok(())
}

fn check_command_reference(
    binary: &Path,
    bless: bool,
    report: &mut TestReport,
) -> anyhow::Result<()> {
    let path = repository_root().join("docs/commands.md");
    let text = command_reference::render(binary)?;
    if bless {
        return fs::write(&path, text).with_context(|| path.display().to_string());
    }
    match fs::read_to_string(&path) {
        Ok(found) if found == text => report.pass(),
        _ => report.fail(
            "docs/commands.md",
            "differs from --help; write it with\n  \
             cargo test -p punctual-e2e --test docs -- --bless commands\n",
        ),
    }
    Ok(())
}

/// Runs a page up to the first failed step: later steps depend on it.
fn run_page(page: &DocPage, mut shell: PageShell, report: &mut TestReport) -> anyhow::Result<()> {
    let failed_before = report.failed();
    for step in page.steps() {
        match run_step(&mut shell, step)? {
            None => report.pass(),
            Some(mismatch) => {
                report.fail(&format!("{}:{}", page.name, step.line), &mismatch);
                break;
            }
        }
    }
    let left = shell.stop_all()?;
    if report.failed() > failed_before {
        return Ok(());
    }
    match left.as_slice() {
        [] => report.note(&format!("{}: {} steps", page.name, page.steps().count())),
        left => {
            report.fail(&page.name, &format!("leaves processes running:\n{}\n", left.join("\n")))
        }
    }
    Ok(())
}

/// Runs a step and returns the expected and the actual output if they differ.
fn run_step(shell: &mut PageShell, step: &PageStep) -> anyhow::Result<Option<String>> {
    let (output, code) = match &step.action {
        StepAction::Run(command) => shell.run(command)?,
        StepAction::Start(command) => shell.start(command, &step.expected)?,
        StepAction::Stop(number) => shell.stop(*number)?,
    };
    let matches = shell.matches(&step.expected, &output);
    let exit_status = match code {
        0 => String::new(),
        code => format!("exit status {code}\n"),
    };
    let mismatch = || {
        let expected = step.expected.join("\n");
        let output = first_lines(&output);
        format!("$ {}\nexpected\n{expected}\ngot\n{output}{exit_status}", step.action)
    };
    Ok((!matches || code != 0).then(mismatch))
}

/// The first lines of an output.
fn first_lines(output: &str) -> String {
    let lines: Vec<&str> = output.split_inclusive('\n').collect();
    let shown = lines.iter().take(SHOWN_LINES_MAX).copied().collect();
    match lines.len().saturating_sub(SHOWN_LINES_MAX) {
        0 => shown,
        more => format!("{shown}(and {more} lines more)\n"),
    }
}

fn read_pages(filter: &str) -> anyhow::Result<Vec<DocPage>> {
    let mut paths = vec![repository_root().join("README.md")];
    for entry in fs::read_dir(repository_root().join("docs"))? {
        paths.push(entry?.path());
    }
    let is_wanted = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        path.extension().is_some_and(|extension| extension == "md") && name.contains(filter)
    };
    paths.retain(is_wanted);
    paths.sort();
    paths.iter().map(|path| read_page(path)).collect()
}

fn read_page(path: &Path) -> anyhow::Result<DocPage> {
    let name = path.strip_prefix(repository_root()).unwrap_or(path).display().to_string();
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    DocPage::parse(&name, &text).with_context(|| name.clone())
}
