//! The page tree (ISO 32000-1, section 7.7.3).

use std::collections::{HashMap, HashSet};

use super::super::language::{Pages, Unknown};
use super::object::{Kind, MAX_KIDS, Object};

/// The most leaves and nodes that are kept.
const MAX_NODES: usize = MAX_KIDS;

/// The most catalogues: a document has one, and another with each change of it.
const MAX_CATALOGS: usize = 1_024;

/// What is known of the page tree. What is defined again is what it was last: changes are
/// appended (section 7.5.6).
#[derive(Debug, Default)]
pub(super) struct Tree {
    catalogs: HashMap<u32, u32>,
    nodes: HashMap<u32, Node>,
    leaves: HashSet<u32>,
    kids: usize,
    root: Option<u32>,
    is_encrypted: bool,
    unknown: Option<Unknown>,
}

#[derive(Debug)]
struct Node {
    count: Option<u64>,
    kids: Vec<u32>,
}

impl Tree {
    /// Its pages are not to be known.
    pub(super) fn fail(&mut self, why: Unknown) {
        self.unknown = self.unknown.or(Some(why));
    }

    /// Whether they are not.
    pub(super) const fn has_failed(&self) -> bool {
        self.unknown.is_some()
    }

    /// An object of this number is that.
    pub(super) fn define(&mut self, number: u32, object: &mut Object) {
        self.catalogs.remove(&number);
        self.leaves.remove(&number);
        if let Some(node) = self.nodes.remove(&number) {
            self.kids -= node.kids.len();
        }
        match object.kind {
            Kind::Catalog => {
                if let Some(pages) = object.pages {
                    self.catalogs.insert(number, pages);
                }
            }
            Kind::Pages => {
                let kids = std::mem::take(&mut object.kids);
                self.kids += kids.len();
                self.nodes.insert(number, Node { count: object.count, kids });
            }
            Kind::Page => {
                self.leaves.insert(number);
            }
            Kind::Objects | Kind::References | Kind::Other => {}
        }
        let is_too_much = object.has_too_many_kids
            || self.kids > MAX_KIDS
            || self.nodes.len() + self.leaves.len() > MAX_NODES
            || self.catalogs.len() > MAX_CATALOGS;
        if is_too_much {
            self.fail(Unknown::TooMuch);
            // Nothing of it is needed any more.
            (self.catalogs, self.nodes, self.leaves) = Default::default();
            self.kids = 0;
        }
    }

    /// A trailer, or a cross-reference stream.
    pub(super) fn trailer(&mut self, object: &Object) {
        self.root = object.root.or(self.root);
        self.is_encrypted |= object.is_encrypted;
    }

    /// How many leaves it has, where that is what each node says.
    pub(super) fn pages(&self) -> Pages {
        if self.is_encrypted {
            return Pages::Unknown(Unknown::Encrypted);
        }
        if let Some(why) = self.unknown {
            return Pages::Unknown(why);
        }
        self.leaves().map_or(Pages::Unknown(Unknown::Damaged), Pages::Counted)
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
                // It goes in circles, or has pages twice.
                return None;
            }
            next.extend(&node.kids);
        }
        (leaves == count).then_some(leaves)
    }
}
