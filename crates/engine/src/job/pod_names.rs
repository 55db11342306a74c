//! Names of Pods: `<job>-<5 characters>`, or `<job>-<index>-<5 characters>`.
//!
//! The characters are a hash of the Job's UID, the index and a counter that depends on the observed
//! Pods. So a controller that repeats a create, because the response was lost or its cache is behind,
//! uses the same name, and the server rejects the second Pod. Kubernetes uses random characters.

/// The characters of a suffix, as in Kubernetes: no vowels and no characters that look alike.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LEN: usize = 5;

/// The longest prefix that leaves space for the suffix in a name of 63 characters.
const PREFIX_LEN_MAX: usize = 63 - SUFFIX_LEN;

/// Returns the prefix of Pod names, which is also their `generateName`.
pub(super) fn name_prefix(job: &str, index: Option<u32>) -> String {
    let Some(index) = index else { return format!("{job}-") };
    let tail = format!("-{index}-");
    let stem: String = job.chars().take(PREFIX_LEN_MAX.saturating_sub(tail.len())).collect();
    stem + &tail
}

/// Returns the name of the Pod with a number.
pub(super) fn pod_name(prefix: &str, job_uid: &str, number: u64) -> String {
    let stem: String = prefix.chars().take(PREFIX_LEN_MAX).collect();
    let mut hash = fnv1a(&[prefix.as_bytes(), job_uid.as_bytes(), &number.to_le_bytes()]);
    let suffix = (0..SUFFIX_LEN).map(|_| {
        let letter = ALPHABET.get((hash % ALPHABET.len() as u64) as usize);
        hash /= ALPHABET.len() as u64;
        letter.map_or('b', |letter| char::from(*letter))
    });
    stem.chars().chain(suffix).collect()
}

/// FNV-1a with a final mix. Unlike the standard library's hashes it is the same in every version.
fn fnv1a(parts: &[&[u8]]) -> u64 {
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
    fn a_long_name_is_truncated_and_keeps_its_index() {
        let job = "j".repeat(63);
        assert_eq!(name_prefix(&job, Some(12)), format!("{}-12-", "j".repeat(54)));
        assert_eq!(pod_name(&name_prefix(&job, Some(12)), "u", 0).len(), 63);
        assert_eq!(pod_name(&name_prefix(&job, None), "u", 0).len(), 63);
        assert_eq!(name_prefix("short", Some(3)), "short-3-");
    }

    #[test]
    fn equal_numbers_give_equal_names_and_others_differ() {
        let name = |uid: &str, number| pod_name("j-", uid, number);
        assert_eq!(name("a", 1), name("a", 1));
        assert_ne!(name("a", 1), name("b", 1));
        let names: HashSet<String> = (0..1000).map(|number| name("a", number)).collect();
        assert!(names.len() > 998, "{} different names", names.len());
    }
}
