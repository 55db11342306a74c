//! From a request to its answer: who, may they, what, and how it went.

mod body;
mod feed;
mod patching;
mod read;
mod site;
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

use crate::answer::{self, Answer};
use crate::audit;
use crate::auth::{Asked, User, authorize};
use crate::metrics;
use crate::request::{Query, Target};
use crate::resource::Subresource;
use crate::server::{InProcess, Server};

/// One request on its way.
pub(crate) struct Call {
    pub(crate) server: Server,
    pub(crate) parts: Parts,
    pub(crate) query: Query,
    pub(crate) user: User,
}

impl Call {
    /// A header as text; empty if there is none.
    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        header_text(&self.parts, name)
    }

    /// A place for an ordinary request; our own process needs none.
    fn request_place(&self) -> Result<Option<OwnedSemaphorePermit>, Status> {
        let gate = &self.server.shared.gate;
        (!self.is_inside()).then(|| gate.request(Instant::now())).transpose()
    }

    /// A place for a watch, or what lasts as one; our own process needs none.
    pub(crate) fn watch_place(&self) -> Result<Option<OwnedSemaphorePermit>, Status> {
        let gate = &self.server.shared.gate;
        (!self.is_inside()).then(|| gate.watch()).transpose()
    }

    fn is_inside(&self) -> bool {
        self.parts.extensions.get::<InProcess>().is_some()
    }
}

fn header_text(parts: &Parts, name: header::HeaderName) -> &str {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Answers a request, whatever it is.
pub(crate) async fn handle(State(server): State<Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let target = Target::parse(parts.uri.path());
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let about = about(&parts.method, &target, &query);
    let (begun, came) = (Instant::now(), server.shared.registry.env.now());
    let user = match parts.extensions.get::<User>() {
        Some(user) => Ok(user.clone()),
        None => server.shared.tokens.authenticate(&parts.headers),
    };
    let note = Note {
        user: user.as_ref().map_or_else(|_| String::new(), |user| user.name.clone()),
        // HTTP/2 names the host as well, which is always us.
        uri: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        user_agent: header_text(&parts, header::USER_AGENT).to_owned(),
    };
    let span =
        tracing::debug_span!("request", verb = about.verb, uri = %note.uri, user = %note.user);
    let answer = match user {
        Ok(user) => {
            let call = Call { server: server.clone(), parts, query, user };
            bounded(call, target, body, &about).instrument(span).await
        }
        Err(status) => Err(status),
    };
    let response = answer.unwrap_or_else(|status| answer::status(&status));
    let (code, took) = (response.status().as_u16(), begun.elapsed());
    server.shared.metrics.answered(&about, code, took);
    server.shared.audit.note(|| audit::Entry {
        time: came,
        user: note.user,
        verb: about.verb,
        uri: note.uri,
        user_agent: note.user_agent,
        code,
        micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
    });
    response
}

/// What is kept of a request for the audit.
struct Note {
    user: String,
    uri: String,
    user_agent: String,
}

/// Answers within the limits.
async fn bounded(call: Call, target: Target, body: Body, about: &metrics::Request) -> Answer {
    authorize(&call.user, &asked(&call, &target, about))?;
    if about.verb == "watch" {
        return guarded(call, target, body).await;
    }
    let server = call.server.clone();
    let _place = call.request_place()?;
    let _counted = server.shared.metrics.in_flight();
    let answer = tokio::time::timeout(server.request_timeout(), guarded(call, target, body));
    answer.await.unwrap_or_else(|_| {
        Err(Status::failure(
            StatusReason::Timeout,
            "Timeout: request did not complete within the allotted timeout",
        ))
    })
}

/// A panic is our failure, not the end of the connection.
async fn guarded(call: Call, target: Target, body: Body) -> Answer {
    let answer = AssertUnwindSafe(dispatch(call, target, body)).catch_unwind().await;
    answer
        .unwrap_or_else(|_| Err(Status::internal("the request could not be answered; see the log")))
}

async fn dispatch(call: Call, target: Target, body: Body) -> Answer {
    let method = call.parts.method.clone();
    match (target, method) {
        (Target::Unknown, method) => site::answer(&call, &method),
        (Target::NoResource, _) => Err(no_such_resource()),
        (Target::Review(review), Method::POST) => write::review(&call, review, body).await,
        (Target::Collection { view, namespace }, method) => {
            let place = crate::registry::Place { view, namespace: namespace.unwrap_or_default() };
            match method {
                Method::GET | Method::HEAD => read::list_or_watch(&call, place),
                // What lives in a namespace is created in one.
                Method::POST if place.namespace.is_empty() && view.resource.is_namespaced => {
                    Err(not_allowed())
                }
                Method::POST => write::create(&call, place, body).await,
                Method::DELETE => write::delete_collection(&call, place, body).await,
                _ => Err(not_allowed()),
            }
        }
        (Target::Object { view, namespace, name, below }, method) => {
            let place = crate::registry::Place { view, namespace };
            let object = crate::registry::ObjectRef { place, name, below };
            match (method, below) {
                (Method::GET, Some(Subresource::Log)) => read::log(&call, &object).await,
                (Method::GET | Method::HEAD, None | Some(Subresource::Status)) => {
                    read::get(&call, &object)
                }
                (Method::PUT, None | Some(Subresource::Status | Subresource::Finalize)) => {
                    write::replace(&call, &object, body).await
                }
                (Method::PATCH, None | Some(Subresource::Status)) => {
                    patching::answer(&call, &object, body).await
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

/// What a request is about, in words of our tables.
fn about(method: &Method, target: &Target, query: &Query) -> metrics::Request {
    let none = metrics::Request { verb: "", group: "", version: "", resource: "", subresource: "" };
    let (view, below, is_one) = match target {
        Target::Collection { view, .. } => (view, None, false),
        Target::Object { view, below, .. } => (view, *below, true),
        Target::Review(review) => {
            return metrics::Request {
                verb: verb(method, true, false),
                group: review.served.group,
                version: review.served.version,
                resource: review.plural,
                subresource: "",
            };
        }
        _ => return metrics::Request { verb: verb(method, true, false), ..none },
    };
    metrics::Request {
        verb: verb(method, is_one, query.flag("watch")),
        group: view.served.group,
        version: view.served.version,
        resource: view.resource.plural,
        subresource: below.map_or("", Subresource::name),
    }
}

fn verb(method: &Method, is_one: bool, is_watch: bool) -> &'static str {
    match *method {
        Method::GET | Method::HEAD if is_one => "get",
        Method::GET | Method::HEAD if is_watch => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_one => "delete",
        Method::DELETE => "deletecollection",
        _ => "other",
    }
}

fn asked<'a>(call: &'a Call, target: &'a Target, about: &metrics::Request) -> Asked<'a> {
    let (namespace, name) = match target {
        Target::Collection { namespace, .. } => (namespace.as_deref().unwrap_or_default(), ""),
        Target::Object { view, namespace, name, .. } if view.resource.is_namespaced => {
            (namespace.as_str(), name.as_str())
        }
        Target::Object { name, .. } => ("", name.as_str()),
        _ => ("", ""),
    };
    match about.resource {
        "" => Asked::Path { verb: about.verb, path: call.parts.uri.path() },
        resource => Asked::Resource {
            verb: about.verb,
            group: about.group,
            resource,
            subresource: about.subresource,
            namespace,
            name,
        },
    }
}
