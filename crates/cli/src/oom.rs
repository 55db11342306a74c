//! Makes the kernel end other processes first when the machine runs out of memory.

/// systemd uses -900 for its own services. Pods get 0.
const SCORE: &str = "-500";
const PATH: &str = "/proc/self/oom_score_adj";

/// Protects this process and the supervisors that it starts. Only root may do that, so a failure is no
/// error. Containers reset their own score.
pub(crate) fn protect_process() {
    let current =
        std::fs::read_to_string(PATH).ok().and_then(|text| text.trim().parse::<i32>().ok());
    // The service manager or the operator has chosen another score.
    if current != Some(0) {
        return;
    }
    if let Err(error) = std::fs::write(PATH, SCORE) {
        tracing::debug!(%error, "cannot protect this process when memory runs out");
    }
}
