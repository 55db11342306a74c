//! Request handling: authenticates, authorizes, limits, dispatches and records each request.

mod body;
mod drain;
mod guarded_body;
mod non_resource;
mod patch;
mod read;
mod slot_records;
mod watch;
mod write;

use std::panic::AssertUnwindSafe;

use axum::body::Body;
use axum::extract::State;
use futures::FutureExt as _;
use http::request::Parts;
use http::{Method, Request, Response, header};
use http_body::Body as _;
use punctual_api::Status;
use punctual_api::status::{GroupResource, StatusDetails, StatusReason};
use tokio::time::Instant;
use tracing::Instrument as _;

use self::drain::BodyDrain;
use self::guarded_body::GuardedBody;
use crate::audit::{AuditRecord, Decision, RequestOrigin};
use crate::auth::{AccessAttributes, User, authorize};
use crate::limits::{RequestPermit, Share};
use crate::listen::ConnectionInfo;
use crate::metrics::{GaugeGuard, RequestLabels};
use crate::registry::{CollectionRef, ObjectRef};
use crate::request::{QueryParams, RequestTarget};
use crate::resource::{ServedResource, Subresource};
use crate::response::{self, ApiResult};
use crate::server::{InProcess, Server};

/// An authenticated request with what its handler needs: the server, header, query and user.
pub(crate) struct RequestContext {
    pub(crate) server: Server,
    pub(crate) parts: Parts,
    pub(crate) query: QueryParams,
    pub(crate) user: User,
}

/// Marks the response of a watch or of a followed log, which may wait for its client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongRunning;

impl RequestContext {
    /// Returns a header as text, or an empty text if it is absent.
    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        header_text(&self.parts, name)
    }

    /// Takes a permit for an ordinary request. Requests from this process and health checks are not
    /// limited.
    fn acquire_request(&self, labels: &RequestLabels) -> Result<Option<RequestPermit>, Status> {
        if self.is_exempt() {
            return Ok(None);
        }
        let limiter = &self.server.state.limiter;
        limiter.acquire_request(&self.user, labels.resource, Instant::now()).map(Some)
    }

    /// Takes a permit for a watch or a followed log. Requests from this process are not limited.
    pub(crate) fn acquire_watch(&self) -> Result<Option<Share>, Status> {
        if is_in_process(&self.parts) {
            return Ok(None);
        }
        self.server.state.limiter.acquire_watch(&self.user).map(Some)
    }

    /// Whether the limits of requests do not apply.
    fn is_exempt(&self) -> bool {
        is_in_process(&self.parts) || is_health_check(self.parts.uri.path())
    }
}

fn is_in_process(parts: &Parts) -> bool {
    parts.extensions.get::<InProcess>().is_some()
}

/// Whether a path is a health check, which must be answered under any load.
fn is_health_check(path: &str) -> bool {
    let first = path.split('/').nth(1).unwrap_or_default();
    ["healthz", "livez", "readyz"].contains(&first)
}

fn header_text(parts: &Parts, name: header::HeaderName) -> &str {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Handles every request of the router.
pub(crate) async fn handle(State(server): State<Server>, request: Request<Body>) -> Response<Body> {
    respond(server, request).await
}

/// Handles a request: authenticates, authorizes, limits, dispatches and records it.
pub(crate) async fn respond(server: Server, request: Request<Body>) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    let target = RequestTarget::parse(parts.uri.path());
    let query = QueryParams::parse(parts.uri.query().unwrap_or_default());
    let labels = request_labels(&parts.method, &target, &query);
    let started_at = Instant::now();
    let connection = parts.extensions.get::<ConnectionInfo>().cloned();
    let mut record = audit_record(&server, &parts, &target, &labels);
    let drain = BodyDrain::new(&parts);
    let result = match authenticate(&server, &parts) {
        Ok(user) => {
            record.user.clone_from(&user.name);
            record.is_authenticated = !user.is_anonymous();
            let span = tracing::debug_span!(
                "request",
                verb = labels.verb,
                uri = record.uri,
                user = user.name
            );
            let request = RequestContext { server: server.clone(), parts, query, user };
            match authorize_request(&request, &target, &labels) {
                Ok(()) => {
                    record.decision = Decision::Allow;
                    handle_limited(request, target, &mut body, &labels).instrument(span).await
                }
                Err(status) => {
                    record.decision = Decision::Forbid;
                    Err(status)
                }
            }
        }
        Err(status) => Err(status),
    };
    let mut response = result.unwrap_or_else(|status| response::render_status(&status));
    if connection.is_some() {
        drain.finish(body, &mut response).await;
    }
    record.code = response.status().as_u16();
    let elapsed = started_at.elapsed();
    record.micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    server.state.metrics.record_response(&labels, record.code, elapsed);
    server.state.audit.record(record);
    response
}

fn authenticate(server: &Server, parts: &Parts) -> Result<User, Status> {
    match parts.extensions.get::<User>() {
        Some(user) => Ok(user.clone()),
        None => server.state.tokens.authenticate(&parts.headers),
    }
}

