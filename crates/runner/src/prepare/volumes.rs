//! Volumes: folders with their content, and where containers see them.
//!
//! Content is as it is when the Pod starts; a config map that changes later changes nothing here.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use punctual_api::Pod;
use punctual_api::pod::volume::{DownwardApiFile, HostPath, KeyToPath};
use punctual_api::pod::{Container, Volume, VolumeMount};
use serde_json::Value;

use super::sources::{Kind, Reference, Sources};
use super::{Env, PrepareError, Settings, expand, fields, is_inside};
use crate::folder::{Folder, create_private};
use crate::plan::{Missing, MountPlan};

/// The mode of files unless the Pod says otherwise.
const MODE: i32 = 0o644;

/// The volumes of a Pod.
#[derive(Debug)]
pub(super) struct Volumes {
    folder: Folder,
    sources: HashMap<String, (PathBuf, Missing)>,
}

/// Makes the volumes of a Pod.
pub(super) fn create(
    pod: &Pod,
    sources: &Sources,
    folder: &Folder,
    settings: &Settings,
) -> Result<Volumes, PrepareError> {
    let mut volumes = Volumes { folder: folder.clone(), sources: HashMap::new() };
    for volume in &pod.spec.volumes {
        let path = folder.volume(&volume.name);
        let maker = Maker { pod, sources, settings, volume, path };
        volumes.sources.insert(volume.name.clone(), maker.make()?);
    }
    Ok(volumes)
}

impl Volumes {
    /// Where a container sees them.
    pub(super) fn mounts(
        &self,
        container: &Container,
        env: &Env,
    ) -> Result<Vec<MountPlan>, PrepareError> {
        container.volume_mounts.iter().map(|mount| self.mount(mount, env)).collect()
    }

    fn mount(&self, mount: &VolumeMount, env: &Env) -> Result<MountPlan, PrepareError> {
        let refused = |why: &str| PrepareError::Refused(format!("{}: {why}", mount.mount_path));
        let found = self.sources.get(&mount.name);
        let (source, missing) = found.ok_or_else(|| refused("there is no such volume"))?;
        let below = match mount.sub_path_expr.as_str() {
            "" => mount.sub_path.clone(),
            template => expand::expand(template, env),
        };
        if !is_inside(Path::new(&below)) {
            return Err(refused("subPath must be a path below the volume"));
        }
        let target = PathBuf::from(&mount.mount_path);
        if !target.is_absolute() || target == Path::new("/") {
            return Err(refused("mountPath must be an absolute path below /"));
        }
        let (source, missing) = match below.as_str() {
            "" => (source.clone(), *missing),
            below => (source.join(below), Missing::Folder),
        };
        Ok(MountPlan { source, target, read_only: mount.read_only, missing })
    }

    /// The variables that tell where volumes are even if they cannot be mounted.
    pub(super) fn variables(&self, container: &Container) -> Vec<(String, String)> {
        let of = |mount: &VolumeMount| {
            let (source, _) = self.sources.get(&mount.name)?;
            let name = mount.name.to_uppercase().replace(['-', '.'], "_");
            Some((format!("PUNCTUAL_VOLUME_{name}"), source.to_string_lossy().into_owned()))
        };
        container.volume_mounts.iter().filter_map(of).collect()
    }

    /// The file that a container's termination message is read from.
    pub(super) fn last_words(&self, container: &str) -> PathBuf {
        self.folder.run(container).join("termination-log")
    }

    /// The folder that a container starts in unless it says otherwise.
    pub(super) fn scratch(&self, container: &str) -> PathBuf {
        self.folder.run(container).join("scratch")
    }
}

/// What makes one volume.
struct Maker<'a> {
    pod: &'a Pod,
    sources: &'a Sources,
    settings: &'a Settings,
    volume: &'a Volume,
    path: PathBuf,
}

