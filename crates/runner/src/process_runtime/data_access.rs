//! Warns of the Pods that can read the data directory.

use std::path::Path;

use rustix::thread::UnshareFlags;

/// Warns of the Pods that can read the data directory, with the keys and tokens of the server.
pub(super) fn warn(data_dir: &Path) {
    let data_dir = data_dir.display();
    if !rustix::process::geteuid().is_root() {
        tracing::info!(
            %data_dir,
            "Pods run as the same user as punctual: those without volumeMounts can read the data directory with \
             its keys and tokens; it is hidden from the others. To keep all Pods out, run punctual as root and \
             set runAsUser"
        );
    } else if can_create_mount_namespaces() {
        tracing::info!(
            %data_dir,
            "Pods that run as root do not see the data directory with its keys and tokens, but can reach it: they \
             can unmount what hides it, and read /proc/PID/root. Set runAsUser for Pods that you do not trust"
        );
    } else {
        tracing::info!(
            %data_dir,
            "this system allows no mount namespaces: Pods that run as root can read the data directory with its \
             keys and tokens. Set runAsUser for Pods that you do not trust"
        );
    }
}

/// Whether this process may create mount namespaces. Tries it on a thread that ends at once.
fn can_create_mount_namespaces() -> bool {
    let trial = std::thread::spawn(|| crate::supervisor::unshare(UnshareFlags::NEWNS).is_ok());
    trial.join().unwrap_or(false)
}
