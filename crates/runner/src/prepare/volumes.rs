//! Creates the volumes of a Pod and plans their mounts.
//!
//! Volumes have the content of their config maps and secrets when the Pod starts. Later changes are not
//! followed.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use punctual_api::Pod;
use punctual_api::pod::volume::{DownwardApiFile, EmptyDir, HostPath, KeyToPath};
use punctual_api::pod::{Container, Volume, VolumeMount};
use serde_json::Value;

use super::references::{DataReference, ReferenceKind, References};
use super::{Env, PlanSettings, PrepareError, expand, fields, is_below};
use crate::pod_folder::{PodFolder, create_private};
use crate::pod_plan::{MemoryVolume, MissingSource, MountPlan, SizeLimit};

/// The default mode of files.
const DEFAULT_MODE: i32 = 0o644;

/// The volumes of a Pod.
#[derive(Debug)]
pub(super) struct Volumes {
    /// The volumes in memory.
    pub(super) memory: Vec<MemoryVolume>,
    /// The volumes on disk with a maximum size.
    pub(super) size_limits: Vec<SizeLimit>,
    folder: PodFolder,
    by_name: HashMap<String, VolumeSource>,
}

/// The folder or file that a volume is mounted from.
#[derive(Clone, Debug)]
struct VolumeSource {
    path: PathBuf,
    missing_source: MissingSource,
}

/// Creates the volumes of a Pod.
pub(super) fn create(
    pod: &Pod,
    references: &References,
    folder: &PodFolder,
    settings: &PlanSettings,
) -> Result<Volumes, PrepareError> {
    let mut volumes = Volumes {
        memory: Vec::new(),
        size_limits: Vec::new(),
        folder: folder.clone(),
        by_name: HashMap::new(),
    };
    for volume in &pod.spec.volumes {
        let path = folder.volume_folder(&volume.name);
        let builder = VolumeBuilder { pod, references, settings, volume, path };
        volumes.by_name.insert(volume.name.clone(), builder.build()?);
        volumes.memory.extend(builder.memory_volume()?);
        volumes.size_limits.extend(builder.size_limit());
    }
    Ok(volumes)
}

impl Volumes {
    /// The mounts of a container.
    pub(super) fn mounts(
        &self,
        container: &Container,
        env: &Env,
    ) -> Result<Vec<MountPlan>, PrepareError> {
        container.volume_mounts.iter().map(|mount| self.mount(mount, env)).collect()
    }

    fn mount(&self, mount: &VolumeMount, env: &Env) -> Result<MountPlan, PrepareError> {
        let unsupported =
            |why: &str| PrepareError::Unsupported(format!("{}: {why}", mount.mount_path));
        let volume = self.by_name.get(&mount.name);
        let volume = volume.ok_or_else(|| unsupported("there is no such volume"))?;
        let sub_path = match mount.sub_path_expr.as_str() {
            "" => mount.sub_path.clone(),
            template => expand::expand(template, env),
        };
        if !is_below(Path::new(&sub_path)) {
            return Err(unsupported("subPath must be a path below the volume"));
        }
        let target = PathBuf::from(&mount.mount_path);
        if !target.is_absolute() || target == Path::new("/") {
            return Err(unsupported("mountPath must be an absolute path below /"));
        }
        if mount.mount_propagation.as_deref() == Some("Bidirectional") {
            return Err(unsupported("mountPropagation Bidirectional is not supported"));
        }
        let missing_source =
            if sub_path.is_empty() { volume.missing_source } else { MissingSource::CreateFolder };
        let recursive = mount.recursive_read_only.as_deref();
        Ok(MountPlan {
            source: volume.path.clone(),
            sub_path: PathBuf::from(sub_path),
            target,
            read_only: mount.read_only,
            is_recursively_read_only: matches!(recursive, Some("Enabled" | "IfPossible")),
            missing_source,
        })
    }

    /// Variables with the folders of volumes, for systems on which volumes cannot be mounted.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.by_name.iter().map(|(name, volume)| {
            let name = name.to_uppercase().replace(['-', '.'], "_");
            (format!("PUNCTUAL_VOLUME_{name}"), volume.path.to_string_lossy().into_owned())
        })
    }

    /// The file that a container writes its termination message to.
    pub(super) fn termination_log(&self, container: &str) -> PathBuf {
        self.folder.run_folder(container).join("termination-log")
    }

    /// The default working directory of a container.
    pub(super) fn scratch_folder(&self, container: &str) -> PathBuf {
        self.folder.run_folder(container).join("scratch")
    }
}

