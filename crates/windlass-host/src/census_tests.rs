use proptest::prelude::*;

use super::*;

fn process(pid: u32, parent: u32, name: &str, ticks: u64, ended_ticks: u64) -> ProcessStat {
    let name = name.to_owned();
    ProcessStat { pid, parent, name, ticks, ended_ticks, started: 1, ..ProcessStat::default() }
}

fn census(seconds: f64, processes: &[ProcessStat]) -> Census {
    Census { at: Span::from_seconds(seconds), processes: processes.to_vec() }
}

fn busiest(shares: &Shares<'_>, scope: &Scope) -> Vec<(u32, i64)> {
    let rows = shares.busiest(scope, &mut |_| None);
    rows.iter().map(|row| (row.pid, (row.cpu_share * 100.0).round() as i64)).collect()
}

fn scope() -> Scope {
    Scope { least: 0.05, most: 10, ..Scope::default() }
}

#[test]
fn children_are_summed_however_short_they_lived() {
    let before = census(
        0.0,
        &[
            process(1, 0, "init", 0, 0),
            process(10, 1, "cupsd", 50, 100),
            // Its earlier time is outside the interval.
            process(11, 10, "gs", 70, 0),
        ],
    );
    let now = census(
        1.0,
        &[
            process(1, 0, "init", 0, 0),
            // The filter has ended with 80 ticks, and other children with 30 together.
            process(10, 1, "cupsd", 60, 210),
            process(12, 10, "pdftops", 20, 0),
            process(13, 12, "sh", 5, 5),
        ],
    );
    let shares = Shares::between(&before, &now, 100);
    let family = shares.family(10, &[]).unwrap();
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-9, "{share}");
    near(family.own_cpu_share, 0.10);
    // A rise of 110, less the 70 that the filter had before; and 5 of the shell's.
    near(family.ended_cpu_share, 0.45);
    near(family.cpu_share, 0.80);
    let names: Vec<&str> = family.children.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["pdftops", "sh"]);
    near(family.children[0].cpu_share, 0.20);
    assert_eq!(busiest(&shares, &scope()), [(10, 80)]);
    assert_eq!(shares.family(11, &[]), None);
    assert_eq!(shares.ancestors(13), [13, 12, 10, 1]);
}

#[test]
fn the_one_that_works_is_named_and_not_who_started_it() {
    let first = [
        process(1, 0, "init", 0, 0),
        process(5, 1, "sshd", 0, 0),
        process(6, 5, "bash", 0, 0),
        process(7, 6, "hog", 0, 0),
        process(8, 6, "idle", 0, 0),
        process(20, 6, "windlass", 0, 0),
        process(21, 20, "lp", 0, 0),
        // One build, whose compilers are alike.
        process(30, 1, "make", 0, 0),
        process(31, 30, "cc1", 0, 0),
        process(32, 30, "cc1", 0, 0),
    ];
    let mut later = first.clone();
    for (place, ticks) in [(3, 90), (5, 60), (6, 30), (8, 40), (9, 30)] {
        later[place].ticks = ticks;
    }
    let (before, now) = (census(0.0, &first), census(1.0, &later));
    let shares = Shares::between(&before, &now, 100);
    let without = Scope { without: vec![20], ..scope() };
    assert_eq!(busiest(&shares, &without), [(7, 90), (30, 70)]);
    assert_eq!(busiest(&shares, &scope()), [(7, 90), (20, 90), (30, 70)]);
    // The shell works, too: with its children it counts as one, except for windlass itself, which
    // it started.
    later[2].ticks = 40;
    let now = census(1.0, &later);
    let shares = Shares::between(&before, &now, 100);
    assert_eq!(busiest(&shares, &without), [(6, 130), (30, 70)]);
    let split = Scope { split: shares.ancestors(20), ..without };
    assert_eq!(busiest(&shares, &split), [(7, 90), (30, 70), (6, 40)]);
}

#[test]
fn a_service_is_one_with_all_that_it_starts() {
    let first = [
        process(1, 0, "systemd", 0, 0),
        process(4, 1, "cron", 0, 0),
        process(5, 4, "backup", 0, 0),
    ];
    let mut later = first.clone();
    later[2].ticks = 50;
    let (before, now) = (census(0.0, &first), census(1.0, &later));
    let shares = Shares::between(&before, &now, 100);
    let mut unit = |pid: u32| (pid > 1).then(|| "cron.service".to_owned());
    let rows = shares.busiest(&scope(), &mut unit);
    assert_eq!((rows[0].pid, rows[0].children[0].name.as_str()), (4, "backup"));
    assert_eq!(busiest(&shares, &scope()), [(5, 50)]);
}

#[test]
fn units_are_read() {
    for (text, expected) in [
        ("0::/\n", None),
        ("", None),
        ("0::/system.slice/cups.service\n", Some("cups.service")),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", Some("session-3.scope")),
        ("0::/system.slice/docker-0a1b.scope/init\n", Some("docker-0a1b.scope")),
        ("4:memory:/x\n1:name=systemd:/system.slice/ssh.service\n0::/\n", Some("ssh.service")),
        ("0::/kubepods/pod7/abc\n", Some("abc")),
        ("nonsense\n:\n::", None),
    ] {
        assert_eq!(unit(text).as_deref(), expected, "{text}");
    }
    let passwd = "root:x:0:0:root:/root:/bin/bash\nlp:x:7:7:lp:/var/spool/lpd:/bin/sh\nbroken\n";
    assert_eq!(user_name(passwd, 7).as_deref(), Some("lp"));
    assert_eq!(user_name(passwd, 1_000), None);
    let accounts = "root:x:0:0:root:/root:/bin/sh\n# none\nann:x:1000:1000::/:/bin/sh\n";
    assert_eq!(user_name(accounts, 1_000).as_deref(), Some("ann"));
    assert_eq!(user_name(accounts, 0).as_deref(), Some("root"));
    assert_eq!(user_name(accounts, 7), None);
}

proptest! {
    /// Whatever the kernel says, no share is negative, and all loops end.
    #[test]
    fn any_two_moments_have_shares(
        before in prop::collection::vec((0..20_u32, 0..20_u32, 0..99_u64, 0..99_u64), 0..20),
        now in prop::collection::vec((0..20_u32, 0..20_u32, 0..99_u64, 0..99_u64), 0..20),
    ) {
        let all = |list: &[(u32, u32, u64, u64)]| -> Vec<ProcessStat> {
            list.iter().map(|(pid, parent, own, ended)| process(*pid, *parent, "x", *own, *ended)).collect()
        };
        let (before, now) = (census(0.0, &all(&before)), census(1.0, &all(&now)));
        let shares = Shares::between(&before, &now, 100);
        for row in shares.busiest(&Scope { most: 99, ..Scope::default() }, &mut |_| None) {
            prop_assert!(row.cpu_share >= 0.0 && row.own_cpu_share >= 0.0);
            prop_assert!(row.ended_cpu_share >= 0.0);
        }
    }
}
