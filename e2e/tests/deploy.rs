//! The chart and the manifests of `deploy/` on kube-apiserver, and their permissions.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::deploy::main()
}