/// Returns the audit record of a request, without its user and its response.
fn audit_record(
    server: &Server,
    parts: &Parts,
    target: &RequestTarget,
    labels: &RequestLabels,
) -> AuditRecord {
    let source = parts.extensions.get::<ConnectionInfo>();
    AuditRecord {
        time: server.state.registry.env.now(),
        user: String::new(),
        source: source.map_or_else(|| "in-process".to_owned(), |it| it.address().to_string()),
        verb: labels.verb,
        // An HTTP/2 URI also contains the host, which the audit log leaves out.
        uri: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        user_agent: header_text(parts, header::USER_AGENT).to_owned(),
        decision: Decision::Unauthenticated,
        code: 0,
        micros: 0,
        origin: request_origin(parts),
        is_authenticated: false,
        is_review: matches!(target, RequestTarget::Review(_)),
    }
}

fn request_origin(parts: &Parts) -> RequestOrigin {
    if is_in_process(parts) {
        RequestOrigin::InProcess
    } else if is_health_check(parts.uri.path()) {
        RequestOrigin::HealthCheck
    } else {
        RequestOrigin::Client
    }
}

/// Returns an error if the user may not make a request.
fn authorize_request(
    request: &RequestContext,
    target: &RequestTarget,
    labels: &RequestLabels,
) -> Result<(), Status> {
    refuse_impersonation(request)?;
    authorize(&request.user, &access_attributes(request, target, labels))
}

/// Handles an authorized request within the server's limits.
async fn handle_limited(
    request: RequestContext,
    target: RequestTarget,
    body: &mut Body,
    labels: &RequestLabels,
) -> ApiResult {
    if let Some(connection) = request.parts.extensions.get::<ConnectionInfo>() {
        connection.attribute_to(&request.user)?;
    }
    if labels.verb == "watch" {
        return handle_panics(request, target, body).await;
    }
    let server = request.server.clone();
    let permit = request.acquire_request(labels)?;
    let user = (!request.is_exempt()).then(|| request.user.clone());
    let in_flight = server.state.metrics.track_request();
    let timeout = server.state.limits.request_timeout;
    let handled = tokio::time::timeout(timeout, handle_panics(request, target, body));
    let response = handled.await.unwrap_or_else(|_| {
        Err(Status::failure(
            StatusReason::Timeout,
            "Timeout: request did not complete within the allotted timeout",
        ))
    })?;
    let Some(user) = user else { return Ok(response) };
    let length = response.body().size_hint().exact();
    let bytes = server.state.limiter.acquire_response(&user, length)?;
    let guards = ResponseGuards { _permit: permit, _bytes: bytes, _in_flight: in_flight };
    let is_long_running = response.extensions().get::<LongRunning>().is_some();
    let time_limit = (!is_long_running).then_some(server.state.limits.response_timeout);
    Ok(response.map(|body| Body::new(GuardedBody::new(body, guards, time_limit))))
}

/// Refuses a request to act as another user, which would otherwise be carried out as the own user.
fn refuse_impersonation(request: &RequestContext) -> Result<(), Status> {
    let mut names = request.parts.headers.keys().map(header::HeaderName::as_str);
    if !names.any(|name| name.starts_with("impersonate-")) {
        return Ok(());
    }
    let wanted = header_text(&request.parts, header::HeaderName::from_static("impersonate-user"));
    let why = format!(
        "User \"{}\" cannot impersonate: this server does not support impersonation (--as, \
         --as-group, --as-uid); use the credentials of the other user, for example from `punctual \
         kubeconfig --user NAME`",
        request.user.name
    );
    Err(Status::forbidden(GroupResource { group: "", name: "users" }, wanted, &why))
}

/// What a request holds until its response was sent.
struct ResponseGuards {
    _permit: Option<RequestPermit>,
    _bytes: Share,
    _in_flight: GaugeGuard,
}

/// Turns a panic of a handler into a response with code 500, so that the connection survives.
async fn handle_panics(
    request: RequestContext,
    target: RequestTarget,
    body: &mut Body,
) -> ApiResult {
    let handled =
        AssertUnwindSafe(dispatch_with_warning(request, target, body)).catch_unwind().await;
    handled.unwrap_or_else(|_| {
        Err(Status::internal("the server panicked while handling the request; see the server log"))
    })
}

/// Dispatches a request. Every response about a deprecated version has a warning, including errors.
async fn dispatch_with_warning(
    request: RequestContext,
    target: RequestTarget,
    body: &mut Body,
) -> ApiResult {
    let warning = target.served().and_then(ServedResource::deprecation_warning);
    let result = dispatch(request, target, body).await;
    let Some(warning) = warning else { return result };
    let mut response = result.unwrap_or_else(|status| response::render_status(&status));
    response::prepend_warning(&mut response, warning);
    Ok(response)
}

