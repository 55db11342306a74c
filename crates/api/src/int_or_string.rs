//! An integer or a string, such as a port number or port name (`intstr.IntOrString`).

use serde::{Deserialize, Serialize};

/// An integer or a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// An integer.
    Int(i32),
    /// A string.
    Text(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        IntOrString::Int(0)
    }
}
