use super::*;

fn address(text: &str) -> Option<IpAddr> {
    Some(text.parse().expect("an address"))
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| net(text).expect("a network")).collect()
}

/// Returns the rights of an unauthenticated client at an address.
fn by_address(access: &Access, text: &str) -> Rights {
    let asker =
        Asker { address: address(text), is_own: false, user: None, is_in: &|_| unreachable!() };
    access.rights(&asker)
}

/// Returns the rights over the Unix socket of a user who is in these groups.
fn by_user(access: &Access, user: &str, groups: &[&str]) -> Rights {
    let is_in = |group: &str| groups.contains(&group);
    access.rights(&Asker { address: None, is_own: true, user: Some(user), is_in: &is_in })
}

fn has(clients: &str, text: &str) -> bool {
    let access =
        Access::plain(SimpleAccess { clients: nets(&[clients]), ..SimpleAccess::default() });
    let may = access.may_connect(address(text), false);
    assert_eq!(may, by_address(&access, text).print, "{text}");
    may
}

#[test]
fn networks_have_what_begins_alike() {
    assert!(has("192.0.2.0/24", "192.0.2.255"));
    assert!(!has("192.0.2.0/24", "192.0.3.0"));
    assert!(has("192.0.2.1", "192.0.2.1"));
    assert!(!has("192.0.2.1", "192.0.2.2"));
    assert!(has("0.0.0.0/0", "203.0.113.9"));
    assert!(!has("0.0.0.0/0", "2001:db8::1"));
    assert!(has("2001:db8::/32", "2001:db8:1::1"));
    assert!(!has("2001:db8::/32", "2001:db9::1"));
    assert!(has("::/0", "2001:db8::1"));
    assert!(has("192.0.2.77/24", "192.0.2.1"), "it names a host of the network");
    assert!(has("192.0.2.0/24", "::ffff:192.0.2.7"));
}

#[test]
fn what_is_no_network_is_refused() {
    for text in ["", "host", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/-1", "::/129", "1/2/3"] {
        assert!(net(text).is_err(), "{text:?}");
    }
}

#[test]
fn this_host_alone_may_by_default() {
    let access = Access::default();
    for own in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
        assert!(access.may_connect(address(own), false), "{own}");
        assert_eq!(by_address(&access, own), Rights { believed: true, ..Rights::ALL }, "{own}");
    }
    assert!(!access.may_connect(address("192.0.2.1"), false));
    // The host's other addresses are this host.
    assert!(access.may_connect(address("192.0.2.1"), true));
}

#[test]
fn over_the_socket_users_are_whom_the_kernel_says() {
    let access = Access::default();
    assert!(access.may_connect(None, true));
    assert_eq!(by_user(&access, "ann", &["users"]), Rights::USER);
    assert_eq!(by_user(&access, "ann", &["users", "lpadmin"]), Rights::ALL);
    assert_eq!(by_user(&access, "root", &[]), Rights { believed: true, ..Rights::ALL });
}

#[test]
fn administration_can_be_taken_from_this_host() {
    let admins = nets(&["0.0.0.0/0"]);
    for (local, rights) in [
        (LocalRights::Administer, Rights { believed: true, ..Rights::ALL }),
        (LocalRights::Print, Rights { believed: true, ..Rights::USER }),
        (LocalRights::Nothing, Rights::NONE),
    ] {
        let access = Access::plain(SimpleAccess {
            admins: admins.clone(),
            local,
            ..SimpleAccess::default()
        });
        assert_eq!(by_address(&access, "127.0.0.1"), rights, "{local:?}");
        assert_eq!(access.may_connect(address("127.0.0.1"), true), local != LocalRights::Nothing);
        // The socket stays, and so do the others.
        assert_eq!(by_user(&access, "ann", &[]), Rights::USER);
        assert!(by_address(&access, "192.0.2.1").administer);
    }
}

#[test]
fn the_first_policy_that_fits_holds() {
    let policy = |from: &[&str], users: &[&str], rights| Policy {
        from: from.iter().map(|word| word.parse().expect("a place")).collect(),
        users: users.iter().map(|word| Principal::new(word)).collect(),
        rights,
    };
    let see = Rights { see: true, ..Rights::NONE };
    let server = Rights { believed: true, ..Rights::USER };
    let access = Access::new(vec![
        policy(&["192.0.2.9"], &[], Rights::NONE),
        policy(&["192.0.2.0/24"], &["ann", "@staff"], Rights::ALL),
        policy(&["192.0.2.0/24"], &["server"], server),
        policy(&["192.0.2.0/24"], &["*"], Rights::USER),
        policy(&["192.0.2.0/24", "this-host"], &[], see),
    ]);
    let rights = |at: &str, user, groups: &[&str]| {
        let is_in = |group: &str| groups.contains(&group);
        access.rights(&Asker { address: address(at), is_own: false, user, is_in: &is_in })
    };
    assert_eq!(rights("192.0.2.9", Some("ann"), &[]), Rights::NONE);
    assert_eq!(rights("192.0.2.1", Some("ann"), &[]), Rights::ALL);
    assert_eq!(rights("192.0.2.1", Some("bob"), &["staff"]), Rights::ALL);
    assert_eq!(rights("192.0.2.1", Some("server"), &[]), server);
    assert_eq!(rights("192.0.2.1", Some("bob"), &[]), Rights::USER);
    assert_eq!(rights("192.0.2.1", None, &[]), see);
    assert_eq!(rights("127.0.0.1", None, &[]), see);
    assert_eq!(rights("203.0.113.1", Some("ann"), &["staff"]), Rights::NONE);
    assert!(!access.may_connect(address("192.0.2.9"), false));
    assert!(access.may_connect(address("192.0.2.1"), false));
    assert!(!access.may_connect(address("203.0.113.1"), false));
    // Nobody locks root out.
    assert!(by_user(&access, "root", &[]).administer);
    assert_eq!(by_user(&access, "ann", &[]), Rights::NONE);
}

#[test]
fn who_has_to_say_who_he_is_may_connect_before() {
    let rights = Rights::USER;
    let known = Policy { from: Vec::new(), users: vec![Principal::Known], rights };
    let access = Access::new(vec![known]);
    assert_eq!(by_address(&access, "203.0.113.1"), Rights::NONE);
    assert!(access.may_connect(address("203.0.113.1"), false));
}

#[test]
fn a_known_user_prints_in_no_other_name() {
    let access =
        Access::plain(SimpleAccess { clients: nets(&["192.0.2.0/24"]), ..SimpleAccess::default() });
    let at = |user| Asker { address: address("192.0.2.1"), is_own: false, user, is_in: &|_| false };
    assert!(access.rights(&at(None)).believed);
    assert!(!access.rights(&at(Some("ann"))).believed);
}
