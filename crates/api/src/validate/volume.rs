//! Validation of volumes and volume mounts.

use std::collections::{HashMap, HashSet};

use super::{Errors, env, reasons, required};
use crate::field::{FieldError, FieldPath};
use crate::names;
use crate::pod::container::Container;
use crate::pod::volume::{DownwardApiFile, EmptyDir, HostPath, KeyToPath, Volume, VolumeMount};

const FILE_MODE_MAX: i32 = 0o777;
const HOST_PATH_TYPES: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];
const PROPAGATIONS: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
const RECURSIVE: [&str; 3] = ["Disabled", "Enabled", "IfPossible"];
/// The Pod fields that a file may contain.
const VOLUME_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
/// Sources that are counted but not inspected, in Kubernetes' order.
const OTHER_SOURCES: [&str; 24] = [
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// The valid volumes by name, and whether they can be block devices.
pub(super) type Volumes = HashMap<String, bool>;

/// Validates the volumes of a Pod; returns those that containers may mount.
pub(super) fn all(volumes: &[Volume], path: &FieldPath<'_>, errors: &mut Errors) -> Volumes {
    let mut valid_volumes = Volumes::new();
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let before = errors.len();
        source(volume, &path, errors);
        let name = path.child("name");
        if volume.name.is_empty() {
            errors.push(FieldError::required(&name, ""));
        } else {
            reasons(names::check_dns_label(&volume.name), &volume.name, &name, errors);
        }
        if valid_volumes.contains_key(&volume.name) {
            errors.push(FieldError::duplicate(&name, &volume.name));
        }
        if errors.len() == before {
            let is_device =
                volume.persistent_volume_claim.is_some() || volume.extra.contains_key("ephemeral");
            valid_volumes.insert(volume.name.clone(), is_device);
        }
    }
    valid_volumes
}

/// Validates the source: exactly one must be set. Validates the first and rejects the others.
fn source(volume: &Volume, path: &FieldPath<'_>, errors: &mut Errors) {
    let typed = [
        ("emptyDir", volume.empty_dir.is_some()),
        ("hostPath", volume.host_path.is_some()),
        ("secret", volume.secret.is_some()),
        ("persistentVolumeClaim", volume.persistent_volume_claim.is_some()),
        ("downwardAPI", volume.downward_api.is_some()),
        ("configMap", volume.config_map.is_some()),
    ];
    let others = OTHER_SOURCES.into_iter().map(|name| (name, volume.extra.contains_key(name)));
    let mut given =
        typed.into_iter().chain(others).filter(|(_, is_given)| *is_given).map(|(name, _)| name);
    match given.next() {
        Some(name) => source_content(volume, name, &path.child(name), errors),
        None => errors.push(FieldError::required(path, "must specify a volume type")),
    }
    for name in given {
        let detail = "may not specify more than 1 volume type";
        errors.push(FieldError::forbidden(&path.child(name), detail));
    }
}

fn source_content(volume: &Volume, name: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    match name {
        "emptyDir" => empty_dir(volume.empty_dir.as_ref(), path, errors),
        "hostPath" => host_path(volume.host_path.as_ref(), path, errors),
        "secret" => {
            if let Some(secret) = &volume.secret {
                required(&secret.secret_name, &path.child("secretName"), errors);
                files(&secret.items, secret.default_mode, path, errors);
            }
        }
        "configMap" => {
            if let Some(map) = &volume.config_map {
                required(&map.name, &path.child("name"), errors);
                files(&map.items, map.default_mode, path, errors);
            }
        }
        "downwardAPI" => {
            if let Some(downward) = &volume.downward_api {
                mode(downward.default_mode, &path.child("defaultMode"), errors);
                // Kubernetes reports the errors of an item at the volume.
                for file in &downward.items {
                    downward_file(file, path, errors);
                }
            }
        }
        "persistentVolumeClaim" => {
            if let Some(claim) = &volume.persistent_volume_claim {
                required(&claim.claim_name, &path.child("claimName"), errors);
            }
        }
        _ => {}
    }
}

fn empty_dir(dir: Option<&EmptyDir>, path: &FieldPath<'_>, errors: &mut Errors) {
    if dir.and_then(|dir| dir.size_limit).is_some_and(|limit| limit.is_negative()) {
        let detail = "SizeLimit field must be a valid resource quantity";
        errors.push(FieldError::forbidden(&path.child("sizeLimit"), detail));
    }
}

fn host_path(host: Option<&HostPath>, path: &FieldPath<'_>, errors: &mut Errors) {
    let Some(host) = host else {
        return;
    };
    if host.path.is_empty() {
        errors.push(FieldError::required(&path.child("path"), ""));
        return;
    }
    no_backsteps(&host.path, &path.child("path"), errors);
    if let Some(kind) = host.path_type.as_deref().filter(|kind| !HOST_PATH_TYPES.contains(kind)) {
        errors.push(FieldError::not_supported(&path.child("type"), kind, &HOST_PATH_TYPES));
    }
}

fn files(
    items: &[KeyToPath],
    default_mode: Option<i32>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    mode(default_mode, &path.child("defaultMode"), errors);
    let list = path.child("items");
    for (i, item) in items.iter().enumerate() {
        let path = list.index(i);
        required(&item.key, &path.child("key"), errors);
        required(&item.path, &path.child("path"), errors);
        local_file(&item.path, &path.child("path"), errors);
        mode(item.mode, &path.child("mode"), errors);
    }
}

