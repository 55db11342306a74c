//! New objects.

use punctual_api::Status;
use punctual_api::strategy::{self, AdmittedObject, CreateContext, ResourceKind};
use punctual_store::{Error, Op};
use serde_json::Value;

use super::{ObjectRef, Place, Registry, TRIES_MAX, WriteContext, Written, store_failed, text};
use crate::env;
use crate::stored::{Stored, encode, to_stored};

/// How a new object came to its managed fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracked {
    /// Not yet: whoever creates it manages all of it.
    No,
    /// Server-side apply has said it already.
    ByApply,
}

impl Registry {
    /// Creates an object, as a request has it.
    pub(crate) async fn create(
        &self,
        place: &Place,
        object: Value,
        context: &WriteContext,
    ) -> Result<Written, Status> {
        self.create_tracked(place, object, context, Tracked::No).await
    }

    pub(super) async fn create_tracked(
        &self,
        place: &Place,
        mut object: Value,
        context: &WriteContext,
        tracked: Tracked,
    ) -> Result<Written, Status> {
        to_stored(&mut object, &place.view);
        for _ in 0..TRIES_MAX {
            let name = text(&object, "/metadata/name").to_owned();
            strategy::check_namespace(&object, &place.namespace)?;
            let gate = self.activate_namespace(place, &name)?;
            let admitted = self.admit(place, object.clone(), context, tracked)?;
            match self.commit_new(place, &admitted, gate, context).await? {
                Try::Done(stored) => {
                    return Ok(Written {
                        object: stored,
                        warnings: admitted.warnings,
                        is_new: true,
                    });
                }
                // Another name may be free; a name that was asked for is not.
                Try::Taken(taken) if !name.is_empty() => {
                    return Err(Status::already_exists(place.view.name(), &taken));
                }
                Try::Taken(_) | Try::Again => {}
            }
        }
        Err(Status::too_many_requests("the namespace changes too often", 1))
    }

    fn admit(
        &self,
        place: &Place,
        object: Value,
        context: &WriteContext,
        tracked: Tracked,
    ) -> Result<AdmittedObject, Status> {
        let (uid, suffix) = (env::new_uid(&*self.env), env::name_suffix(&*self.env));
        let now = self.env.now();
        let birth = CreateContext { namespace: &place.namespace, uid: &uid, suffix: &suffix, now };
        let kind = self.kind(&place.view)?;
        let mut object = strategy::prepare_create(kind, object, &birth)?;
        if tracked == Tracked::No {
            let itself = ObjectRef { place: place.clone(), name: String::new(), below: None };
            self.track(None, &mut object, &itself, (context, now))?;
        }
        self.assign(kind, &mut object);
        strategy::admit_create(kind, object, &birth, &self.rules)
    }

    /// Pods that name no node are given the one there is, if there is one.
    fn assign(&self, kind: ResourceKind, object: &mut Value) {
        if kind == ResourceKind::Pod
            && text(object, "/spec/nodeName").is_empty()
            && let (Some(node), Some(Value::Object(spec))) = (&self.node, object.get_mut("spec"))
        {
            spec.insert("nodeName".to_owned(), node.as_str().into());
        }
    }

    async fn commit_new(
        &self,
        place: &Place,
        admitted: &AdmittedObject,
        gate: Option<Op>,
        context: &WriteContext,
    ) -> Result<Try, Status> {
        let name = text(&admitted.object, "/metadata/name").to_owned();
        let (key, value) = (place.key(&name), encode(&admitted.object, place.view.resource));
        let mut stored = Stored { view: place.view, value: value.clone(), revision: 0 };
        if context.is_dry_run {
            let is_taken = self.store.get(&key).is_some();
            return Ok(if is_taken { Try::Taken(name) } else { Try::Done(stored) });
        }
        let ops: Vec<Op> = gate.into_iter().chain([Op::create(key.as_str(), value)]).collect();
        match self.store.write(ops).await {
            Ok(committed) => {
                stored.revision = committed.revision;
                Ok(Try::Done(stored))
            }
            Err(Error::Conflict(conflict)) if *conflict.key == *key => Ok(Try::Taken(name)),
            Err(Error::Conflict(_)) => Ok(Try::Again),
            Err(other) => Err(store_failed(&other)),
        }
    }
}

enum Try {
    Done(Stored),
    Taken(String),
    Again,
}
