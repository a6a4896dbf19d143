//! Queue of the machines by the time at which they are due.

use windlass_base::Timestamp;

/// Time of a machine that is never due.
const NEVER: i64 = i64::MAX;

/// The due times of a fixed set of machines, as a tournament tree: each node holds the earlier of
/// its two children. A change costs as many steps as the tree is high, and the first machine is at
/// the root. Nothing is allocated after construction.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// The winners: node 1 is the root, and a node's children are 2n and 2n + 1.
    nodes: Vec<usize>,
    times: Vec<i64>,
    leaves: usize,
}

impl EventQueue {
    /// Returns a queue for `machines` machines, none of which is due.
    pub(crate) fn new(machines: usize) -> Self {
        let leaves = machines.next_power_of_two().max(1);
        let mut queue = Self { nodes: vec![0; 2 * leaves], times: vec![NEVER; leaves], leaves };
        for leaf in 0..leaves {
            queue.nodes[leaves + leaf] = leaf;
        }
        for node in (1..leaves).rev() {
            queue.nodes[node] = queue.nodes[2 * node];
        }
        queue
    }

    /// Sets the time at which `machine` is due.
    pub(crate) fn set(&mut self, machine: usize, time: Option<Timestamp>) {
        let time = time.map_or(NEVER, Timestamp::as_nanos);
        if self.times[machine] == time {
            return;
        }
        self.times[machine] = time;
        let mut node = (self.leaves + machine) / 2;
        while node > 0 {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            // Of two machines that are due at the same time the lower number goes first.
            self.nodes[node] = if self.times[right] < self.times[left] { right } else { left };
            node /= 2;
        }
    }

    /// Returns the machine that is due first, and its time.
    pub(crate) fn first(&self) -> Option<(Timestamp, usize)> {
        let machine = if self.leaves == 1 { 0 } else { self.nodes[1] };
        let time = self.times[machine];
        (time != NEVER).then(|| (Timestamp::from_nanos(time), machine))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_and_of_two_the_lower(
            machines in 1..20_usize,
            changes in prop::collection::vec((0..20_usize, prop::option::of(0..50_i64)), 0..200),
        ) {
            let mut queue = EventQueue::new(machines);
            let mut plain = vec![None; machines];
            for (machine, time) in changes {
                let machine = machine % machines;
                let time = time.map(Timestamp::from_nanos);
                queue.set(machine, time);
                plain[machine] = time;
                let first = plain.iter().enumerate();
                let first = first.filter_map(|(at, time)| time.map(|time| (time, at))).min();
                prop_assert_eq!(queue.first(), first);
            }
        }
    }
}
