//! Gives up the rights that a container must not have, in the container's process before its program runs.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_ambient_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};

use super::seccomp;
use crate::pod_plan::SecurityPlan;

/// Gives up the rights that the supervisor has in a user namespace of its own, as an exec would. A namespace of the
/// container's own follows if it needs one.
pub(super) fn leave_rights_of_supervisor() -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let permitted = capabilities(None)?.permitted;
    let is_ambient =
        |capability: &CapabilitySet| capability_is_in_ambient_set(*capability).unwrap_or(false);
    let kept: CapabilitySet = permitted.iter().filter(is_ambient).collect();
    if kept == permitted {
        return Ok(());
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: kept };
    Ok(set_capabilities(None, sets)?)
}

/// The part before the change of user, which needs the rights of this process.
pub(super) fn before_user_change(plan: &SecurityPlan) -> io::Result<()> {
    let added = CapabilitySet::from_bits_retain(plan.added_capabilities);
    let missing = added.difference(capabilities(None)?.permitted);
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter_names().map(|(name, _)| name).collect();
        let message = "cannot add capabilities that punctual does not have:";
        return Err(io::Error::other(format!("{message} {}", names.join(", "))));
    }
    if plan.has_seccomp {
        seccomp::install().map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    }
    if !added.is_empty() {
        set_keep_capabilities(true)?;
    }
    let dropped = CapabilitySet::from_bits_retain(plan.dropped_capabilities).difference(added);
    for capability in dropped.iter() {
        match remove_capability_from_bounding_set(capability) {
            // The kernel does not know the capability.
            Ok(()) | Err(Errno::INVAL) => {}
            // Without this right there is nothing to give up, but a program could gain it with an exec.
            Err(Errno::PERM) => return Ok(set_no_new_privs(true)?),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The part after the change of user: keeps exactly the capabilities that the container is to have.
pub(super) fn after_user_change(plan: &SecurityPlan) -> io::Result<()> {
    let dropped = CapabilitySet::from_bits_retain(plan.dropped_capabilities);
    let added = CapabilitySet::from_bits_retain(plan.added_capabilities);
    if dropped.is_empty() && added.is_empty() {
        return Ok(());
    }
    let is_root = rustix::process::geteuid().is_root();
    let permitted = capabilities(None)?.permitted;
    // After a change of user, all were kept to have those that are added.
    let kept = if is_root { permitted.difference(dropped) | added } else { added };
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: added },
    )?;
    if !is_root {
        // A program of another user than root gets capabilities only from this set.
        for capability in added.iter() {
            configure_capability_in_ambient_set(capability, true)?;
        }
    }
    Ok(())
}
