use proptest::prelude::*;

use super::*;

const SEGMENT: u32 = 100;

fn extent(start: u32, count: u32) -> Extent {
    Extent { start, count }
}

#[test]
fn what_was_freed_last_is_given_first() {
    let mut space = Space::new(1_000);
    space.add(extent(0, 1_000));
    let taken: Vec<Extent> = (0..10).map(|_| space.take(100, 100).unwrap()).collect();
    assert_eq!(taken[3], extent(300, 100));
    assert_eq!(space.take(1, 1), None);
    for index in [2, 7, 5] {
        space.add(taken[index]);
    }
    assert_eq!(space.take(100, 1), Some(taken[5]));
    // The part touches no other, and a portion of it is as good.
    assert_eq!(space.take(30, 30), Some(extent(700, 30)));
    assert_eq!(space.take(30, 30), Some(extent(730, 30)));
    assert_eq!(space.total, 140);
}

#[test]
fn a_joined_part_is_given_from_where_it_was_freed_last() {
    let mut space = Space::new(1_000);
    space.add(extent(0, 1_000));
    assert_eq!(space.take(400, 400), Some(extent(0, 400)));
    space.add(extent(0, 300));
    space.add(extent(300, 100));
    assert_eq!(space.take(50, 50), Some(extent(300, 50)));
    assert_eq!(space.take_at(350, 20), Some(extent(350, 20)));
    assert_eq!(space.take_at(300, 20), None);
    // All units are consecutive, if possible: then the extent ends with the part.
    space.add(extent(300, 70));
    assert_eq!(space.take(900, 900), Some(extent(100, 900)));
    assert_eq!(space.take(900, 1), Some(extent(0, 100)));
    assert_eq!((space.total, space.take_largest(1)), (0, None));
}

#[test]
fn parts_of_two_segments_stay_two() {
    let mut space = Space::new(SEGMENT);
    space.add(extent(0, 100));
    space.add(extent(100, 100));
    assert_eq!(space.take(200, 101), None);
    assert!(!space.withdraw(extent(0, 99)));
    assert!(space.withdraw(extent(0, 100)));
    assert_eq!(space.take_largest(500), Some(extent(100, 100)));
}

proptest! {
    #[test]
    fn it_agrees_with_a_map_of_units(
        steps in prop::collection::vec((0_u8..5, any::<u32>(), 1_u32..70, any::<u32>()), 1..300),
    ) {
        let mut space = Space::new(SEGMENT);
        let mut free = [false; 4 * SEGMENT as usize];
        let mut taken: Vec<Extent> = (0..4).map(|index| extent(index * SEGMENT, SEGMENT)).collect();
        for (kind, place, want, other) in steps {
            let got = match kind {
                0 | 1 if !taken.is_empty() => {
                    let index = place as usize % taken.len();
                    let whole = taken.swap_remove(index);
                    // Frees some of the extent, its end or start, or all of it.
                    let count = 1 + other % whole.count;
                    let (back, kept) = if kind == 0 {
                        (extent(whole.start, count), extent(whole.start + count, whole.count - count))
                    } else {
                        let start = whole.end() - count;
                        (extent(start, count), extent(whole.start, whole.count - count))
                    };
                    space.add(back);
                    free[back.start as usize..back.end() as usize].fill(true);
                    taken.extend((kept.count > 0).then_some(kept));
                    None
                }
                2 => {
                    let start = place % (4 * SEGMENT);
                    let got = space.take_at(start, want);
                    prop_assert_eq!(got.is_some(), free[start as usize]);
                    prop_assert!(got.is_none_or(|got| got.start == start));
                    got
                }
                3 => {
                    let got = space.take_largest(want);
                    prop_assert_eq!(got.is_some(), free.contains(&true));
                    got
                }
                _ => {
                    let least = 1 + other % want;
                    let got = space.take(want, least);
                    prop_assert!(got.is_none_or(|got| got.count >= least));
                    if got.is_none() {
                        // Sizes above the exact bins share one with smaller ones.
                        let most = if least > EXACT { 2 * least } else { least };
                        let row = free.chunks(SEGMENT as usize).flat_map(|units| {
                            units.split(|free| !free).map(<[bool]>::len)
                        });
                        prop_assert!(row.max().unwrap_or(0) < most as usize);
                    }
                    got
                }
            };
            if let Some(got) = got {
                prop_assert!(got.count >= 1 && got.count <= want);
                prop_assert_eq!(got.start / SEGMENT, (got.end() - 1) / SEGMENT);
                let units = &mut free[got.start as usize..got.end() as usize];
                prop_assert!(units.iter().all(|free| *free), "all of it was free");
                units.fill(false);
                taken.push(got);
            }
            prop_assert_eq!(space.total, free.iter().filter(|free| **free).count() as u64);
        }
    }
}
