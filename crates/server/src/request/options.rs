//! The options of list, write and delete requests, from the query and the body, validated as
//! Kubernetes validates them.

use punctual_api::decode::FieldValidation;
use punctual_api::field::{BadValue, FieldError, FieldPath};
use punctual_api::status::GroupKind;
use punctual_api::{Status, write_rules};
use serde_json::Value;

use super::QueryParams;
use crate::resource::ServedResource;
use crate::selector::Selector;

fn invalid(kind: &str, errors: &[FieldError]) -> Result<(), Status> {
    match errors {
        [] => Ok(()),
        _ => Err(Status::invalid(GroupKind { group: "meta.k8s.io", kind }, "", errors)),
    }
}

/// The kind of a write request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteVerb {
    Create,
    Update,
    Patch,
    /// A server-side apply.
    Apply,
}

impl WriteVerb {
    fn options_kind(self) -> &'static str {
        match self {
            WriteVerb::Create => "CreateOptions",
            WriteVerb::Update => "UpdateOptions",
            WriteVerb::Patch | WriteVerb::Apply => "PatchOptions",
        }
    }
}

/// Options of a create, update or patch.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) is_dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: bool,
}

const FIELD_MANAGER_LEN_MAX: usize = 128;

impl WriteOptions {
    pub(crate) fn parse(query: &QueryParams, verb: WriteVerb) -> Result<WriteOptions, Status> {
        let mut errors = Vec::new();
        let is_dry_run = parse_dry_run(query.values("dryRun"), &mut errors);
        let field_manager = query.text("fieldManager").to_owned();
        check_manager(&field_manager, verb, &mut errors);
        let force = query.optional_flag("force");
        if verb == WriteVerb::Patch && force.is_some() {
            let detail = "may not be specified for non-apply patch";
            errors.push(FieldError::forbidden(&FieldPath::root("force"), detail));
        }
        let validation = query.text("fieldValidation");
        let field_validation = FieldValidation::parse(validation).unwrap_or_else(|| {
            let path = FieldPath::root("fieldValidation");
            let supported = ["", "Ignore", "Strict", "Warn"];
            errors.push(FieldError::not_supported(&path, validation, &supported));
            FieldValidation::Ignore
        });
        invalid(verb.options_kind(), &errors)?;
        let force = force.unwrap_or(false);
        Ok(WriteOptions { is_dry_run, field_manager, field_validation, force })
    }
}

fn check_manager(name: &str, verb: WriteVerb, errors: &mut Vec<FieldError>) {
    let path = FieldPath::root("fieldManager");
    if verb == WriteVerb::Apply && name.is_empty() {
        errors.push(FieldError::required(&path, "is required for apply patch"));
    }
    if name.len() > FIELD_MANAGER_LEN_MAX {
        errors.push(FieldError::too_long(&path, FIELD_MANAGER_LEN_MAX));
    }
    if let Some((i, _)) = name.chars().enumerate().find(|(_, c)| c.is_control()) {
        let detail = format!(
            "invalid character at position {i}: field manager should only contain printable characters"
        );
        errors.push(FieldError::invalid(&path, name, detail));
    }
}

fn parse_dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<FieldError>) -> bool {
    let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
    if values.iter().any(|value| *value != "All") {
        let given = BadValue::json(&values);
        errors.push(FieldError::not_supported(&FieldPath::root("dryRun"), given, &["All"]));
    }
    !values.is_empty()
}

/// Which versions satisfy the `resourceVersion` of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// Options of a list or watch.
#[derive(Clone, Debug)]
pub(crate) struct ListOptions {
    pub(crate) selector: Selector,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    /// `None` requests the latest version, 0 any version.
    pub(crate) version: Option<u64>,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) is_watch: bool,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) wants_bookmarks: bool,
    pub(crate) sends_initial_events: Option<bool>,
}

impl ListOptions {
    pub(crate) fn parse(
        query: &QueryParams,
        served: &ServedResource,
    ) -> Result<ListOptions, Status> {
        let number =
            |name: &str| query.number(name).map_err(|error| Status::bad_request(error.to_string()));
        let version_match = parse_version_match(query)?;
        let text = query.text("resourceVersion");
        let version = match text {
            "" => None,
            _ => Some(parse_list_version(text)?),
        };
        let options = ListOptions {
            selector: Selector::parse(
                query.text("labelSelector"),
                query.text("fieldSelector"),
                served,
            )?,
            limit: usize::try_from(number("limit")?.unwrap_or(0)).unwrap_or(0),
            continue_token: query.text("continue").to_owned(),
            version,
            version_match,
            is_watch: query.flag("watch"),
            timeout_seconds: number("timeoutSeconds")?.and_then(|n| u64::try_from(n).ok()),
            wants_bookmarks: query.flag("allowWatchBookmarks"),
            sends_initial_events: query.optional_flag("sendInitialEvents"),
        };
        options.check_version_match(text)?;
        Ok(options)
    }

