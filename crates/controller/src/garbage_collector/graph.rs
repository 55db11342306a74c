//! The graph of owner references, and the actions that deletions in it require.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use punctual_client::ResourceType;
use punctual_client::resources::NAMESPACES;

/// The UID of an object.
pub(crate) type Uid = Arc<str>;

/// An owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnerRef {
    pub(crate) uid: Uid,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// The field `blockOwnerDeletion`.
    pub(crate) blocks_owner_deletion: bool,
}

/// The metadata of an object that matters for garbage collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GraphNode {
    pub(crate) kind: &'static ResourceType,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) owners: Vec<OwnerRef>,
    pub(crate) is_deleting: bool,
    pub(crate) has_orphan_finalizer: bool,
    pub(crate) has_foreground_finalizer: bool,
}

impl GraphNode {
    /// The path of the object in the API.
    pub(crate) fn path(&self) -> String {
        self.kind.object_path(&self.namespace, &self.name)
    }

    /// Whether the object is being deleted with the orphan or foreground policy.
    pub(crate) fn needs_deletion_steps(&self) -> bool {
        self.is_deleting && (self.has_orphan_finalizer || self.has_foreground_finalizer)
    }

    pub(crate) fn is_terminating_namespace(&self) -> bool {
        self.kind == &NAMESPACES && self.is_deleting
    }
}

/// All cached objects and their owner references.
#[derive(Debug, Default)]
pub(crate) struct OwnerGraph {
    nodes: HashMap<Uid, GraphNode>,
    /// Dependents by the UID of their owner, in a fixed order so that simulations are deterministic. The owner itself
    /// may not be cached.
    dependents: HashMap<Uid, BTreeSet<Uid>>,
    counts_by_namespace: BTreeMap<String, usize>,
    namespaces: HashMap<String, Uid>,
}

/// A step of garbage collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read these owners, which are not cached, and delete the object if it has no owner left.
    CheckOwners(Vec<OwnerRef>),
    /// Remove the reference to the object from a dependent.
    RemoveOwnerReference(Uid),
    /// Delete a dependent, in the foreground if it has dependents itself.
    Delete { dependent: Uid, foreground: bool },
    /// Remove a finalizer of garbage collection from the object.
    RemoveFinalizer(&'static str),
}

pub(crate) const ORPHAN_FINALIZER: &str = "orphan";
pub(crate) const FOREGROUND_FINALIZER: &str = "foregroundDeletion";

impl OwnerGraph {
    pub(crate) fn get(&self, uid: &Uid) -> Option<&GraphNode> {
        self.nodes.get(uid)
    }

    /// The number of cached objects in a namespace.
    pub(crate) fn count_in(&self, namespace: &str) -> usize {
        self.counts_by_namespace.get(namespace).copied().unwrap_or(0)
    }

    /// The UID of the namespace with this name, if it is being deleted.
    pub(crate) fn terminating_namespace(&self, name: &str) -> Option<Uid> {
        let uid = self.namespaces.get(name)?;
        let node = self.nodes.get(uid)?;
        (node.name == name && node.is_terminating_namespace()).then(|| uid.clone())
    }

    /// Adds or updates an object. Returns the objects to reconcile.
    pub(crate) fn apply(&mut self, uid: Uid, node: GraphNode) -> Vec<Uid> {
        let mut affected = self.unlink(&uid);
        for owner in &node.owners {
            self.dependents.entry(owner.uid.clone()).or_default().insert(uid.clone());
            affected.push(owner.uid.clone());
        }
        *self.counts_by_namespace.entry(node.namespace.clone()).or_default() += 1;
        if node.kind == &NAMESPACES {
            self.namespaces.insert(node.name.clone(), uid.clone());
        }
        self.nodes.insert(uid.clone(), node);
        affected.push(uid);
        affected
    }

