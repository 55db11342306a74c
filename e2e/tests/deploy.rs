//! The chart and the manifests of `deploy/`, given to kube-apiserver, and the rights that they give.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::deploy::main()
}
