//! Validation of probes and lifecycle hooks.

use super::{Errors, in_range, non_negative, one_of, reasons, required};
use crate::field::{FieldError, FieldPath};
use crate::int_or_string::IntOrString;
use crate::names;
use crate::pod::container::{Handler, HttpGetAction, Lifecycle, Probe};

const SCHEMES: [&str; 2] = ["HTTP", "HTTPS"];
const PORT_MAX: i64 = 65535;

/// Validates a liveness or startup probe, which needs exactly one success.
pub(super) fn deciding(
    probe: &Probe,
    grace: Option<i64>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    shared(probe, grace, path, errors);
    if probe.success_threshold != 1 {
        let path = path.child("successThreshold");
        errors.push(FieldError::invalid(&path, probe.success_threshold, "must be 1"));
    }
}

/// Validates a readiness probe, which never stops the container.
pub(super) fn readiness(
    probe: &Probe,
    grace: Option<i64>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    shared(probe, grace, path, errors);
    if let Some(seconds) = probe.termination_grace_period_seconds {
        let path = path.child("terminationGracePeriodSeconds");
        let detail = "must not be set for readinessProbes";
        errors.push(FieldError::invalid(&path, seconds, detail));
    }
}

fn shared(probe: &Probe, grace: Option<i64>, path: &FieldPath<'_>, errors: &mut Errors) {
    handler(&probe.handler, grace, path, errors);
    for (name, number) in [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ] {
        non_negative(Some(number), &path.child(name), errors);
    }
    if let Some(seconds) = probe.termination_grace_period_seconds.filter(|seconds| *seconds <= 0) {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(FieldError::invalid(&path, seconds, "must be greater than 0"));
    }
}

pub(super) fn lifecycle(
    lifecycle: &Lifecycle,
    grace: Option<i64>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    if let Some(hook) = &lifecycle.post_start {
        handler(hook, grace, &path.child("postStart"), errors);
    }
    if let Some(hook) = &lifecycle.pre_stop {
        handler(hook, grace, &path.child("preStop"), errors);
    }
}

/// Validates a handler: exactly one action must be set. Validates the first and rejects the others.
fn handler(handler: &Handler, grace: Option<i64>, path: &FieldPath<'_>, errors: &mut Errors) {
    let given = [
        ("exec", handler.exec.is_some()),
        ("httpGet", handler.http_get.is_some()),
        ("tcpSocket", handler.tcp_socket.is_some()),
        ("grpc", handler.grpc.is_some()),
        ("sleep", handler.sleep.is_some()),
    ];
    let mut given = given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name);
    match given.next() {
        Some(name) => action(handler, name, grace, &path.child(name), errors),
        None => errors.push(FieldError::required(path, "must specify a handler type")),
    }
    for name in given {
        let detail = "may not specify more than 1 handler type";
        errors.push(FieldError::forbidden(&path.child(name), detail));
    }
}

fn action(
    handler: &Handler,
    name: &str,
    grace: Option<i64>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    match name {
        "exec" => {
            if handler.exec.as_ref().is_some_and(|exec| exec.command.is_empty()) {
                errors.push(FieldError::required(&path.child("command"), ""));
            }
        }
        "httpGet" => {
            if let Some(get) = &handler.http_get {
                http_get(get, path, errors);
            }
        }
        "tcpSocket" => {
            if let Some(socket) = &handler.tcp_socket {
                port(&socket.port, &path.child("port"), errors);
            }
        }
        "grpc" => {
            let number = handler.grpc.as_ref().map_or(0, |grpc| grpc.port);
            in_range(number.into(), 1, PORT_MAX, &path.child("port"), errors);
        }
        _ => {
            let seconds = handler.sleep.as_ref().map_or(0, |sleep| sleep.seconds);
            sleep(seconds, grace, path, errors);
        }
    }
}

fn http_get(get: &HttpGetAction, path: &FieldPath<'_>, errors: &mut Errors) {
    required(&get.path, &path.child("path"), errors);
    port(&get.port, &path.child("port"), errors);
    one_of(&get.scheme, &SCHEMES, &path.child("scheme"), errors);
    for header in &get.http_headers {
        let path = path.child("httpHeaders");
        reasons(names::check_http_header(&header.name), &header.name, &path, errors);
    }
}

fn port(port: &IntOrString, path: &FieldPath<'_>, errors: &mut Errors) {
    match port {
        IntOrString::Int(number) => in_range((*number).into(), 1, PORT_MAX, path, errors),
        IntOrString::Text(name) => reasons(names::check_port_name(name), name, path, errors),
    }
}

fn sleep(seconds: i64, grace: Option<i64>, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(grace) = grace.filter(|grace| !(0..=*grace).contains(&seconds)) {
        let detail =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.push(FieldError::invalid(path, seconds, detail));
    }
}
