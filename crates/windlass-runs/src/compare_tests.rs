use windlass_base::Span;

use super::*;
use crate::{Figure, VerdictSummary};

/// A run that began at this second, with one rate.
fn member(second: usize, rate: f64) -> Member {
    let second = i64::try_from(second).unwrap();
    let start_time = Timestamp::from_nanos(1_795_000_000_000_000_000 + second * 1_000_000_000);
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&second.to_be_bytes().map(|byte| byte % 32));
    bytes[8] = u8::try_from(second >> 5 & 31).unwrap();
    bytes[9] = u8::try_from(second & 31).unwrap();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    Member {
        summary: Summary {
            id: RunId::from_bytes(bytes),
            command: "send".to_owned(),
            arguments: words("send printer --window 64KiB --tag x"),
            target: Some("printer".to_owned()),
            peers: Vec::new(),
            host: "desk".to_owned(),
            start_time,
            end_time: start_time + Span::from_millis(900),
            exit_code: 0,
            tags: Vec::new(),
            notes: 0,
            figures: vec![Figure { name: FigureName::Rate, of: None, value: rate }],
            verdicts: vec![VerdictSummary {
                of: None,
                cause: "receiver-window/path-rtt".to_owned(),
                confidence: None,
            }],
            captures: Vec::new(),
        },
        host: Host { name: "desk".to_owned(), processors: 2, ..Host::default() },
        program_version: "0.1.0".to_owned(),
    }
}

/// Groups A, B, C with these rates, one run of each in turn.
fn groups(rates: &[&[f64]]) -> Vec<Group> {
    let names = ["A", "B", "C"];
    let members = |place: usize, rates: &[f64]| {
        let rates = rates.iter().enumerate();
        rates.map(|(turn, rate)| member(turn * names.len() + place, *rate)).collect()
    };
    let groups = rates.iter().zip(names).enumerate();
    groups
        .map(|(place, (rates, name))| Group {
            name: name.to_owned(),
            members: members(place, rates),
        })
        .collect()
}

pub(crate) fn comparison(rates: &[&[f64]]) -> Comparison {
    Comparison::of(&groups(rates))
}

const EVEN: [f64; 6] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];

#[test]
fn a_tenth_less_is_worse() {
    let less = EVEN.map(|rate| rate * 0.9);
    let found = comparison(&[&EVEN, &less]);
    let rate = &found.figures[0];
    let spread = rate.groups[0].unwrap();
    assert_eq!((spread.count, spread.median), (6, 100.1));
    assert_eq!((spread.low, spread.high), (Some(99.0), Some(101.0)));
    let change = rate.changes[1].unwrap();
    assert_eq!(change.claim, Claim::Worse);
    assert!((change.share.unwrap() + 0.1).abs() < 0.002 && change.p < 0.003, "{change:?}");
    assert!(change.low.unwrap() < -0.1 && change.high.unwrap() > -0.11, "{change:?}");
    assert_eq!(rate.changes[0], None);
    assert_eq!(found.cautions, []);
    assert!(!found.verdicts[0].changed && found.differs.is_empty());
}

#[test]
fn of_four_nothing_is_claimed() {
    let found = comparison(&[&[100.0, 101.0, 99.0, 100.5], &[50.0, 51.0, 49.0, 50.5]]);
    assert_eq!(found.figures[0].changes[1].unwrap().claim, Claim::TooFew);
    let groups = vec!["A".to_owned(), "B".to_owned()];
    assert_eq!(found.cautions, [Caution::FewRuns { groups, fewest: 4 }]);
}

#[test]
fn what_chance_may_have_made_is_not_claimed() {
    let found = comparison(&[&EVEN, &[100.3, 99.8, 101.1, 99.1, 100.4, 99.9]]);
    assert_eq!(found.figures[0].changes[1].unwrap().claim, Claim::None);
    // Of six that are all the same as the others there is no difference to claim.
    let same = comparison(&[&[7.0; 6], &[7.0; 6]]);
    assert_eq!(same.figures[0].changes[1].unwrap().claim, Claim::None);
}

#[test]
fn only_what_differs_is_listed() {
    let mut groups = groups(&[&EVEN, &EVEN]);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (place, member) in groups[1].members.iter_mut().enumerate() {
        member.summary.arguments = words("send printer --window=256KiB -P 4 --json --tag y");
        member.host.settings.insert("net.ipv4.tcp_congestion_control".into(), "bbr".into());
        if place == 0 {
            member.program_version = "0.2.0".to_owned();
        }
        member.summary.verdicts[0].cause = "path-capacity/queue".to_owned();
    }
    let found = Comparison::of(&groups);
    let differs: Vec<(FactOrigin, &str, Vec<String>)> = found
        .differs
        .iter()
        .map(|one| {
            let values = one.values.iter().map(|values| values.join("|")).collect();
            (one.of, one.what.as_str(), values)
        })
        .collect();
    let two = |one: &str, other: &str| vec![one.to_owned(), other.to_owned()];
    assert_eq!(
        differs,
        [
            (FactOrigin::Parameter, "--window", two("64KiB", "256KiB")),
            (FactOrigin::Parameter, "-P", two("", "4")),
            (FactOrigin::Host, "net.ipv4.tcp_congestion_control", two("", "bbr")),
            (FactOrigin::Program, "windlass", two("0.1.0", "0.1.0|0.2.0")),
        ]
    );
    assert!(found.verdicts[0].changed);
    assert_eq!(found.verdicts[0].groups[1][0].runs, 6);
}

#[test]
fn what_makes_a_comparison_doubtful_is_said() {
    let mut all = groups(&[&EVEN, &EVEN]);
    for member in &mut all[1].members {
        member.summary.start_time = member.summary.start_time + Span::from_seconds(3_600.0);
    }
    all[1].members[0].summary.exit_code = 1;
    all[1].members[1].summary.command = "ping".to_owned();
    let shared = all[0].members[0].clone();
    all[1].members.push(shared.clone());
    let cautions = Comparison::of(&all).cautions;
    let group = || "B".to_owned();
    assert_eq!(
        cautions,
        [
            Caution::Commands,
            Caution::Failed { group: group(), runs: 1 },
            Caution::Shared { run: shared.summary.id },
        ],
        "the shared run lies among the others"
    );
    all[1].members.pop();
    let cautions = Comparison::of(&all).cautions;
    assert!(cautions.contains(&Caution::NotInterleaved { group: group() }), "{cautions:?}");
}
