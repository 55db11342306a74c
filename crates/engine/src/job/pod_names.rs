//! Names of Pods: `<job>-<5 characters>`, or `<job>-<index>-<5 characters>`.
//!
//! The characters look random and are not: they follow from the Job's UID, the index and a counter
//! taken from what was observed. A controller that repeats a create because it never heard the answer,
//! or because its cache lags, asks for the same name and is refused; it cannot make a second Pod.

/// Characters of a suffix: no vowels, no look-alikes, as Kubernetes chooses them.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LEN: usize = 5;

/// Longest prefix that leaves room for the suffix in a name of 63 characters.
const PREFIX_LEN_MAX: usize = 63 - SUFFIX_LEN;

/// What names of Pods begin with.
pub(super) fn prefix(job: &str, index: Option<u32>) -> String {
    let Some(index) = index else { return format!("{job}-") };
    let tail = format!("-{index}-");
    let stem: String = job.chars().take(PREFIX_LEN_MAX.saturating_sub(tail.len())).collect();
    stem + &tail
}

/// The name of the Pod with that number.
pub(super) fn name(prefix: &str, job_uid: &str, number: u64) -> String {
    let stem: String = prefix.chars().take(PREFIX_LEN_MAX).collect();
    let mut rest = scatter(&[prefix.as_bytes(), job_uid.as_bytes(), &number.to_le_bytes()]);
    let suffix = (0..SUFFIX_LEN).map(|_| {
        let letter = ALPHABET.get((rest % ALPHABET.len() as u64) as usize);
        rest /= ALPHABET.len() as u64;
        letter.map_or('b', |letter| char::from(*letter))
    });
    stem.chars().chain(suffix).collect()
}

/// FNV-1a with a final mix: the same on every machine and in every version, unlike std's hashers.
fn scatter(parts: &[&[u8]]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| part.iter().fold(hash, step));
    let mixed = (hash ^ (hash >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    mixed ^ (mixed >> 27)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_long_name_is_cut_and_keeps_its_index() {
        let job = "j".repeat(63);
        assert_eq!(prefix(&job, Some(12)), format!("{}-12-", "j".repeat(54)));
        assert_eq!(name(&prefix(&job, Some(12)), "u", 0).len(), 63);
        assert_eq!(name(&prefix(&job, None), "u", 0).len(), 63);
        assert_eq!(prefix("short", Some(3)), "short-3-");
    }

    #[test]
    fn a_name_is_the_same_for_the_same_number_and_differs_otherwise() {
        let made = |uid: &str, number| name("j-", uid, number);
        assert_eq!(made("a", 1), made("a", 1));
        assert_ne!(made("a", 1), made("b", 1));
        let names: HashSet<String> = (0..1000).map(|number| made("a", number)).collect();
        assert!(names.len() > 998, "{} different names", names.len());
    }
}