/// Creates one volume.
struct VolumeBuilder<'a> {
    pod: &'a Pod,
    references: &'a References,
    settings: &'a PlanSettings,
    volume: &'a Volume,
    path: PathBuf,
}

impl VolumeBuilder<'_> {
    fn build(&self) -> Result<VolumeSource, PrepareError> {
        let volume = self.volume;
        if let Some(host) = &volume.host_path {
            let missing_source = missing_host_path(host);
            return Ok(VolumeSource { path: PathBuf::from(&host.path), missing_source });
        }
        self.create_folder()?;
        if let Some(map) = &volume.config_map {
            let reference =
                DataReference::from_volume(ReferenceKind::ConfigMap, &map.name, map.optional);
            self.add_object(reference, &map.items, map.default_mode)?;
        } else if let Some(secret) = &volume.secret {
            let name = &secret.secret_name;
            let reference =
                DataReference::from_volume(ReferenceKind::Secret, name, secret.optional);
            self.add_object(reference, &secret.items, secret.default_mode)?;
        } else if let Some(downward) = &volume.downward_api {
            self.add_fields(&downward.items, downward.default_mode)?;
        } else if let Some(projected) = volume.extra.get("projected") {
            self.add_projected(projected)?;
        } else if volume.empty_dir.is_none() && !is_without_source(volume) {
            return Err(self.unsupported("this kind of volume is not supported"));
        }
        Ok(VolumeSource { path: self.path.clone(), missing_source: MissingSource::Fail })
    }

    /// The volume if it is in memory.
    fn memory_volume(&self) -> Result<Option<MemoryVolume>, PrepareError> {
        let Some(empty_dir) = &self.volume.empty_dir else { return Ok(None) };
        match empty_dir.medium.as_str() {
            "" => Ok(None),
            "Memory" => Ok(Some(MemoryVolume {
                path: self.path.clone(),
                bytes_max: size_limit(empty_dir),
                group: self.group(),
            })),
            other => Err(self.unsupported(&format!("the medium {other} is not supported"))),
        }
    }

    /// The size limit of a volume on disk.
    fn size_limit(&self) -> Option<SizeLimit> {
        let empty_dir = self.volume.empty_dir.as_ref().filter(|it| it.medium.is_empty())?;
        Some(SizeLimit {
            volume: self.volume.name.clone(),
            path: self.path.clone(),
            bytes_max: size_limit(empty_dir)?,
            text: empty_dir.size_limit.as_ref()?.to_string(),
        })
    }

    /// Creates the folder with the mode that a kubelet gives it. All users may enter it, because only the
    /// container can reach it.
    fn create_folder(&self) -> io::Result<()> {
        create_private(&self.path)?;
        let is_empty_dir = self.volume.empty_dir.is_some() || is_without_source(self.volume);
        let mode = if is_empty_dir { 0o777 } else { 0o755 };
        fs::set_permissions(&self.path, Permissions::from_mode(mode))?;
        self.set_group(&self.path);
        Ok(())
    }

    fn add_object(
        &self,
        reference: DataReference<'_>,
        items: &[KeyToPath],
        default_mode: Option<i32>,
    ) -> Result<(), PrepareError> {
        let Some(object) = self.references.get(reference)? else { return Ok(()) };
        let mode = default_mode.unwrap_or(DEFAULT_MODE);
        if items.is_empty() {
            for (key, value) in &object.data {
                self.add_file(key, value, mode)?;
            }
            return Ok(());
        }
        for item in items {
            match object.data.get(&item.key) {
                Some(value) => self.add_file(&item.path, value, item.mode.unwrap_or(mode))?,
                None if reference.is_optional => {}
                None => {
                    let kind = reference.kind.as_str().to_lowercase();
                    let message = format!(
                        "MountVolume.SetUp failed for volume {:?} : {kind} references \
                         non-existent config key: {}",
                        self.volume.name, item.key
                    );
                    return Err(self.references.missing(reference, message));
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
                let no_container = Container::default();
                fields::resource(self.pod, &no_container, selector, self.settings.machine)
            } else {
                Ok(String::new())
            };
            let text = text.map_err(|error| self.unsupported(&error.to_string()))?;
            let mode = item.mode.or(mode).unwrap_or(DEFAULT_MODE);
            self.add_file(&item.path, text.as_bytes(), mode)?;
        }
        Ok(())
    }

    fn add_projected(&self, projected: &Value) -> Result<(), PrepareError> {
        let mode = projected.get("defaultMode").and_then(Value::as_i64);
        let mode = mode.and_then(|mode| i32::try_from(mode).ok());
        let parts = projected.get("sources").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.add_projected_source(part, mode)?;
        }
        Ok(())
    }

    /// Adds one source of a projected volume. Unsupported ones, such as tokens, add nothing.
    fn add_projected_source(&self, part: &Value, mode: Option<i32>) -> Result<(), PrepareError> {
        let kinds = [("configMap", ReferenceKind::ConfigMap), ("secret", ReferenceKind::Secret)];
        for (field, kind) in kinds {
            let Some(part) = part.get(field) else { continue };
            let name = part.get("name").and_then(Value::as_str).unwrap_or_default();
            let optional = part.get("optional").and_then(Value::as_bool);
            let items: Vec<KeyToPath> = self.items(part)?;
            self.add_object(DataReference::from_volume(kind, name, optional), &items, mode)?;
        }
        if let Some(part) = part.get("downwardAPI") {
            self.add_fields(&self.items::<DownwardApiFile>(part)?, mode)?;
        }
        Ok(())
    }

    fn items<T: serde::de::DeserializeOwned>(&self, part: &Value) -> Result<Vec<T>, PrepareError> {
        let items = part.get("items").cloned().unwrap_or(Value::Array(Vec::new()));
        serde_json::from_value(items).map_err(|error| self.unsupported(&error.to_string()))
    }

    fn add_file(&self, path: &str, content: &[u8], mode: i32) -> Result<(), PrepareError> {
        let relative = Path::new(path);
        if path.is_empty() || !is_below(relative) {
            return Err(self.unsupported(&format!("{path:?} is not a path below the volume")));
        }
        let file = self.path.join(relative);
        for folder in relative.ancestors().skip(1).filter(|folder| *folder != Path::new("")) {
            fs::create_dir_all(self.path.join(folder))?;
            fs::set_permissions(self.path.join(folder), Permissions::from_mode(0o755))?;
        }
        fs::write(&file, content)?;
        let mode = u32::try_from(mode).unwrap_or(0o644) & 0o777;
        fs::set_permissions(&file, Permissions::from_mode(mode))?;
        self.set_group(&file);
        Ok(())
    }

    /// Gives a file to `fsGroup`, with the permissions of its owner.
    fn set_group(&self, path: &Path) {
        let Some(group) = self.group() else { return };
        // Fails unless we are root. Then the container runs as our own user, who owns the file.
        if chown(path, None, Some(group)).is_ok()
            && let Ok(metadata) = fs::metadata(path)
        {
            let mode = metadata.permissions().mode();
            let shared = mode | ((mode & 0o700) >> 3);
            let _ = fs::set_permissions(path, Permissions::from_mode(shared));
        }
    }

    /// `fsGroup` of the Pod.
    fn group(&self) -> Option<u32> {
        let context = self.pod.spec.security_context.as_ref()?;
        u32::try_from(context.fs_group?).ok()
    }

    fn unsupported(&self, why: &str) -> PrepareError {
        PrepareError::Unsupported(format!("volume {:?}: {why}", self.volume.name))
    }
}

/// The maximum size of a volume; 0 means that there is none, as in Kubernetes.
fn size_limit(empty_dir: &EmptyDir) -> Option<u64> {
    let bytes = empty_dir.size_limit.as_ref()?.value();
    u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

/// Whether a volume has no source. It is then an empty folder.
fn is_without_source(volume: &Volume) -> bool {
    volume.extra.is_empty() && volume.persistent_volume_claim.is_none() && !has_source(volume)
}

fn has_source(volume: &Volume) -> bool {
    volume.config_map.is_some() || volume.secret.is_some() || volume.downward_api.is_some()
}

fn missing_host_path(host: &HostPath) -> MissingSource {
    match host.path_type.as_deref() {
        Some("DirectoryOrCreate") => MissingSource::CreateFolder,
        Some("FileOrCreate") => MissingSource::CreateFile,
        _ => MissingSource::Fail,
    }
}
