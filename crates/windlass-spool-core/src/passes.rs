//! Order in which a job's documents are printed, with copies.

use crate::job::Job;

/// Maximum number of copies of a job.
pub const MAX_COPIES: u16 = 999;

/// The passes over the documents of a job: each brings one copy of one document.
///
/// Copies of one document follow each other, as `multiple-document-handling` is by
/// default, and as cupsd does it on raw queues; where the job asks for collated copies,
/// the documents follow each other (RFC 8011, section 5.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    documents: u32,
    copies: u32,
    is_collated: bool,
}

impl Passes {
    /// Returns the passes of a job.
    pub fn of<D>(job: &Job<D>) -> Self {
        let documents = u32::try_from(job.documents.len()).unwrap_or(u32::MAX);
        let copies = u32::from(job.ticket.copies.max(1));
        Self { documents, copies, is_collated: job.ticket.is_collated }
    }

    /// Returns the number of passes.
    pub const fn count(self) -> u32 {
        self.documents.saturating_mul(self.copies)
    }

    /// Returns the index of the document of a pass.
    pub const fn document(self, pass: u32) -> usize {
        let place = if self.is_collated {
            pass.checked_rem(self.documents)
        } else {
            pass.checked_div(self.copies)
        };
        match place {
            Some(place) => place as usize,
            None => 0,
        }
    }

    /// Returns how many passes from this one on, itself included, are copies of one document.
    pub const fn same_from(self, pass: u32) -> u32 {
        if pass >= self.count() {
            return 0;
        }
        if self.documents == 1 {
            self.count() - pass
        } else if self.is_collated {
            1
        } else {
            self.copies - pass % self.copies
        }
    }
}

/// Returns the distinct documents of a print order, the number of copies, and whether the copies
/// are collated. Some protocols name a document again for each copy. An order that does not repeat
/// each document equally often stays as it is.
pub fn with_copies<T: PartialEq + Copy>(printed: &[T]) -> (Vec<T>, u16, bool) {
    let mut distinct: Vec<T> = Vec::new();
    for one in printed {
        if !distinct.contains(one) {
            distinct.push(*one);
        }
    }
    let copies = printed.len() / distinct.len().max(1);
    let count = u16::try_from(copies).ok().filter(|count| (1..=MAX_COPIES).contains(count));
    for is_collated in [false, true] {
        let place = |at: usize| if is_collated { at % distinct.len() } else { at / copies };
        let mut all = printed.iter().enumerate();
        if let Some(count) = count
            && copies * distinct.len() == printed.len()
            && all.all(|(at, one)| *one == distinct[place(at)])
        {
            return (distinct, count, is_collated);
        }
    }
    (printed.to_vec(), 1, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_are_named_again_are_copies() {
        let of = |printed: &str| {
            let letters: Vec<char> = printed.chars().collect();
            let (distinct, copies, is_collated) = with_copies(&letters);
            (distinct.into_iter().collect::<String>(), copies, is_collated)
        };
        let text = str::to_owned;
        assert_eq!(of(""), (text(""), 1, false));
        assert_eq!(of("ab"), (text("ab"), 1, false));
        assert_eq!(of("aaa"), (text("a"), 3, false));
        assert_eq!(of("aabb"), (text("ab"), 2, false));
        assert_eq!(of("ababab"), (text("ab"), 3, true));
        for other in ["aab", "abba", "aabbb", "abab b"] {
            assert_eq!(of(other), (text(other), 1, false));
        }
        assert_eq!(of(&"a".repeat(1_000)).1, 1, "more than may be asked for");
    }

    /// Returns the documents of the passes as letters.
    fn order(documents: u32, copies: u32, is_collated: bool) -> String {
        let passes = Passes { documents, copies, is_collated };
        let letter = |pass| char::from(b'a' + passes.document(pass) as u8);
        (0..passes.count()).map(letter).collect()
    }

    #[test]
    fn copies_of_a_document_follow_each_other_unless_they_are_collated() {
        assert_eq!(order(1, 1, false), "a");
        assert_eq!(order(1, 3, true), "aaa");
        assert_eq!(order(2, 3, false), "aaabbb");
        assert_eq!(order(2, 3, true), "ababab");
        assert_eq!(order(0, 3, false), "");
        assert_eq!(order(0, 3, true), "");
    }

    #[test]
    fn what_follows_of_one_document_is_known() {
        let from = |documents, is_collated| {
            let passes = Passes { documents, copies: 3, is_collated };
            (0..=passes.count()).map(|pass| passes.same_from(pass)).collect::<Vec<_>>()
        };
        assert_eq!(from(1, false), [3, 2, 1, 0]);
        assert_eq!(from(1, true), [3, 2, 1, 0]);
        assert_eq!(from(2, false), [3, 2, 1, 3, 2, 1, 0]);
        assert_eq!(from(2, true), [1, 1, 1, 1, 1, 1, 0]);
        assert_eq!(from(0, false), [0]);
    }
}