async fn dispatch(request: RequestContext, target: RequestTarget, body: &mut Body) -> ApiResult {
    let method = request.parts.method.clone();
    let is_read_only = target.served().is_some_and(|served| served.resource.is_read_only);
    if is_read_only && !matches!(method, Method::GET | Method::HEAD) {
        return Err(not_allowed());
    }
    match (target, method) {
        (RequestTarget::NonResource, method) => non_resource::handle(&request, &method).await,
        (RequestTarget::UnknownResource, _) => Err(no_such_resource()),
        (RequestTarget::Review(review), Method::POST) => {
            write::review(&request, review, body).await
        }
        (RequestTarget::Collection { served, namespace }, method) => {
            let collection = CollectionRef { served, namespace: namespace.unwrap_or_default() };
            match method {
                Method::GET | Method::HEAD => read::list_or_watch(&request, collection).await,
                // Namespaced objects are created in a namespace, never at the cluster scope.
                Method::POST
                    if collection.namespace.is_empty() && served.resource.is_namespaced =>
                {
                    Err(not_allowed())
                }
                Method::POST => write::create(&request, collection, body).await,
                Method::DELETE => write::delete_collection(&request, collection, body).await,
                _ => Err(not_allowed()),
            }
        }
        (RequestTarget::Object { served, namespace, name, subresource }, method) => {
            let collection = CollectionRef { served, namespace };
            let object = ObjectRef { collection, name, subresource };
            match (method, subresource) {
                (Method::GET, Some(Subresource::Log)) => read::log(&request, &object).await,
                (Method::GET | Method::HEAD, None | Some(Subresource::Status)) => {
                    read::get(&request, &object).await
                }
                (Method::PUT, None | Some(Subresource::Status | Subresource::Finalize)) => {
                    write::replace(&request, &object, body).await
                }
                (Method::PATCH, None | Some(Subresource::Status)) => {
                    patch::handle(&request, &object, body).await
                }
                (Method::DELETE, None) => write::delete(&request, &object, body).await,
                _ => Err(not_allowed()),
            }
        }
        _ => Err(not_allowed()),
    }
}

fn not_allowed() -> Status {
    const MESSAGE: &str = "the server does not allow this method on the requested resource";
    with_empty_details(Status::failure(StatusReason::MethodNotAllowed, MESSAGE))
}

fn no_such_resource() -> Status {
    const MESSAGE: &str = "the server could not find the requested resource";
    with_empty_details(Status::failure(StatusReason::NotFound, MESSAGE))
}

/// Adds empty details (`"details": {}`), which kube-apiserver sends with these errors.
pub(crate) fn with_empty_details(status: Status) -> Status {
    status.with_details(StatusDetails::default())
}

/// Returns the metric labels of a request. All values come from static tables, so there are few.
fn request_labels(method: &Method, target: &RequestTarget, query: &QueryParams) -> RequestLabels {
    let (served, subresource, is_object) = match target {
        RequestTarget::Collection { served, .. } => (served, None, false),
        RequestTarget::Object { served, subresource, .. } => (served, *subresource, true),
        RequestTarget::Review(review) => {
            return RequestLabels {
                verb: verb(method, true, false),
                group: review.group_version.group,
                version: review.group_version.version,
                resource: review.plural,
                subresource: "",
            };
        }
        _ => {
            let verb = verb(method, true, false);
            return RequestLabels { verb, group: "", version: "", resource: "", subresource: "" };
        }
    };
    RequestLabels {
        verb: verb(method, is_object, query.flag("watch")),
        group: served.group_version.group,
        version: served.group_version.version,
        resource: served.resource.plural,
        subresource: subresource.map_or("", Subresource::name),
    }
}

/// Returns Kubernetes' verb for an HTTP method.
fn verb(method: &Method, is_object: bool, is_watch: bool) -> &'static str {
    match *method {
        Method::GET | Method::HEAD if is_object => "get",
        Method::GET | Method::HEAD if is_watch => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_object => "delete",
        Method::DELETE => "deletecollection",
        _ => "other",
    }
}

/// Returns the attributes that authorization decides on.
fn access_attributes<'a>(
    request: &'a RequestContext,
    target: &'a RequestTarget,
    labels: &RequestLabels,
) -> AccessAttributes<'a> {
    let (namespace, name) = match target {
        RequestTarget::Collection { namespace, .. } => {
            (namespace.as_deref().unwrap_or_default(), "")
        }
        RequestTarget::Object { served, namespace, name, .. } if served.resource.is_namespaced => {
            (namespace.as_str(), name.as_str())
        }
        RequestTarget::Object { name, .. } => ("", name.as_str()),
        _ => ("", ""),
    };
    match labels.resource {
        "" => AccessAttributes::Path { verb: labels.verb, path: request.parts.uri.path() },
        resource => AccessAttributes::Resource {
            verb: labels.verb,
            group: labels.group,
            resource,
            subresource: labels.subresource,
            namespace,
            name,
        },
    }
}
