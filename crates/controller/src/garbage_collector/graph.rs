//! Who owns whom, and what has to happen to those whose owners go.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use punctual_client::ResourceType;
use punctual_client::resources::NAMESPACES;

/// The identity of an object.
pub(crate) type Uid = Arc<str>;

/// Somebody's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: Uid,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Whether the owner may not go before this one.
    pub(crate) blocks: bool,
}

/// What matters of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: &'static ResourceType,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) owners: Vec<Owner>,
    pub(crate) is_deleting: bool,
    pub(crate) orphans: bool,
    pub(crate) waits_for_dependents: bool,
}

impl Node {
    /// Whether something is to be done about it because it goes.
    pub(crate) fn is_going_slowly(&self) -> bool {
        self.is_deleting && (self.orphans || self.waits_for_dependents)
    }
}

/// All objects.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: HashMap<Uid, Node>,
    /// Ordered, so that the same world gives the same deeds.
    dependents: HashMap<Uid, BTreeSet<Uid>>,
    in_namespace: BTreeMap<String, usize>,
    namespaces: HashMap<String, Uid>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Ask these whether they are there; who has no owner left goes.
    CheckOwners(Vec<Owner>),
    /// Let a dependent forget its owner.
    Disown(Uid),
    /// Delete a dependent, and what depends on it first if it has any.
    Delete { dependent: Uid, foreground: bool },
    /// Nothing holds it any more.
    LetGo(&'static str),
}

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

impl Graph {
    pub(crate) fn get(&self, uid: &Uid) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// Objects that are in a namespace, as far as they are watched.
    pub(crate) fn count_in(&self, namespace: &str) -> usize {
        self.in_namespace.get(namespace).copied().unwrap_or(0)
    }

    /// The namespace of that name, if it is on its way out.
    pub(crate) fn going_namespace(&self, name: &str) -> Option<Uid> {
        let is_it = |node: &Node| node.kind == &NAMESPACES && node.name == name && node.is_deleting;
        self.namespaces.get(name).filter(|uid| self.nodes.get(*uid).is_some_and(is_it)).cloned()
    }

    /// An object is there, new or changed. Those to look at because of it.
    pub(crate) fn put(&mut self, uid: Uid, node: Node) -> Vec<Uid> {
        let mut affected = self.unlink(&uid);
        for owner in &node.owners {
            self.dependents.entry(owner.uid.clone()).or_default().insert(uid.clone());
            affected.push(owner.uid.clone());
        }
        *self.in_namespace.entry(node.namespace.clone()).or_default() += 1;
        if node.kind == &NAMESPACES {
            self.namespaces.insert(node.name.clone(), uid.clone());
        }
        self.nodes.insert(uid.clone(), node);
        affected.push(uid);
        affected
    }

    /// An object is gone. Those to look at because of it.
    pub(crate) fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        let mut affected = self.unlink(uid);
        affected.extend(self.dependents.get(uid).into_iter().flatten().cloned());
        affected
    }

    /// Everything of a kind is forgotten but these, as after a list.
    pub(crate) fn keep_only(
        &mut self,
        kind: &'static ResourceType,
        there: &HashSet<String>,
    ) -> BTreeSet<Uid> {
        let is_gone = |uid: &&Uid| !there.contains(&***uid);
        let of_kind = self.nodes.iter().filter(|(_, node)| node.kind == kind);
        let gone: Vec<Uid> = of_kind.map(|(uid, _)| uid).filter(is_gone).cloned().collect();
        let mut affected: BTreeSet<Uid> = gone.iter().flat_map(|uid| self.unlink(uid)).collect();
        // Those of the gone, and of owners that have come and gone while nobody watched.
        let unseen = self.dependents.iter().filter(|(owner, _)| !self.nodes.contains_key(*owner));
        affected.extend(unseen.flat_map(|(_, dependents)| dependents.iter().cloned()));
        affected
    }

    /// Takes an object out; its owners have one dependent less.
    fn unlink(&mut self, uid: &Uid) -> Vec<Uid> {
        let Some(node) = self.nodes.remove(uid) else {
            return Vec::new();
        };
        if let Some(count) = self.in_namespace.get_mut(&node.namespace) {
            *count = count.saturating_sub(1);
        }
        if self.count_in(&node.namespace) == 0 {
            self.in_namespace.remove(&node.namespace);
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

    /// What is to be done about an object now.
    pub(crate) fn deeds(&self, uid: &Uid) -> Vec<Deed> {
        let Some(node) = self.nodes.get(uid) else {
            return Vec::new();
        };
        if node.is_deleting && node.orphans {
            let disown =
                self.dependents_of(uid).map(|(dependent, _)| Deed::Disown(dependent.clone()));
            return disown.chain([Deed::LetGo(ORPHAN)]).collect();
        }
        if node.is_deleting && node.waits_for_dependents {
            return self.foreground(uid);
        }
        let doubtful = if node.is_deleting { Vec::new() } else { self.doubtful(node) };
        match doubtful.is_empty() {
            true => Vec::new(),
            false => vec![Deed::CheckOwners(doubtful)],
        }
    }

    fn foreground(&self, uid: &Uid) -> Vec<Deed> {
        let blocks =
            |node: &Node| node.owners.iter().any(|owner| owner.uid == *uid && owner.blocks);
        if !self.dependents_of(uid).any(|(_, node)| blocks(node)) {
            return vec![Deed::LetGo(FOREGROUND)];
        }
        let there = self.dependents_of(uid).filter(|(_, node)| !node.is_deleting);
        let delete = |(dependent, _): (&Uid, &Node)| Deed::Delete {
            dependent: dependent.clone(),
            foreground: self.dependents.contains_key(dependent),
        };
        there.map(delete).collect()
    }

    /// Owners that we do not see; they may be there all the same.
    fn doubtful(&self, node: &Node) -> Vec<Owner> {
        let is_unseen = |owner: &&Owner| !self.nodes.contains_key(&owner.uid);
        node.owners.iter().filter(is_unseen).cloned().collect()
    }

    fn dependents_of<'a>(&'a self, uid: &Uid) -> impl Iterator<Item = (&'a Uid, &'a Node)> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents.filter_map(|uid| Some((uid, self.nodes.get(uid)?)))
    }
}

