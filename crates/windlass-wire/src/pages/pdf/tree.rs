//! The page tree (ISO 32000-1, section 7.7.3).

use std::collections::{HashMap, HashSet};

use super::super::language::{Pages, UnknownReason};
use super::object::{MAX_KIDS, Object, ObjectKind};

/// Maximum leaves and nodes that are kept.
const MAX_NODES: usize = MAX_KIDS;

/// Maximum catalogues: a document has one, and another one for each change.
const MAX_CATALOGS: usize = 1_024;

/// The page tree as far as it was read. The last definition of an object holds, because changes are
/// appended (section 7.5.6).
#[derive(Debug, Default)]
pub(super) struct Tree {
    catalogs: HashMap<u32, u32>,
    nodes: HashMap<u32, Node>,
    leaves: HashSet<u32>,
    kids: usize,
    root: Option<u32>,
    is_encrypted: bool,
    unknown: Option<UnknownReason>,
}

#[derive(Debug)]
struct Node {
    count: Option<u64>,
    kids: Vec<u32>,
}

impl Tree {
    /// Records that the number of pages is unknown.
    pub(super) fn fail(&mut self, why: UnknownReason) {
        self.unknown = self.unknown.or(Some(why));
    }

    /// Returns whether the number of pages is unknown.
    pub(super) const fn has_failed(&self) -> bool {
        self.unknown.is_some()
    }

    /// Defines the object with this number.
    pub(super) fn define(&mut self, number: u32, object: &mut Object) {
        self.catalogs.remove(&number);
        self.leaves.remove(&number);
        if let Some(node) = self.nodes.remove(&number) {
            self.kids -= node.kids.len();
        }
        match object.kind {
            ObjectKind::Catalog => {
                if let Some(pages) = object.pages {
                    self.catalogs.insert(number, pages);
                }
            }
            ObjectKind::Pages => {
                let kids = std::mem::take(&mut object.kids);
                self.kids += kids.len();
                self.nodes.insert(number, Node { count: object.count, kids });
            }
            ObjectKind::Page => {
                self.leaves.insert(number);
            }
            ObjectKind::Objects | ObjectKind::References | ObjectKind::Other => {}
        }
        let is_too_much = object.has_too_many_kids
            || self.kids > MAX_KIDS
            || self.nodes.len() + self.leaves.len() > MAX_NODES
            || self.catalogs.len() > MAX_CATALOGS;
        if is_too_much {
            self.fail(UnknownReason::TooMuch);
            // The tree is not needed any more.
            (self.catalogs, self.nodes, self.leaves) = Default::default();
            self.kids = 0;
        }
    }

    /// Processes a trailer or a cross-reference stream.
    pub(super) fn trailer(&mut self, object: &Object) {
        self.root = object.root.or(self.root);
        self.is_encrypted |= object.is_encrypted;
    }

    /// Returns the number of leaves, if each node's count agrees.
    pub(super) fn pages(&self) -> Pages {
        if self.is_encrypted {
            return Pages::Unknown(UnknownReason::Encrypted);
        }
        if let Some(why) = self.unknown {
            return Pages::Unknown(why);
        }
        self.leaves().map_or(Pages::Unknown(UnknownReason::Damaged), Pages::Counted)
    }

    fn leaves(&self) -> Option<u64> {
        let root = self.catalogs.get(&self.root?)?;
        let count = self.nodes.get(root)?.count?;
        let (mut seen, mut next, mut leaves) = (HashSet::new(), vec![*root], 0);
        while let Some(number) = next.pop() {
            if self.leaves.contains(&number) {
                leaves += 1;
                continue;
            }
            let node = self.nodes.get(&number)?;
            if !seen.insert(number) {
                // The tree has a cycle, or contains a page twice.
                return None;
            }
            next.extend(&node.kids);
        }
        (leaves == count).then_some(leaves)
    }
}