fn downward_file(file: &DownwardApiFile, path: &FieldPath<'_>, errors: &mut Errors) {
    required(&file.path, &path.child("path"), errors);
    local_file(&file.path, &path.child("path"), errors);
    match (&file.field_ref, &file.resource_field_ref) {
        (Some(field), resource) => {
            env::field(field, &VOLUME_FIELDS, &path.child("fieldRef"), errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path, "resource", detail));
            }
        }
        (None, Some(resource)) => {
            env::resource_field(resource, true, &path.child("resourceFieldRef"), errors);
        }
        (None, None) => {
            let detail = "one of fieldRef and resourceFieldRef is required";
            errors.push(FieldError::required(path, detail));
        }
    }
    mode(file.mode, &path.child("mode"), errors);
}

fn mode(mode: Option<i32>, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(mode) = mode.filter(|mode| !(0..=FILE_MODE_MAX).contains(mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(path, mode, detail));
    }
}

/// Validates a file path in a volume, which must not start like the reserved names.
fn local_file(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    local(text, path, errors);
    if text.starts_with("..") && !text.starts_with("../") {
        errors.push(FieldError::invalid(path, text, "must not start with '..'"));
    }
}

/// Validates a path in a volume.
fn local(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    if text.starts_with('/') {
        errors.push(FieldError::invalid(path, text, "must be a relative path"));
    }
    no_backsteps(text, path, errors);
}

/// Rejects a path that contains `..`.
pub(super) fn no_backsteps(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    if text.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(path, text, "must not contain '..'"));
    }
}

/// Validates the volume mounts of a container.
pub(super) fn mounts(
    container: &Container,
    volumes: &Volumes,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let mut seen = HashSet::new();
    for (i, mount) in container.volume_mounts.iter().enumerate() {
        let item = path.index(i);
        let name = item.child("name");
        let target = item.child("mountPath");
        required(&mount.name, &name, errors);
        if !volumes.contains_key(&mount.name) {
            errors.push(FieldError::not_found(&name, &mount.name));
        }
        required(&mount.mount_path, &target, errors);
        if !seen.insert(&mount.mount_path) {
            errors.push(FieldError::invalid(&target, &mount.mount_path, "must be unique"));
        }
        if container.volume_devices.iter().any(|device| device.name == mount.name) {
            let detail = "must not already exist in volumeDevices";
            errors.push(FieldError::invalid(&name, &mount.name, detail));
        }
        if container.volume_devices.iter().any(|device| device.device_path == mount.mount_path) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(&target, &mount.mount_path, detail));
        }
        mount_options(mount, container, i, path, errors);
    }
}

/// Validates the options of a mount. Kubernetes reports most of these errors at the list.
fn mount_options(
    mount: &VolumeMount,
    container: &Container,
    index: usize,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    if !mount.sub_path.is_empty() {
        local(&mount.sub_path, &path.child("subPath"), errors);
    }
    if !mount.sub_path_expr.is_empty() {
        if !mount.sub_path.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            let item = path.index(index);
            let path = item.child("subPathExpr");
            errors.push(FieldError::invalid(&path, &mount.sub_path_expr, detail));
        }
        local(&mount.sub_path_expr, &path.child("subPathExpr"), errors);
    }
    propagation(mount, container, &path.child("mountPropagation"), errors);
    recursive_read_only(mount, &path.child("recursiveReadOnly"), errors);
}

fn propagation(
    mount: &VolumeMount,
    container: &Container,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let Some(propagation) = mount.mount_propagation.as_deref() else {
        return;
    };
    if !PROPAGATIONS.contains(&propagation) {
        errors.push(FieldError::not_supported(path, propagation, &PROPAGATIONS));
    }
    let context = container.security_context.as_ref();
    let is_privileged = context.is_some_and(|context| context.privileged == Some(true));
    if propagation == "Bidirectional" && !is_privileged {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn recursive_read_only(mount: &VolumeMount, path: &FieldPath<'_>, errors: &mut Errors) {
    match mount.recursive_read_only.as_deref() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !mount.read_only {
                let detail = "may only be specified when readOnly is true";
                errors.push(FieldError::forbidden(path, detail));
            }
            if mount.mount_propagation.as_deref().is_some_and(|kind| kind != "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(path, detail));
            }
        }
        Some(word) => errors.push(FieldError::not_supported(path, word, &RECURSIVE)),
    }
}

/// Validates the block devices of a container.
pub(super) fn devices(
    container: &Container,
    volumes: &Volumes,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let mut names = HashSet::new();
    let mut paths = HashSet::new();
    for (i, device) in container.volume_devices.iter().enumerate() {
        let item = path.index(i);
        let name = item.child("name");
        let target = item.child("devicePath");
        required(&device.name, &name, errors);
        if !names.insert(&device.name) && !device.name.is_empty() {
            errors.push(FieldError::invalid(&name, &device.name, "must be unique"));
        }
        match volumes.get(&device.name) {
            Some(true) => {}
            Some(false) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or \
                              Ephemeral for block mode";
                errors.push(FieldError::invalid(&name, &device.name, detail));
            }
            None => errors.push(FieldError::not_found(&name, &device.name)),
        }
        required(&device.device_path, &target, errors);
        if !paths.insert(&device.device_path) {
            errors.push(FieldError::invalid(&target, &device.device_path, "must be unique"));
        }
        if device.device_path.split('/').any(|part| part == "..") {
            let detail = "can not contain backsteps ('..')";
            errors.push(FieldError::invalid(&target, &device.device_path, detail));
        }
        if container.volume_mounts.iter().any(|mount| mount.name == device.name) {
            let detail = "must not already exist in volumeMounts";
            errors.push(FieldError::invalid(&name, &device.name, detail));
        }
        if container.volume_mounts.iter().any(|mount| mount.mount_path == device.device_path) {
            let detail = "must not already exist as a path in volumeMounts";
            errors.push(FieldError::invalid(&target, &device.device_path, detail));
        }
    }
}