impl Maker<'_> {
    fn make(&self) -> Result<(PathBuf, Missing), PrepareError> {
        let volume = self.volume;
        if let Some(host) = &volume.host_path {
            return Ok((PathBuf::from(&host.path), missing_host_path(host)));
        }
        self.make_folder()?;
        if let Some(map) = &volume.config_map {
            let reference = Reference::of_volume(Kind::ConfigMap, &map.name, map.optional);
            self.add_source(reference, &map.items, map.default_mode)?;
        } else if let Some(secret) = &volume.secret {
            let name = &secret.secret_name;
            let reference = Reference::of_volume(Kind::Secret, name, secret.optional);
            self.add_source(reference, &secret.items, secret.default_mode)?;
        } else if let Some(downward) = &volume.downward_api {
            self.add_fields(&downward.items, downward.default_mode)?;
        } else if let Some(projected) = volume.extra.get("projected") {
            self.add_projected(projected)?;
        } else if volume.empty_dir.is_none() && !is_bare(volume) {
            return Err(self.refused("this kind of volume is not supported"));
        }
        Ok((self.path.clone(), Missing::Fails))
    }

    /// Open to every user, as a kubelet makes it: only the container is led here.
    fn make_folder(&self) -> io::Result<()> {
        create_private(&self.path)?;
        let is_empty_dir = self.volume.empty_dir.is_some() || is_bare(self.volume);
        let mode = if is_empty_dir { 0o777 } else { 0o755 };
        fs::set_permissions(&self.path, Permissions::from_mode(mode))?;
        self.give_to_group(&self.path);
        Ok(())
    }

    fn add_source(
        &self,
        reference: Reference<'_>,
        items: &[KeyToPath],
        default_mode: Option<i32>,
    ) -> Result<(), PrepareError> {
        let Some(source) = self.sources.get(reference)? else { return Ok(()) };
        let mode = default_mode.unwrap_or(MODE);
        if items.is_empty() {
            let mut all = source.data.iter();
            return all.try_for_each(|(key, value)| self.add_file(key, value, mode));
        }
        for item in items {
            match source.data.get(&item.key) {
                Some(value) => self.add_file(&item.path, value, item.mode.unwrap_or(mode))?,
                None if reference.is_optional => {}
                None => {
                    let kind = reference.kind.name().to_lowercase();
                    let message = format!(
                        "MountVolume.SetUp failed for volume {:?} : {kind} references \
                         non-existent config key: {}",
                        self.volume.name, item.key
                    );
                    return Err(self.sources.unmet(reference, message));
                }
            }
        }
        Ok(())
    }

    fn add_fields(&self, items: &[DownwardApiFile], mode: Option<i32>) -> Result<(), PrepareError> {
        for item in items {
            let text = if let Some(selector) = &item.field_ref {
                fields::field(self.pod, selector)
            } else if let Some(selector) = &item.resource_field_ref {
                let any = Container::default();
                fields::resource(self.pod, &any, selector, self.settings.machine)
            } else {
                Ok(String::new())
            };
            let text = text.map_err(|why| self.refused(&why))?;
            let mode = item.mode.or(mode).unwrap_or(MODE);
            self.add_file(&item.path, text.as_bytes(), mode)?;
        }
        Ok(())
    }

    fn add_projected(&self, projected: &Value) -> Result<(), PrepareError> {
        let mode = projected.get("defaultMode").and_then(Value::as_i64);
        let mode = mode.and_then(|mode| i32::try_from(mode).ok());
        let parts = projected.get("sources").and_then(Value::as_array);
        parts.into_iter().flatten().try_for_each(|part| self.add_part(part, mode))
    }

    /// A part that we have nothing for, such as a token, adds nothing.
    fn add_part(&self, part: &Value, mode: Option<i32>) -> Result<(), PrepareError> {
        for (field, kind) in [("configMap", Kind::ConfigMap), ("secret", Kind::Secret)] {
            let Some(part) = part.get(field) else { continue };
            let name = part.get("name").and_then(Value::as_str).unwrap_or_default();
            let optional = part.get("optional").and_then(Value::as_bool);
            let items: Vec<KeyToPath> = self.list(part)?;
            self.add_source(Reference::of_volume(kind, name, optional), &items, mode)?;
        }
        if let Some(part) = part.get("downwardAPI") {
            self.add_fields(&self.list::<DownwardApiFile>(part)?, mode)?;
        }
        Ok(())
    }

    fn list<T: serde::de::DeserializeOwned>(&self, part: &Value) -> Result<Vec<T>, PrepareError> {
        let items = part.get("items").cloned().unwrap_or(Value::Array(Vec::new()));
        serde_json::from_value(items).map_err(|error| self.refused(&error.to_string()))
    }

    fn add_file(&self, path: &str, content: &[u8], mode: i32) -> Result<(), PrepareError> {
        let relative = Path::new(path);
        if path.is_empty() || !is_inside(relative) {
            return Err(self.refused(&format!("{path:?} is not a path below the volume")));
        }
        let file = self.path.join(relative);
        for folder in relative.ancestors().skip(1).filter(|folder| *folder != Path::new("")) {
            fs::create_dir_all(self.path.join(folder))?;
            fs::set_permissions(self.path.join(folder), Permissions::from_mode(0o755))?;
        }
        fs::write(&file, content)?;
        let mode = u32::try_from(mode).unwrap_or(0o644) & 0o777;
        fs::set_permissions(&file, Permissions::from_mode(mode))?;
        self.give_to_group(&file);
        Ok(())
    }

    /// `fsGroup` owns what is on a volume and may do there what its owner may.
    fn give_to_group(&self, path: &Path) {
        let context = self.pod.spec.security_context.as_ref();
        let group =
            context.and_then(|context| context.fs_group).and_then(|id| u32::try_from(id).ok());
        let Some(group) = group else { return };
        // Refused where we are not root; the container then runs as us, who own it.
        if chown(path, None, Some(group)).is_ok()
            && let Ok(metadata) = fs::metadata(path)
        {
            let mode = metadata.permissions().mode();
            let shared = mode | ((mode & 0o700) >> 3);
            let _ = fs::set_permissions(path, Permissions::from_mode(shared));
        }
    }

    fn refused(&self, why: &str) -> PrepareError {
        PrepareError::Refused(format!("volume {:?}: {why}", self.volume.name))
    }
}

/// A volume without a source is an empty folder.
fn is_bare(volume: &Volume) -> bool {
    volume.extra.is_empty() && volume.persistent_volume_claim.is_none() && !has_source(volume)
}

fn has_source(volume: &Volume) -> bool {
    volume.config_map.is_some() || volume.secret.is_some() || volume.downward_api.is_some()
}

fn missing_host_path(host: &HostPath) -> Missing {
    match host.path_type.as_deref() {
        Some("DirectoryOrCreate") => Missing::Folder,
        Some("FileOrCreate") => Missing::File,
        _ => Missing::Fails,
    }
}
