//! Names of system calls and of errors, by their numbers: the kernel gives numbers only.

use std::collections::HashMap;
use std::sync::LazyLock;

use windlass_sys::ptrace::Call;

/// Machines whose calls have names here, by the numbers of `linux/audit.h`.
const X86_64: u32 = 0xc000_003e;
const AARCH64: u32 = 0xc000_00b7;
const I386: u32 = 0x4000_0003;
const ARM: u32 = 0x4000_0028;

/// The bit in a call's number for the x32 table (`__X32_SYSCALL_BIT`).
const X32: u64 = 0x4000_0000;

type Names = LazyLock<HashMap<u64, &'static str>>;

static OF_X86_64: Names = LazyLock::new(|| names(include_str!("x86_64.txt")));
static OF_AARCH64: Names = LazyLock::new(|| names(include_str!("aarch64.txt")));
static OF_ERRORS: Names = LazyLock::new(|| names(include_str!("errors.txt")));

/// Parses lines of a number and a name.
fn names(text: &'static str) -> HashMap<u64, &'static str> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(number, name)| Some((number.parse().ok()?, name))).collect()
}

/// Returns the name of a call; `syscall_999` without one. Calls of 32-bit programs begin with the
/// machine's name, as they have numbers of their own.
pub fn name(call: Call) -> String {
    let number = call.number;
    let (known, machine) = match call.machine {
        X86_64 if number & X32 != 0 => (None, "x32_"),
        X86_64 => (OF_X86_64.get(&number), ""),
        AARCH64 => (OF_AARCH64.get(&number), ""),
        I386 => (None, "i386_"),
        ARM => (None, "arm_"),
        _ => (None, "other_"),
    };
    known.map_or_else(|| format!("{machine}syscall_{}", number & !X32), |name| (*name).to_owned())
}

/// Returns the name of an error, as `ENOENT`; its number without one.
pub fn error(number: i32) -> String {
    let known = u64::try_from(number).ok().and_then(|number| OF_ERRORS.get(&number));
    known.map_or_else(|| format!("error_{number}"), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(machine: u32, number: u64) -> String {
        name(Call { machine, number })
    }

    #[test]
    fn calls_have_the_names_of_their_machine() {
        // Sources: the tables of syscalls(2) and the kernel's headers.
        let x86_64 = [(0, "read"), (21, "access"), (232, "epoll_wait"), (332, "statx")];
        let aarch64 = [(63, "read"), (48, "faccessat"), (22, "epoll_pwait"), (291, "statx")];
        for (machine, known) in [(X86_64, x86_64), (AARCH64, aarch64)] {
            for (number, name) in known {
                assert_eq!(of(machine, number), name);
            }
            // From here on all machines have the same numbers.
            assert_eq!(of(machine, 435), "clone3");
            assert_eq!(of(machine, 462), "mseal");
            assert_eq!(of(machine, 9_999), "syscall_9999");
        }
        assert_eq!(of(I386, 5), "i386_syscall_5");
        assert_eq!(of(X86_64, X32 | 7), "x32_syscall_7");
        assert_eq!((OF_X86_64.len(), OF_AARCH64.len()), (382, 343));
    }

    #[test]
    fn errors_have_their_names() {
        let known = [(2, "ENOENT"), (11, "EAGAIN"), (115, "EINPROGRESS"), (512, "ERESTARTSYS")];
        for (number, name) in known {
            assert_eq!(error(number), name);
        }
        assert_eq!((error(999), error(-1)), ("error_999".to_owned(), "error_-1".to_owned()));
        assert_eq!(OF_ERRORS.len(), 135);
    }
}
