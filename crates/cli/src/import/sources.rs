//! Reads the files and directories of `punctual import`.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use punctual_import::{
    CrontabFormat, FolderPeriod, FolderScript, Importer, UnitSource, missing_services,
};

use super::args::ImportArgs;
use crate::manifest;

pub(super) fn read_crontabs(args: &ImportArgs, importer: &mut Importer) -> anyhow::Result<()> {
    for path in &args.paths {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !path.is_dir() {
            read_crontab(path, args, importer)?;
        } else if let Some(period) = FolderPeriod::from_directory_name(name) {
            let scripts = list_scripts(path)?;
            importer.import_directory(&path.display().to_string(), period, &scripts);
        } else {
            for file in list_files(path)? {
                read_crontab(&file, args, importer)?;
            }
        }
    }
    Ok(())
}

fn read_crontab(path: &Path, args: &ImportArgs, importer: &mut Importer) -> anyhow::Result<()> {
    let text = read_text(path)?;
    let format = args.format.format().unwrap_or_else(|| format_of(path));
    importer.import_crontab(&shown(path), &text, format, args.user.as_deref());
    Ok(())
}

/// Returns the format of a crontab by its path.
fn format_of(path: &Path) -> CrontabFormat {
    let parent = path.parent().and_then(Path::file_name);
    if path.file_name() == Some(OsStr::new("anacrontab")) {
        CrontabFormat::Anacron
    } else if path == Path::new("/etc/crontab") || parent == Some(OsStr::new("cron.d")) {
        CrontabFormat::System
    } else {
        CrontabFormat::User
    }
}

pub(super) fn read_units(args: &ImportArgs, importer: &mut Importer) -> anyhow::Result<()> {
    let mut files = Vec::new();
    for path in &args.paths {
        if path.is_dir() {
            files.extend(list_units(path)?);
        } else {
            files.push(path.clone());
        }
    }
    let mut units = Vec::new();
    for file in &files {
        units.push(UnitSource { file: shown(file), text: read_text(file)? });
    }
    for service in missing_services(&units) {
        units.extend(find_beside(&service, &files));
    }
    importer.import_units(&units);
    Ok(())
}

/// Looks for a service, or for the template of its instance, in the directories of the files.
fn find_beside(service: &str, files: &[PathBuf]) -> Option<UnitSource> {
    let template = service.split_once('@').map(|(prefix, _)| format!("{prefix}@.service"));
    let names: Vec<&str> = [Some(service), template.as_deref()].into_iter().flatten().collect();
    let folders = files.iter().filter_map(|file| file.parent());
    let candidates = folders.flat_map(|folder| names.iter().map(|name| folder.join(name)));
    candidates.filter(|path| path.is_file()).find_map(|path| {
        let text = read_text(&path).ok()?;
        Some(UnitSource { file: shown(&path), text })
    })
}

/// Lists the timers and services of a directory, and their drop-ins.
fn list_units(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut units = Vec::new();
    let has_extension =
        |path: &Path, wanted: &str| path.extension().is_some_and(|found| found == wanted);
    for path in list_entries(folder)? {
        let is_unit = has_extension(&path, "timer") || has_extension(&path, "service");
        if is_unit && path.is_file() {
            units.push(path);
        } else if has_extension(&path, "d") && path.is_dir() {
            let drop_ins = list_files(&path)?;
            units.extend(drop_ins.into_iter().filter(|path| has_extension(path, "conf")));
        }
    }
    Ok(units)
}

pub(super) fn read_objects(args: &ImportArgs, importer: &mut Importer) -> anyhow::Result<()> {
    for document in manifest::read(&args.paths) {
        match document {
            Ok(document) => {
                importer.import_object(&document.location.to_string(), 0, document.value);
            }
            Err(error) => bail!(error),
        }
    }
    Ok(())
}

fn list_scripts(folder: &Path) -> anyhow::Result<Vec<FolderScript>> {
    let mut scripts = Vec::new();
    for path in list_files(folder)? {
        let mode = fs::metadata(&path).map(|metadata| metadata.permissions().mode());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        scripts
            .push(FolderScript { name, is_executable: mode.is_ok_and(|mode| mode & 0o111 != 0) });
    }
    Ok(scripts)
}

/// Lists the files of a directory by name. Hidden ones are left out, as cron does.
fn list_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = list_entries(folder)?;
    files.retain(|path| path.is_file());
    Ok(files)
}

fn list_entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let could_not = || format!("could not read {}", folder.display());
    let entries = fs::read_dir(folder).with_context(could_not)?;
    let entries = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>();
    let mut paths = entries.with_context(could_not)?;
    let is_hidden = |path: &Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    paths.retain(|path| !is_hidden(path));
    paths.sort();
    Ok(paths)
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    manifest::read_text_file(path).with_context(|| format!("could not read {}", shown(path)))
}

/// Returns the name of a file in messages.
fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}
