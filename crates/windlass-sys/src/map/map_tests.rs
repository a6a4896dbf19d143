//! Mappings of files that are whole, cut and grown.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::ptr;

use super::*;

/// Makes a file of this many bytes, none of them zero, and its mapping.
fn mapped(bytes: usize) -> (File, Mapping) {
    let file = tempfile::tempfile().unwrap();
    let content: Vec<u8> = (0..bytes).map(|place| place as u8 | 1).collect();
    std::os::unix::fs::FileExt::write_all_at(&file, &content, 0).unwrap();
    let map = Mapping::of(&file).unwrap();
    (file, map)
}

/// Returns how many bytes are not zero.
fn sound(map: &Mapping) -> usize {
    map.bytes().iter().filter(|byte| **byte != 0).count()
}

#[test]
fn a_file_is_seen_whole() {
    let (_file, map) = mapped(100_003);
    map.prefetch(0..usize::MAX);
    map.populate(0..50_000);
    map.populate(50_000..1 << 40);
    map.touch(0..1 << 40);
    assert_eq!((map.bytes().len(), sound(&map), map.lost()), (100_003, 100_003, None));
    map.release(0..70_000);
    map.release(70_000..100_003);
    assert_eq!((sound(&map), map.lost()), (100_003, None));
}

#[test]
fn what_cannot_be_mapped_is_an_error() {
    assert!(Mapping::of(&tempfile::tempfile().unwrap()).is_err());
    assert!(Mapping::of(&File::open("/").unwrap()).is_err());
    assert!(Mapping::of(&File::open("/dev/null").unwrap()).is_err());
}

#[test]
fn a_cut_file_gives_zeros_and_says_where() {
    let page = page_size();
    let (file, map) = mapped(20 * page);
    map.populate(0..20 * page);
    file.set_len(5 * page as u64 + 7).unwrap();
    assert_eq!(map.lost(), None);
    assert_eq!(sound(&map), 5 * page + 7);
    assert_eq!(map.lost(), Some(6 * page));
    // Lost pages stay zero, whatever is asked for.
    map.populate(0..20 * page);
    map.release(0..20 * page);
    file.set_len(20 * page as u64).unwrap();
    assert_eq!((sound(&map), map.lost()), (5 * page + 7, Some(6 * page)));
}

#[test]
fn the_first_lost_page_counts() {
    let page = page_size();
    let (file, map) = mapped(20 * page);
    file.set_len(0).unwrap();
    assert_eq!(map.bytes()[12 * page + 5], 0);
    assert_eq!(map.lost(), Some(12 * page));
    assert_eq!(map.bytes()[3 * page], 0);
    assert_eq!(map.lost(), Some(3 * page));
}

#[test]
fn populating_what_is_lost_does_no_harm() {
    let (file, map) = mapped(1 << 20);
    file.set_len(0).unwrap();
    map.prefetch(0..1 << 20);
    map.populate(0..1 << 20);
    assert_eq!((sound(&map), map.lost()), (0, Some(0)));
}

#[test]
fn mappings_come_and_go() {
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..40 {
                    let (file, map) = mapped(64 << 10);
                    file.set_len(32 << 10).unwrap();
                    assert_eq!((sound(&map), map.lost()), (32 << 10, Some(32 << 10)));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Runs one of these tests in a process of its own. Returns its exit status and its output.
fn alone(test: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("map::tests::{test}")]).env("WINDLASS_SYS_ALONE", "1");
    command.output().unwrap()
}

/// Runs in a process of its own, as the other tests need slots, too.
#[test]
fn there_may_be_too_many() {
    if !is_child() {
        let output = alone("there_may_be_too_many");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let (file, first) = mapped(4096);
    let many: Vec<_> = (0..200).map_while(|_| Mapping::of(&file).ok()).collect();
    assert!((10..200).contains(&many.len()), "{}", many.len());
    assert_eq!(first.lost(), None);
}

fn is_child() -> bool {
    std::env::var_os("WINDLASS_SYS_ALONE").is_some()
}

/// A fault outside the mappings ends the program as before.
#[test]
fn other_faults_end_the_program() {
    if !is_child() {
        assert_eq!(alone("other_faults_end_the_program").status.signal(), Some(libc::SIGBUS));
        return;
    }
    let (file, _map) = mapped(4096);
    // SAFETY: a new mapping; the byte lies behind the end of the file, and
    // touching it raises SIGBUS, which is what is wanted.
    unsafe {
        let flags = libc::MAP_SHARED;
        let place =
            libc::mmap(ptr::null_mut(), 1 << 20, libc::PROT_READ, flags, file.as_raw_fd(), 0);
        assert_ne!(place, libc::MAP_FAILED);
        place.cast::<u8>().add(1 << 19).read_volatile();
    }
}

#[test]
fn a_sent_signal_ends_the_program() {
    if !is_child() {
        assert_eq!(alone("a_sent_signal_ends_the_program").status.signal(), Some(libc::SIGBUS));
        return;
    }
    let (_file, _map) = mapped(4096);
    // The standard library's handler was there before. It takes the first signal for a fault, which
    // would come again by itself.
    for _ in 0..2 {
        // SAFETY: raising a signal touches no memory.
        unsafe { libc::raise(libc::SIGBUS) };
    }
}

static HANDED_ON: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn own_handler(_: c_int) {
    HANDED_ON.store(true, std::sync::atomic::Ordering::SeqCst);
}

#[test]
fn an_earlier_handler_is_kept() {
    if !is_child() {
        assert_eq!(alone("an_earlier_handler_is_kept").status.signal(), Some(libc::SIGKILL));
        return;
    }
    // SAFETY: the handler stores to an atomic only.
    unsafe { libc::signal(libc::SIGBUS, own_handler as *const () as libc::sighandler_t) };
    let (file, map) = mapped(1 << 20);
    file.set_len(0).unwrap();
    assert_eq!(sound(&map), 0);
    assert!(!HANDED_ON.load(std::sync::atomic::Ordering::SeqCst));
    // SAFETY: raising a signal touches no memory.
    unsafe { libc::raise(libc::SIGBUS) };
    assert!(HANDED_ON.load(std::sync::atomic::Ordering::SeqCst));
    // SAFETY: as above. It tells the parent that this point was reached.
    unsafe { libc::raise(libc::SIGKILL) };
}
