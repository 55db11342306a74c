//! Creates objects: in an active namespace, with the write rules of their kind, and under a
//! generated name if they have none.

use punctual_api::Status;
use punctual_api::write_rules::{self, AdmittedObject, CreateContext, ResourceKind};
use punctual_store::{CommitCondition, Error, Op, Transaction};
use serde_json::Value;

use super::{
    ATTEMPTS_MAX, CollectionRef, ObjectRef, Registry, WriteContext, WriteResult, store_error, text,
    track_fields,
};
use crate::env;
use crate::stored::{StoredObject, convert_to_stored, encode};

/// How a new object gets its `managedFields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldTracking {
    /// The creator becomes the manager of all fields.
    TrackCreate,
    /// Server-side apply has set them already.
    SetByApply,
}

impl Registry {
    /// Creates an object from a decoded request body.
    pub(crate) async fn create(
        &self,
        collection: &CollectionRef,
        object: Value,
        context: &WriteContext,
    ) -> Result<WriteResult, Status> {
        self.create_tracked(collection, object, context, FieldTracking::TrackCreate).await
    }

    /// Creates an object. Retries if its namespace or the usage of a quota changes meanwhile, or if its
    /// generated name is taken.
    pub(super) async fn create_tracked(
        &self,
        collection: &CollectionRef,
        mut object: Value,
        context: &WriteContext,
        tracking: FieldTracking,
    ) -> Result<WriteResult, Status> {
        convert_to_stored(&mut object, &collection.served);
        for _ in 0..ATTEMPTS_MAX {
            let name = text(&object, "/metadata/name").to_owned();
            write_rules::check_namespace(&object, &collection.namespace)?;
            let precondition = self.check_namespace_active(collection, &name)?;
            let admitted = self.admit_create(collection, object.clone(), context, tracking)?;
            let quotas = self.check_quotas(collection, text(&admitted.object, "/metadata/name"))?;
            let conditions = CreateConditions { namespace: precondition, quotas };
            match self.commit_create(collection, &admitted, conditions, context).await? {
                CreateAttempt::Created(stored) => {
                    return Ok(WriteResult {
                        object: stored,
                        warnings: admitted.warnings,
                        is_new: true,
                    });
                }
                // A generated name can be replaced by another one, a requested name cannot.
                CreateAttempt::NameTaken(taken) if !name.is_empty() => {
                    return Err(Status::already_exists(collection.served.group_resource(), &taken));
                }
                CreateAttempt::NameTaken(_) | CreateAttempt::ConditionFailed => {}
            }
        }
        Err(Status::too_many_requests("the namespace or its quotas change too often", 1))
    }

    fn admit_create(
        &self,
        collection: &CollectionRef,
        object: Value,
        context: &WriteContext,
        tracking: FieldTracking,
    ) -> Result<AdmittedObject, Status> {
        let uid = env::new_uid(&*self.env);
        let suffix = env::name_suffix(&*self.env);
        let now = self.env.now();
        let create =
            CreateContext { namespace: &collection.namespace, uid: &uid, suffix: &suffix, now };
        let kind = self.resource_kind(&collection.served)?;
        let mut object = write_rules::prepare_create(kind, object, &create)?;
        if tracking == FieldTracking::TrackCreate {
            let created = ObjectRef {
                collection: collection.clone(),
                name: String::new(),
                subresource: None,
            };
            let manager = created.field_manager(&context.manager, now)?;
            track_fields(None, &mut object, &collection.served, &manager);
        }
        self.assign_node(kind, &mut object);
        write_rules::admit_create(kind, object, &create, &self.validation)
    }

    /// Assigns a Pod without a `nodeName` to the configured node, if there is one.
    fn assign_node(&self, kind: ResourceKind, object: &mut Value) {
        if kind == ResourceKind::Pod
            && text(object, "/spec/nodeName").is_empty()
            && let (Some(node), Some(Value::Object(spec))) = (&self.node, object.get_mut("spec"))
        {
            spec.insert("nodeName".to_owned(), node.as_str().into());
        }
    }

    async fn commit_create(
        &self,
        collection: &CollectionRef,
        admitted: &AdmittedObject,
        conditions: CreateConditions,
        context: &WriteContext,
    ) -> Result<CreateAttempt, Status> {
        let name = text(&admitted.object, "/metadata/name").to_owned();
        let key = collection.key(&name);
        let value = encode(&admitted.object, collection.served.resource);
        let mut stored =
            StoredObject { served: collection.served, value: value.clone(), revision: 0 };
        if context.is_dry_run {
            let is_taken = self.store.get(&key).is_some();
            return Ok(if is_taken {
                CreateAttempt::NameTaken(name)
            } else {
                CreateAttempt::Created(stored)
            });
        }
        let create = Op::create(key.as_str(), value);
        let ops: Vec<Op> = conditions.namespace.into_iter().chain([create]).collect();
        let mut transaction = Transaction::from(ops);
        if let Some(condition) = conditions.quotas {
            transaction = transaction.with_condition(condition);
        }
        match self.store.write(transaction).await {
            Ok(committed) => {
                stored.revision = committed.revision;
                Ok(CreateAttempt::Created(stored))
            }
            Err(Error::Conflict(conflict)) if *conflict.key == *key => {
                Ok(CreateAttempt::NameTaken(name))
            }
            Err(Error::Conflict(_) | Error::ConditionFailed) => Ok(CreateAttempt::ConditionFailed),
            Err(other) => Err(store_error(&other)),
        }
    }
}

/// The conditions under which a new object is committed.
struct CreateConditions {
    /// The namespace has not changed.
    namespace: Option<Op>,
    /// The object fits into the quotas of the namespace.
    quotas: Option<CommitCondition>,
}

/// The outcome of one attempt to commit a new object.
enum CreateAttempt {
    Created(StoredObject),
    NameTaken(String),
    ConditionFailed,
}
