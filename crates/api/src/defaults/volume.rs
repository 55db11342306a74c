//! Defaults of volumes.

use serde_json::{Map, Value};

use super::{child, children, section_of, text, value};

/// The default mode of files: 0644.
const FILE_MODE: i32 = 0o644;
/// The default lifetime of a projected token in seconds.
const TOKEN_SECONDS: i32 = 60 * 60;

/// Default texts of legacy volume sources: source, field, default.
const OLD_STORAGE: [(&str, &[(&str, &str)]); 4] = [
    ("iscsi", &[("iscsiInterface", "default")]),
    ("rbd", &[("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")]),
    ("azureDisk", &[("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("kind", "Shared")]),
    ("scaleIO", &[("storageMode", "ThinProvisioned"), ("fsType", "xfs")]),
];

/// Sets the defaults of a volume.
pub(super) fn fill(volume: &mut Map<String, Value>) {
    if volume.keys().all(|name| name == "name") {
        section_of(volume, "emptyDir");
    }
    if let Some(path) = child(volume, "hostPath") {
        value(path, "type", "");
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = child(volume, source) {
            value(source, "defaultMode", FILE_MODE);
            children(source, "items").for_each(downward_file);
            children(source, "sources").for_each(projection);
        }
    }
    old_storage(volume);
    if let Some(template) = child(volume, "ephemeral").and_then(|e| child(e, "volumeClaimTemplate"))
    {
        value(section_of(template, "spec"), "volumeMode", "Filesystem");
    }
}

fn downward_file(file: &mut Map<String, Value>) {
    if let Some(field) = child(file, "fieldRef") {
        text(field, "apiVersion", "v1");
    }
}

fn projection(source: &mut Map<String, Value>) {
    if let Some(downward) = child(source, "downwardAPI") {
        children(downward, "items").for_each(downward_file);
    }
    if let Some(token) = child(source, "serviceAccountToken") {
        value(token, "expirationSeconds", TOKEN_SECONDS);
    }
}

fn old_storage(volume: &mut Map<String, Value>) {
    for (source, texts) in OLD_STORAGE {
        if let Some(source) = child(volume, source) {
            for (name, default) in texts.iter() {
                text(source, name, default);
            }
        }
    }
    if let Some(disk) = child(volume, "azureDisk") {
        value(disk, "readOnly", false);
    }
}
