//! Commands with few rights: no new privileges, another user if one is named, limited memory and
//! disk, and none of this process's open files.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::{c_uint, c_ulong};
use rustix::fs::Mode;
use rustix::process::{
    Gid, Resource, Rlimit, Signal, Uid, getppid, set_parent_process_death_signal, setrlimit, umask,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use crate::account::Account;
use crate::call::checked;

/// The first descriptor that is not one of the standard ones.
const FIRST: c_uint = 3;

/// Limits of a command.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// User to run as, with that user's groups; this process's own user if `None`.
    pub user: Option<Account>,
    /// Maximum bytes of private memory for each of its processes (`RLIMIT_DATA` in getrlimit(2)).
    pub memory: Option<u64>,
    /// Maximum bytes of a file that it writes (`RLIMIT_FSIZE`).
    pub output: Option<u64>,
    /// Maximum seconds of processor time for each of its processes (`RLIMIT_CPU`). The limit also
    /// ends processes that outlive a killed server.
    pub processor: Option<u64>,
}

/// Confines a command when it is started. No program that it runs gains privileges
/// (`PR_SET_NO_NEW_PRIVS` in prctl(2)), and it dumps no memory. Other users cannot read the files
/// that it makes. It is killed when the thread that started it ends (`PR_SET_PDEATHSIG`).
pub fn confine(command: &mut Command, what: &Confinement) {
    let ids = what.user.as_ref().map(|user| {
        let groups: Vec<Gid> = user.groups.iter().map(|group| Gid::from_raw(*group)).collect();
        (Uid::from_raw(user.identity.user), Gid::from_raw(user.identity.group), groups)
    });
    let mut limits = vec![(Resource::Core, 0)];
    limits.extend(what.memory.map(|most| (Resource::Data, most)));
    limits.extend(what.output.map(|most| (Resource::Fsize, most)));
    limits.extend(what.processor.map(|most| (Resource::Cpu, most)));
    let parent = rustix::process::getpid();
    let confined = move || {
        for (resource, most) in &limits {
            setrlimit(*resource, Rlimit { current: Some(*most), maximum: Some(*most) })?;
        }
        umask(Mode::from_raw_mode(0o077));
        close_on_exec()?;
        if let Some((user, group, groups)) = &ids {
            // These are of the calling thread alone, which is the only one after a fork.
            set_thread_groups(groups)?;
            set_thread_res_gid(*group, *group, *group)?;
            set_thread_res_uid(*user, *user, *user)?;
            if !user.is_root() {
                let none = CapabilitySet::empty();
                clear_ambient_capability_set()?;
                let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
                set_capabilities(None, none)?;
            }
        }
        set_no_new_privs(true)?;
        // A change of user clears the signal, so the signal is set last.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            // The parent has ended meanwhile.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only: nothing of it allocates,
    // takes a lock or touches what other threads may have been changing.
    unsafe { command.pre_exec(confined) };
}

/// Keeps all but the standard descriptors from the program that is run.
fn close_on_exec() -> io::Result<()> {
    let (last, flags) = (c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: it takes numbers only.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            c_ulong::from(FIRST),
            c_ulong::from(last),
            c_ulong::from(flags),
        )
    };
    match checked(done) {
        // `ENOSYS` and `EINVAL`: before Linux 5.11. The standard library's own files are closed in
        // any case.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => Ok(()),
        done => done.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn said(script: &str, what: &Confinement) -> (String, bool) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null());
        confine(&mut command, what);
        let output = command.output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.success())
    }

    #[test]
    fn a_confined_command_gets_no_rights_and_leaves_no_traces() {
        let script = "grep -E '^(NoNewPrivs|CapEff|CapBnd):' /proc/self/status; umask; ulimit -c; \
                      ls /proc/self/fd | wc -l";
        // A file that every program would get.
        let open = std::fs::File::open("/dev/null").unwrap();
        rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
        let (text, _) = said(script, &Confinement::default());
        assert!(text.contains("NoNewPrivs:\t1"), "{text}");
        // The three standard descriptors, and the folder that is listed.
        assert!(text.ends_with("0077\n0\n4\n"), "{text}");
    }

    #[test]
    fn a_confined_command_ends_at_its_limits() {
        let megabyte = Some(1 << 20);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let script = format!("head -c 3000000 /dev/zero > {}", file.display());
        let what = Confinement { output: megabyte, ..Confinement::default() };
        assert!(!said(&script, &what).1);
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 1 << 20);
        let what = Confinement { memory: Some(32 << 20), ..Confinement::default() };
        let large = "x=$(head -c 100000000 /dev/zero | tr '\\0' y); echo ${#x}";
        assert!(!said(large, &what).0.contains("100000000"));
    }

    #[test]
    fn a_confined_command_is_another_user() {
        let test = "a_confined_command_is_another_user";
        if rustix::process::geteuid().as_raw() != 0 {
            return eprintln!("skipped: {test}: only root can become another user");
        }
        let Some(nobody) = Account::named("nobody") else {
            return eprintln!("skipped: {test}: there is no user nobody");
        };
        let expected = (nobody.identity.user, nobody.identity.group);
        let what = Confinement { user: Some(nobody), ..Confinement::default() };
        let (text, _) = said("id -u; id -g; id -G; grep ^CapPrm: /proc/self/status", &what);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], expected.0.to_string(), "{text}");
        assert_eq!(lines[1], expected.1.to_string(), "{text}");
        assert_eq!(lines[2], expected.1.to_string(), "{text}");
        assert_eq!(lines[3], "CapPrm:\t0000000000000000");
    }
}