#[cfg(test)]
mod tests {
    use punctual_client::resources::JOBS;

    use super::*;

    fn node(owners: &[&str]) -> Node {
        let owner = |uid: &&str| Owner {
            uid: (*uid).into(),
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: (*uid).to_owned(),
            blocks: true,
        };
        Node {
            kind: &JOBS,
            namespace: "n".to_owned(),
            name: String::new(),
            owners: owners.iter().map(owner).collect(),
            is_deleting: false,
            orphans: false,
            waits_for_dependents: false,
        }
    }

    fn going(orphans: bool) -> Node {
        Node { is_deleting: true, orphans, waits_for_dependents: !orphans, ..node(&[]) }
    }

    fn graph(nodes: &[(&str, Node)]) -> Graph {
        let mut graph = Graph::default();
        for (uid, node) in nodes {
            graph.put((*uid).into(), node.clone());
        }
        graph
    }

    #[test]
    fn who_goes_and_leaves_orphans_is_forgotten_by_them_first() {
        let graph = graph(&[("a", going(true)), ("b", node(&["a"])), ("c", node(&["x"]))]);
        assert_eq!(graph.deeds(&"a".into()), [Deed::Disown("b".into()), Deed::LetGo(ORPHAN)]);
    }

    #[test]
    fn who_waits_for_dependents_goes_when_none_of_those_that_block_is_left() {
        let mut graph = graph(&[("a", going(false)), ("b", node(&["a"])), ("c", node(&["b"]))]);
        let delete = Deed::Delete { dependent: "b".into(), foreground: true };
        assert_eq!(graph.deeds(&"a".into()), [delete]);
        graph.put("b".into(), Node { is_deleting: true, ..node(&["a"]) });
        assert_eq!(graph.deeds(&"a".into()), []);
        assert!(graph.remove(&"b".into()).contains(&"a".into()));
        assert_eq!(graph.deeds(&"a".into()), [Deed::LetGo(FOREGROUND)]);
    }

    #[test]
    fn whose_owner_is_not_seen_is_doubtful() {
        let mut graph = graph(&[("a", node(&[])), ("b", node(&["a", "x"]))]);
        let doubtful = |graph: &Graph| match graph.deeds(&"b".into()).as_slice() {
            [Deed::CheckOwners(owners)] => {
                owners.iter().map(|owner| owner.uid.to_string()).collect()
            }
            _ => Vec::new(),
        };
        assert_eq!(doubtful(&graph), ["x"]);
        assert_eq!(graph.remove(&"a".into()), ["b".into()]);
        assert_eq!(doubtful(&graph), ["a", "x"]);
    }

    #[test]
    fn a_list_forgets_what_is_not_in_it() {
        let mut graph = graph(&[("a", node(&[])), ("b", node(&["a"]))]);
        assert_eq!(graph.count_in("n"), 2);
        let kind = &JOBS;
        let affected = graph.keep_only(kind, &HashSet::from(["b".into()]));
        assert_eq!(affected, BTreeSet::from(["b".into()]));
        assert_eq!(graph.count_in("n"), 1);
    }
}