    fn check_version_match(&self, version: &str) -> Result<(), Status> {
        let path = FieldPath::root("resourceVersionMatch");
        let forbid = |detail: &str| invalid("ListOptions", &[FieldError::forbidden(&path, detail)]);
        let is_not_older = self.version_match == Some(VersionMatch::NotOlderThan);
        match (self.is_watch, self.sends_initial_events, self.version_match) {
            (true, Some(_), _) if !is_not_older => {
                forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
            }
            (true, None, Some(_)) => forbid(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ),
            (false, Some(_), _) => {
                let path = FieldPath::root("sendInitialEvents");
                let detail = "sendInitialEvents is forbidden for list";
                invalid("ListOptions", &[FieldError::forbidden(&path, detail)])
            }
            (false, _, Some(_)) if version.is_empty() => {
                forbid("resourceVersionMatch is forbidden unless resourceVersion is provided")
            }
            (false, _, Some(VersionMatch::Exact)) if version == "0" => {
                forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
            }
            (false, _, Some(_)) if !self.continue_token.is_empty() => {
                forbid("resourceVersionMatch is forbidden when continue is provided")
            }
            _ => Ok(()),
        }
    }
}

fn parse_version_match(query: &QueryParams) -> Result<Option<VersionMatch>, Status> {
    match query.text("resourceVersionMatch") {
        "" => Ok(None),
        "Exact" => Ok(Some(VersionMatch::Exact)),
        "NotOlderThan" => Ok(Some(VersionMatch::NotOlderThan)),
        other => {
            let path = FieldPath::root("resourceVersionMatch");
            let error = FieldError::not_supported(&path, other, &["Exact", "NotOlderThan", ""]);
            invalid("ListOptions", &[error]).map(|()| None)
        }
    }
}

fn parse_list_version(text: &str) -> Result<u64, Status> {
    write_rules::parse_resource_version(text).map_err(|why| {
        Status::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: \"{text}\": {}",
            why.message
        ))
    })
}

/// How a delete treats the dependents of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) is_dry_run: bool,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
}

impl DeleteOptions {
    /// Parses the options from the body if there is one, otherwise from the query.
    pub(crate) fn parse(
        query: &QueryParams,
        body: Option<&Value>,
    ) -> Result<DeleteOptions, Status> {
        let mut errors = Vec::new();
        let text = |path: &str| body?.pointer(path)?.as_str().map(str::to_owned);
        let policy = match body {
            Some(body) => body.get("propagationPolicy").and_then(Value::as_str).unwrap_or_default(),
            None => query.text("propagationPolicy"),
        };
        let orphans = match body {
            Some(body) => body.get("orphanDependents").and_then(Value::as_bool),
            None => query.optional_flag("orphanDependents"),
        };
        let given = query
            .number("gracePeriodSeconds")
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let grace_seconds = match body {
            Some(body) => body.get("gracePeriodSeconds").and_then(Value::as_i64),
            None => given,
        };
        let in_body = body.and_then(|body| body.get("dryRun")).and_then(Value::as_array);
        let in_body = in_body.into_iter().flatten().filter_map(Value::as_str);
        let is_dry_run = parse_dry_run(query.values("dryRun").chain(in_body), &mut errors);
        let propagation = parse_propagation(policy, orphans, &mut errors);
        invalid("DeleteOptions", &errors)?;
        Ok(DeleteOptions {
            is_dry_run,
            propagation,
            grace_seconds,
            uid: text("/preconditions/uid"),
            version: text("/preconditions/resourceVersion"),
        })
    }
}

fn parse_propagation(
    policy: &str,
    orphans: Option<bool>,
    errors: &mut Vec<FieldError>,
) -> Option<Propagation> {
    let path = FieldPath::root("propagationPolicy");
    if !policy.is_empty() && orphans.is_some() {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(&path, policy, detail));
    }
    match (policy, orphans) {
        ("Background", _) => Some(Propagation::Background),
        ("Foreground", _) => Some(Propagation::Foreground),
        ("Orphan", _) | ("", Some(true)) => Some(Propagation::Orphan),
        ("", Some(false)) => Some(Propagation::Background),
        ("", None) => None,
        (other, _) => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported(&path, other, &supported));
            None
        }
    }
}
