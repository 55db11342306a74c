//! Request handling: authenticates, authorizes, limits, dispatches and records each request.

mod body;
mod non_resource;
mod patch;
mod read;
mod watch;
mod write;

use std::panic::AssertUnwindSafe;

use axum::body::Body;
use axum::extract::State;
use futures::FutureExt as _;
use http::request::Parts;
use http::{Method, Request, Response, header};
use punctual_api::Status;
use punctual_api::status::{StatusDetails, StatusReason};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::audit;
use crate::auth::{AccessAttributes, User, authorize};
use crate::metrics::RequestLabels;
use crate::registry::{CollectionRef, ObjectRef};
use crate::request::{QueryParams, RequestTarget};
use crate::resource::Subresource;
use crate::response::{self, ApiResult};
use crate::server::{InProcess, Server};

/// An authenticated request that is being handled.
pub(crate) struct Call {
    pub(crate) server: Server,
    pub(crate) parts: Parts,
    pub(crate) query: QueryParams,
    pub(crate) user: User,
}

impl Call {
    /// Returns a header as text, or an empty text if it is absent.
    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        header_text(&self.parts, name)
    }

    /// Takes a permit for an ordinary request. Requests from this process are not limited.
    fn acquire_request(&self) -> Result<Option<OwnedSemaphorePermit>, Status> {
        if self.is_in_process() {
            return Ok(None);
        }
        self.server.state.limiter.acquire_request(Instant::now()).map(Some)
    }

    /// Takes a permit for a watch or a followed log. Requests from this process are not limited.
    pub(crate) fn acquire_watch(&self) -> Result<Option<OwnedSemaphorePermit>, Status> {
        if self.is_in_process() {
            return Ok(None);
        }
        self.server.state.limiter.acquire_watch().map(Some)
    }

    fn is_in_process(&self) -> bool {
        self.parts.extensions.get::<InProcess>().is_some()
    }
}

fn header_text(parts: &Parts, name: header::HeaderName) -> &str {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Handles every request of the server.
pub(crate) async fn handle(State(server): State<Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let target = RequestTarget::parse(parts.uri.path());
    let query = QueryParams::parse(parts.uri.query().unwrap_or_default());
    let labels = request_labels(&parts.method, &target, &query);
    let started_at = Instant::now();
    let time = server.state.registry.env.now();
    let user = match parts.extensions.get::<User>() {
        Some(user) => Ok(user.clone()),
        None => server.state.tokens.authenticate(&parts.headers),
    };
    let user_name = user.as_ref().map_or_else(|_| String::new(), |user| user.name.clone());
    // An HTTP/2 URI also contains the host, which the audit log leaves out.
    let uri = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let user_agent = header_text(&parts, header::USER_AGENT).to_owned();
    let span = tracing::debug_span!("request", verb = labels.verb, %uri, user = %user_name);
    let result = match user {
        Ok(user) => {
            let call = Call { server: server.clone(), parts, query, user };
            handle_limited(call, target, body, &labels).instrument(span).await
        }
        Err(status) => Err(status),
    };
    let response = result.unwrap_or_else(|status| response::render_status(&status));
    let code = response.status().as_u16();
    let elapsed = started_at.elapsed();
    server.state.metrics.record_response(&labels, code, elapsed);
    server.state.audit.record(|| audit::AuditRecord {
        time,
        user: user_name,
        verb: labels.verb,
        uri,
        user_agent,
        code,
        micros: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
    });
    response
}

/// Authorizes a request and handles it within the server's limits.
async fn handle_limited(
    call: Call,
    target: RequestTarget,
    body: Body,
    labels: &RequestLabels,
) -> ApiResult {
    authorize(&call.user, &access_attributes(&call, &target, labels))?;
    if labels.verb == "watch" {
        return handle_panics(call, target, body).await;
    }
    let server = call.server.clone();
    let _permit = call.acquire_request()?;
    let _in_flight = server.state.metrics.track_request();
    let timeout = server.request_timeout();
    let handled = tokio::time::timeout(timeout, handle_panics(call, target, body));
    handled.await.unwrap_or_else(|_| {
        Err(Status::failure(
            StatusReason::Timeout,
            "Timeout: request did not complete within the allotted timeout",
        ))
    })
}

/// Turns a panic of a handler into a response with code 500, so that the connection survives.
async fn handle_panics(call: Call, target: RequestTarget, body: Body) -> ApiResult {
    let handled = AssertUnwindSafe(dispatch(call, target, body)).catch_unwind().await;
    handled.unwrap_or_else(|_| {
        Err(Status::internal("the server panicked while handling the request; see the server log"))
    })
}

async fn dispatch(call: Call, target: RequestTarget, body: Body) -> ApiResult {
    let method = call.parts.method.clone();
    match (target, method) {
        (RequestTarget::Unknown, method) => non_resource::handle(&call, &method),
        (RequestTarget::NoResource, _) => Err(no_such_resource()),
        (RequestTarget::Review(review), Method::POST) => write::review(&call, review, body).await,
        (RequestTarget::Collection { served, namespace }, method) => {
            let collection = CollectionRef { served, namespace: namespace.unwrap_or_default() };
            match method {
                Method::GET | Method::HEAD => read::list_or_watch(&call, collection),
                // Namespaced objects are created in a namespace, never at the cluster scope.
                Method::POST
                    if collection.namespace.is_empty() && served.resource.is_namespaced =>
                {
                    Err(not_allowed())
                }
                Method::POST => write::create(&call, collection, body).await,
                Method::DELETE => write::delete_collection(&call, collection, body).await,
                _ => Err(not_allowed()),
            }
        }
        (RequestTarget::Object { served, namespace, name, subresource }, method) => {
            let collection = CollectionRef { served, namespace };
            let object = ObjectRef { collection, name, subresource };
            match (method, subresource) {
                (Method::GET, Some(Subresource::Log)) => read::log(&call, &object).await,
                (Method::GET | Method::HEAD, None | Some(Subresource::Status)) => {
                    read::get(&call, &object)
                }
                (Method::PUT, None | Some(Subresource::Status | Subresource::Finalize)) => {
                    write::replace(&call, &object, body).await
                }
                (Method::PATCH, None | Some(Subresource::Status)) => {
                    patch::handle(&call, &object, body).await
                }
                (Method::DELETE, None) => write::delete(&call, &object, body).await,
                _ => Err(not_allowed()),
            }
        }
        _ => Err(not_allowed()),
    }
}

fn not_allowed() -> Status {
    const MESSAGE: &str = "the server does not allow this method on the requested resource";
    empty_details(Status::failure(StatusReason::MethodNotAllowed, MESSAGE))
}

fn no_such_resource() -> Status {
    const MESSAGE: &str = "the server could not find the requested resource";
    empty_details(Status::failure(StatusReason::NotFound, MESSAGE))
}

pub(crate) fn empty_details(status: Status) -> Status {
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
    call: &'a Call,
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
        "" => AccessAttributes::Path { verb: labels.verb, path: call.parts.uri.path() },
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
