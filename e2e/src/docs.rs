//! The documentation under test: its commands are run, and what it says there is, is compared with
//! what there is.
//!
//! A block of a page that is marked `console` is played: lines that begin with `$ ` are given to a
//! shell, those below are what it must print. The blocks of a page are played in order in a world of
//! their own. Blocks with another mark are only shown.

mod commands;
mod coverage;
mod expected;
mod job;
mod page;
mod world;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;

use crate::{
    Programs, Punctual,
    suite::{self, Request, Tally},
};
use page::{Act, Page, Step};
use world::World;

/// So much is shown of an output that is not the expected one.
const SHOWN_LINES_MAX: usize = 60;

/// Plays all pages; the exit code of a test program.
///
/// Arguments: a word that the names of pages must contain, and `--bless`, which writes the page of
/// commands anew. What the usual harness understands is ignored.
pub fn main() -> ExitCode {
    suite::main("docs", run)
}

fn run(request: &Request, tally: &mut Tally) -> anyhow::Result<()> {
    let pages = pages(&request.filter)?;
    tally.note(&shown_and_run(&pages));
    check_coverage(tally)?;
    let step_count = pages.iter().map(|page| page.steps().count()).sum();
    let punctual = match Punctual::find() {
        Ok(punctual) => punctual,
        Err(error) => {
            tally.skip("punctual", step_count, &error);
            return Ok(());
        }
    };
    check_commands(punctual.binary(), request.bless, tally)?;
    let programs = Programs::find();
    if let Err(error) = programs.path("kubectl") {
        tally.skip("punctual", step_count, &error);
        return Ok(());
    }
    for page in pages.iter().filter(|page| page.steps().next().is_some()) {
        let world = World::new(punctual.binary(), &programs.search_path(), &root())?;
        play(page, world, tally).with_context(|| page.name.clone())?;
    }
    Ok(())
}

fn shown_and_run(pages: &[Page]) -> String {
    let blocks: Vec<_> = pages.iter().flat_map(|page| &page.blocks).collect();
    let run = blocks.iter().filter(|block| !block.steps.is_empty()).count();
    let shown = blocks.len() - run;
    format!("{} pages: {run} blocks are run, {shown} are only shown", pages.len())
}

fn check_coverage(tally: &mut Tally) -> anyhow::Result<()> {
    for (page, missing) in coverage::missing(&root())? {
        tally.fail(&page, &format!("says nothing of {}\n", missing.join(", ")));
    }
    tally.pass();
    Ok(())
}

fn check_commands(binary: &Path, bless: bool, tally: &mut Tally) -> anyhow::Result<()> {
    let path = root().join("docs/commands.md");
    let text = commands::page(binary)?;
    if bless {
        return fs::write(&path, text).with_context(|| path.display().to_string());
    }
    match fs::read_to_string(&path) {
        Ok(found) if found == text => tally.pass(),
        _ => tally.fail(
            "docs/commands.md",
            "is not what --help says; write it anew with\n  \
             cargo test -p punctual-e2e --test docs -- --bless commands\n",
        ),
    }
    Ok(())
}

/// Plays a page until something in it goes wrong: what comes after would only go wrong, too.
fn play(page: &Page, mut world: World, tally: &mut Tally) -> anyhow::Result<()> {
    let failed_before = tally.failed();
    for step in page.steps() {
        match fault(&mut world, step)? {
            None => tally.pass(),
            Some(fault) => {
                tally.fail(&format!("{}:{}", page.name, step.line), &fault);
                break;
            }
        }
    }
    let left = world.end()?;
    if tally.failed() > failed_before {
        return Ok(());
    }
    match left.as_slice() {
        [] => tally.note(&format!("{}: {} steps", page.name, page.steps().count())),
        left => tally.fail(&page.name, &format!("leaves running:\n{}\n", left.join("\n"))),
    }
    Ok(())
}

/// What is wrong with what a step does; nothing if all is well.
fn fault(world: &mut World, step: &Step) -> anyhow::Result<Option<String>> {
    let (output, code) = match &step.act {
        Act::Run(command) => world.run(command)?,
        Act::Start(command) => world.start(command, &step.expected)?,
        Act::Stop(number) => world.stop(*number)?,
    };
    let matches = world.matches(&step.expected, &output);
    let ended = match code {
        0 => String::new(),
        code => format!("exit status {code}\n"),
    };
    let fault = || {
        let (expected, output) = (step.expected.join("\n"), beginning(&output));
        format!("$ {}\nexpected\n{expected}\ngot\n{output}{ended}", step.act)
    };
    Ok((!matches || code != 0).then(fault))
}

/// As much of an output as somebody wants to read.
fn beginning(output: &str) -> String {
    let lines: Vec<&str> = output.split_inclusive('\n').collect();
    let shown = lines.iter().take(SHOWN_LINES_MAX).copied().collect();
    match lines.len().saturating_sub(SHOWN_LINES_MAX) {
        0 => shown,
        more => format!("{shown}(and {more} lines more)\n"),
    }
}

fn pages(filter: &str) -> anyhow::Result<Vec<Page>> {
    let mut paths = vec![root().join("README.md")];
    for entry in fs::read_dir(root().join("docs"))? {
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

fn read_page(path: &Path) -> anyhow::Result<Page> {
    let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    Page::parse(&name, &text).with_context(|| name.clone())
}

/// The folder of the whole project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
