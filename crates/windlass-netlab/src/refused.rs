//! Advice for a system that refuses a namespace.

use std::fs;

use windlass_base::Failure;
use windlass_sys::namespace::{NamespaceStep, Refusal};

/// Returns the error for a network that cannot be made.
pub(crate) fn failure(refused: Refusal) -> Failure {
    let advice = advice(&refused, &|path| fs::read_to_string(path).ok());
    let failure = Failure::new("cannot make a private network", refused);
    match advice {
        Some(advice) => failure.advise(advice),
        None => failure,
    }
}

/// Returns the advice, by the failed step and by the switches that forbid user namespaces.
fn advice(refused: &Refusal, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let is = |path: &str, value: &str| read(path).is_some_and(|text| text.trim() == value);
    match refused.step {
        NamespaceStep::UserNamespace | NamespaceStep::MapIds | NamespaceStep::NetNamespace => Some(
            if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
                "Run it as root, or allow user namespaces: sysctl \
                 kernel.unprivileged_userns_clone=1"
            } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
                "Run it as root, or allow user namespaces: sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0"
            } else if is("/proc/sys/user/max_user_namespaces", "0") {
                "Run windlass as root, or allow user namespaces: sysctl user.max_user_namespaces=10000"
            } else {
                "Run it as root. In a container, start that with --cap-add SYS_ADMIN and \
                 --security-opt seccomp=unconfined."
            }
            .to_owned(),
        ),
        NamespaceStep::OpenTun if refused.error.kind() == std::io::ErrorKind::NotFound => Some(
            "Load the driver: modprobe tun. In a container, start that with --device \
             /dev/net/tun."
                .to_owned(),
        ),
        NamespaceStep::OpenTun => Some(
            "Run it as root, or let others open the device as most systems do: chmod 666 \
             /dev/net/tun"
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_switch_that_forbids_is_named() {
        let refused =
            |step, errno: i32| Refusal { step, error: io::Error::from_raw_os_error(errno) };
        let told = |switch: &'static str, value: &'static str| {
            let read = move |path: &str| (path.ends_with(switch)).then(|| format!("{value}\n"));
            advice(&refused(NamespaceStep::NetNamespace, 1), &read).unwrap()
        };
        assert!(told("unprivileged_userns_clone", "0").contains("unprivileged_userns_clone=1"));
        assert!(told("restrict_unprivileged_userns", "1").contains("userns=0"));
        assert!(told("max_user_namespaces", "0").contains("max_user_namespaces="));
        assert!(told("unprivileged_userns_clone", "1").contains("container"));
        let none = |_: &str| None;
        let missing = advice(&refused(NamespaceStep::OpenTun, 2), &none).unwrap();
        assert!(missing.contains("modprobe tun"), "{missing}");
        let closed = advice(&refused(NamespaceStep::OpenTun, 13), &none).unwrap();
        assert!(closed.contains("chmod 666 /dev/net/tun"), "{closed}");
        assert_eq!(advice(&refused(NamespaceStep::Interface, 19), &none), None);
    }
}
