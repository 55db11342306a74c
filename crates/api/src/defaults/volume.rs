//! Default values of volumes.

use serde_json::{Map, Value};

use super::{ensure_object_field, object_field, object_items, set_default, set_default_text};

/// The default mode of files: 0644.
const FILE_MODE: i32 = 0o644;
/// The default lifetime of a projected token in seconds.
const TOKEN_SECONDS: i32 = 60 * 60;

/// Default strings of legacy volume sources: source, field, default.
const LEGACY_SOURCES: [(&str, &[(&str, &str)]); 4] = [
    ("iscsi", &[("iscsiInterface", "default")]),
    ("rbd", &[("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")]),
    ("azureDisk", &[("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("kind", "Shared")]),
    ("scaleIO", &[("storageMode", "ThinProvisioned"), ("fsType", "xfs")]),
];

/// Sets the defaults of a volume.
pub(super) fn set_defaults(volume: &mut Map<String, Value>) {
    if volume.keys().all(|name| name == "name") {
        ensure_object_field(volume, "emptyDir");
    }
    if let Some(path) = object_field(volume, "hostPath") {
        set_default(path, "type", "");
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = object_field(volume, source) {
            set_default(source, "defaultMode", FILE_MODE);
            object_items(source, "items").for_each(set_downward_file_defaults);
            object_items(source, "sources").for_each(set_projection_defaults);
        }
    }
    set_legacy_source_defaults(volume);
    if let Some(template) =
        object_field(volume, "ephemeral").and_then(|e| object_field(e, "volumeClaimTemplate"))
    {
        set_default(ensure_object_field(template, "spec"), "volumeMode", "Filesystem");
    }
}

fn set_downward_file_defaults(file: &mut Map<String, Value>) {
    if let Some(field) = object_field(file, "fieldRef") {
        set_default_text(field, "apiVersion", "v1");
    }
}

fn set_projection_defaults(source: &mut Map<String, Value>) {
    if let Some(downward) = object_field(source, "downwardAPI") {
        object_items(downward, "items").for_each(set_downward_file_defaults);
    }
    if let Some(token) = object_field(source, "serviceAccountToken") {
        set_default(token, "expirationSeconds", TOKEN_SECONDS);
    }
}

fn set_legacy_source_defaults(volume: &mut Map<String, Value>) {
    for (source, texts) in LEGACY_SOURCES {
        if let Some(source) = object_field(volume, source) {
            for (name, default) in texts.iter() {
                set_default_text(source, name, default);
            }
        }
    }
    if let Some(disk) = object_field(volume, "azureDisk") {
        set_default(disk, "readOnly", false);
    }
}