    /// Removes an object. Returns the objects to reconcile.
    pub(crate) fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        let mut affected = self.unlink(uid);
        affected.extend(self.dependents.get(uid).into_iter().flatten().cloned());
        affected
    }

    /// Removes all objects of a kind that a list does not contain. Returns the objects to reconcile.
    pub(crate) fn retain(
        &mut self,
        kind: &'static ResourceType,
        listed: &HashSet<String>,
    ) -> BTreeSet<Uid> {
        let of_kind = self.nodes.iter().filter(|(_, node)| node.kind == kind);
        let removed = of_kind.map(|(uid, _)| uid).filter(|uid| !listed.contains(&***uid));
        let removed: Vec<Uid> = removed.cloned().collect();
        let mut affected: BTreeSet<Uid> = removed.iter().flat_map(|uid| self.unlink(uid)).collect();
        // Owners may have been created and deleted while the watch was down, so this includes the
        // dependents of all uncached owners.
        let uncached = self.dependents.iter().filter(|(owner, _)| !self.nodes.contains_key(*owner));
        affected.extend(uncached.flat_map(|(_, dependents)| dependents.iter().cloned()));
        affected
    }

    /// Removes an object from the graph. Returns its owners.
    fn unlink(&mut self, uid: &Uid) -> Vec<Uid> {
        let Some(node) = self.nodes.remove(uid) else {
            return Vec::new();
        };
        if let Some(count) = self.counts_by_namespace.get_mut(&node.namespace) {
            *count = count.saturating_sub(1);
        }
        if self.count_in(&node.namespace) == 0 {
            self.counts_by_namespace.remove(&node.namespace);
        }
        if node.kind == &NAMESPACES {
            self.namespaces.remove(&node.name);
        }
        for owner in &node.owners {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(uid);
            }
            if self.dependents.get(&owner.uid).is_some_and(BTreeSet::is_empty) {
                self.dependents.remove(&owner.uid);
            }
        }
        node.owners.into_iter().map(|owner| owner.uid).collect()
    }

    /// The actions that an object requires now.
    pub(crate) fn actions(&self, uid: &Uid) -> Vec<Action> {
        let Some(node) = self.nodes.get(uid) else {
            return Vec::new();
        };
        if node.is_deleting && node.has_orphan_finalizer {
            let dependents = self.dependents_of(uid);
            let remove =
                dependents.map(|(dependent, _)| Action::RemoveOwnerReference(dependent.clone()));
            return remove.chain([Action::RemoveFinalizer(ORPHAN_FINALIZER)]).collect();
        }
        if node.is_deleting && node.has_foreground_finalizer {
            return self.foreground_actions(uid);
        }
        if node.is_deleting {
            return Vec::new();
        }
        let uncached = self.uncached_owners(node);
        if uncached.is_empty() { Vec::new() } else { vec![Action::CheckOwners(uncached)] }
    }

    fn foreground_actions(&self, uid: &Uid) -> Vec<Action> {
        let blocks_deletion = |node: &GraphNode| {
            node.owners.iter().any(|owner| owner.uid == *uid && owner.blocks_owner_deletion)
        };
        if !self.dependents_of(uid).any(|(_, node)| blocks_deletion(node)) {
            return vec![Action::RemoveFinalizer(FOREGROUND_FINALIZER)];
        }
        let remaining = self.dependents_of(uid).filter(|(_, node)| !node.is_deleting);
        let delete = |(dependent, _): (&Uid, &GraphNode)| Action::Delete {
            dependent: dependent.clone(),
            foreground: self.dependents.contains_key(dependent),
        };
        remaining.map(delete).collect()
    }

    /// The owners of an object that are not cached. They may exist nevertheless.
    fn uncached_owners(&self, node: &GraphNode) -> Vec<OwnerRef> {
        let is_uncached = |owner: &&OwnerRef| !self.nodes.contains_key(&owner.uid);
        node.owners.iter().filter(is_uncached).cloned().collect()
    }

    fn dependents_of<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = (&'a Uid, &'a GraphNode)> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents.filter_map(|uid| Some((uid, self.nodes.get(uid)?)))
    }
}

#[cfg(test)]
mod tests {
    use punctual_client::resources::JOBS;

    use super::*;

    fn node(owners: &[&str]) -> GraphNode {
        let owner = |uid: &&str| OwnerRef {
            uid: (*uid).into(),
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: (*uid).to_owned(),
            blocks_owner_deletion: true,
        };
        GraphNode {
            kind: &JOBS,
            namespace: "n".to_owned(),
            name: String::new(),
            owners: owners.iter().map(owner).collect(),
            is_deleting: false,
            has_orphan_finalizer: false,
            has_foreground_finalizer: false,
        }
    }

    fn orphaning() -> GraphNode {
        GraphNode { is_deleting: true, has_orphan_finalizer: true, ..node(&[]) }
    }

    fn foreground() -> GraphNode {
        GraphNode { is_deleting: true, has_foreground_finalizer: true, ..node(&[]) }
    }

    fn graph(nodes: &[(&str, GraphNode)]) -> OwnerGraph {
        let mut graph = OwnerGraph::default();
        for (uid, node) in nodes {
            graph.apply((*uid).into(), node.clone());
        }
        graph
    }

    #[test]
    fn an_orphan_deletion_removes_the_owner_references_and_then_the_finalizer() {
        let graph = graph(&[("a", orphaning()), ("b", node(&["a"])), ("c", node(&["x"]))]);
        let expected =
            [Action::RemoveOwnerReference("b".into()), Action::RemoveFinalizer(ORPHAN_FINALIZER)];
        assert_eq!(graph.actions(&"a".into()), expected);
    }

    #[test]
    fn a_foreground_deletion_ends_when_no_blocking_dependent_is_left() {
        let mut graph = graph(&[("a", foreground()), ("b", node(&["a"])), ("c", node(&["b"]))]);
        let delete = Action::Delete { dependent: "b".into(), foreground: true };
        assert_eq!(graph.actions(&"a".into()), [delete]);
        graph.apply("b".into(), GraphNode { is_deleting: true, ..node(&["a"]) });
        assert_eq!(graph.actions(&"a".into()), []);
        assert!(graph.remove(&"b".into()).contains(&"a".into()));
        assert_eq!(graph.actions(&"a".into()), [Action::RemoveFinalizer(FOREGROUND_FINALIZER)]);
    }

    #[test]
    fn owners_that_are_not_cached_are_checked() {
        let mut graph = graph(&[("a", node(&[])), ("b", node(&["a", "x"]))]);
        let checked = |graph: &OwnerGraph| match graph.actions(&"b".into()).as_slice() {
            [Action::CheckOwners(owners)] => {
                owners.iter().map(|owner| owner.uid.to_string()).collect()
            }
            _ => Vec::new(),
        };
        assert_eq!(checked(&graph), ["x"]);
        assert_eq!(graph.remove(&"a".into()), ["b".into()]);
        assert_eq!(checked(&graph), ["a", "x"]);
    }

    #[test]
    fn a_list_removes_objects_that_it_does_not_contain() {
        let mut graph = graph(&[("a", node(&[])), ("b", node(&["a"]))]);
        assert_eq!(graph.count_in("n"), 2);
        let affected = graph.retain(&JOBS, &HashSet::from(["b".into()]));
        assert_eq!(affected, BTreeSet::from(["b".into()]));
        assert_eq!(graph.count_in("n"), 1);
    }
}
