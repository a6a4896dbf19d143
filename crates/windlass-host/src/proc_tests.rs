//! Texts of several kernels, and malformed texts.

use proptest::prelude::*;

use super::*;

/// Linux 6.18, two processors of a virtual machine.
const STAT_6_18: &[u8] = b"\
cpu  1339105 10937 579598 1254513 12498 0 97415 107928 0 0
cpu0 647749 5496 287083 650734 8079 0 48138 54000 0 0
cpu1 691356 5440 292515 603778 4418 0 49277 53927 0 0
intr 29444860 0 0 0 0 0 1 1 15 0 3387 2243
ctxt 57923663
btime 1795300007
processes 380246
procs_running 3
procs_blocked 1
softirq 322301949 0 1393001 7819 310339805 569314 0 31917 1559366 6324965 2075762
";

/// Linux 2.6.18 of RHEL 5, from the time of the first spoolers: no guest times.
const STAT_2_6_18: &[u8] = b"\
cpu  104561 17 199331 5607401 83122 521 9712 0
cpu0 104561 17 199331 5607401 83122 521 9712 0
intr 59991234 59012345 8 0 3
ctxt 12345678
btime 1282149001
processes 23456
procs_running 2
procs_blocked 0
";

/// Linux 2.4: four times.
const STAT_2_4: &[u8] = b"cpu  9 8 7 600\ncpu0 9 8 7 600\npage 1 2\nintr 77 1\nctxt 88\n";

#[test]
fn processors_of_several_kernels() {
    let now = stat(STAT_6_18).unwrap();
    assert_eq!(now.all[0], 1_339_105);
    assert_eq!((now.all[6], now.all[7]), (97_415, 107_928));
    assert_eq!(now.cores.len(), 2);
    assert_eq!(now.cores[1].0, 1);
    assert_eq!(now.cores[1].1[4], 4_418);
    assert_eq!((now.interrupts, now.context_switches), (29_444_860, 57_923_663));
    assert_eq!((now.running, now.blocked), (3, 1));
    let rhel = stat(STAT_2_6_18).unwrap();
    assert_eq!((rhel.all[4], rhel.all[5], rhel.all[7]), (83_122, 521, 0));
    let old = stat(STAT_2_4).unwrap();
    assert_eq!((old.all[3], old.all[4]), (600, 0));
    assert_eq!((old.all.iter().sum::<u64>(), old.running), (624, 0));
}

#[test]
fn processors_that_are_offline_have_no_line() {
    let some = stat(b"cpu 2 2 2 2\ncpu0 1 1 1 1\ncpu7 1 1 1 1\ncpufreq 3\n").unwrap();
    assert_eq!(some.cores.iter().map(|(core, _)| *core).collect::<Vec<_>>(), [0, 7]);
}

#[test]
fn what_is_no_account_is_nothing() {
    for text in ["", "cpu", "cpu 1 2 3", "cpu a b c d", "cpu0 1 2 3 4", "cpu -1 2 3 4"] {
        assert_eq!(stat(text.as_bytes()), None, "{text}");
    }
    assert_eq!(stat(b"cpu 1 2 3 4\nintr many\n"), None);
    assert_eq!(memory(b"MemTotal: 7 kB\n"), None);
    assert_eq!(vmstat(b"nr_free_pages 7\n"), None);
    assert_eq!(load(b"0.1 0.2\n"), None);
    assert_eq!(load(b"0.1 nan 0.2\n"), None);
    assert_eq!(process(b"17 cat R 1"), None);
    assert_eq!(io(b"read_bytes: 7\n"), None);
}

#[test]
fn memory_of_several_kernels() {
    let now = memory(
        b"MemTotal:       24684092 kB\nMemFree:        21433060 kB\nMemAvailable:   23971452 kB\n\
          Buffers:           26944 kB\nCached:          2745988 kB\nSwapCached:            0 kB\n\
          SwapTotal:       2326520 kB\nSwapFree:        2326448 kB\nSReclaimable:     215576 kB\n\
          HugePages_Total:       0\n",
    );
    let now = now.unwrap();
    assert_eq!(now.total, Bytes::new(24_684_092 << 10));
    assert_eq!(now.available, Some(Bytes::new(23_971_452 << 10)));
    assert_eq!((now.swap_total - now.swap_free).get(), 72 << 10);
    assert_eq!(now.cached + now.reclaimable, Bytes::new((2_745_988 + 215_576) << 10));
    let rhel = memory(b"MemTotal:  1153596 kB\nMemFree:  7824 kB\nBuffers: 8692 kB\n").unwrap();
    assert_eq!((rhel.available, rhel.reclaimable), (None, Bytes::ZERO));
}

#[test]
fn pages_loads_and_uptime() {
    let pages = vmstat(b"nr_free 1\npgpgin 29249617\npgpgout 87044540\npswpin 3\npswpout 4\n");
    let pages = pages.unwrap();
    assert_eq!((pages.in_kib, pages.out_kib), (29_249_617, 87_044_540));
    assert_eq!((pages.swap_in_pages, pages.swap_out_pages), (3, 4));
    // A kernel without swap.
    assert_eq!(vmstat(b"pgpgin 1\npgpgout 2\n").unwrap().swap_in_pages, 0);
    assert_eq!(load(b"1.13 1.73 2.19 2/93 23235\n"), Some([1.13, 1.73, 2.19]));
    assert_eq!(uptime(b"16993.28 12545.13\n"), Some(16_993.28));
}

#[test]
fn disks_of_several_kernels() {
    let all = disks(
        b"   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n \
          254       0 vda 1123109 58925 58064162 3259145 134973 206251 174048096 3868622 0 298392 \
          7184256 141243 51 142310520 56296 2171 191\n   8    1 sda1 10 20 30 40\n   8    0 sda \
          446216 784926 9550688 4382310 424847 312726 5922052 19310380 0 3376340 23705160\n\
          cciss is no line of it\n 8 2 sda2 1 2 3\n",
    );
    let names: Vec<&str> = all.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["loop0", "vda", "sda1", "sda"]);
    let vda = &all[1];
    assert_eq!((vda.reads, vda.read_sectors, vda.read_ms), (1_123_109, 58_064_162, 3_259_145));
    assert_eq!((vda.writes, vda.written_sectors, vda.write_ms), (134_973, 174_048_096, 3_868_622));
    assert_eq!((vda.busy_ms, vda.queued_ms), (298_392, 7_184_256));
    // A partition before Linux 2.6.25 has no times.
    let part = &all[2];
    assert_eq!((part.reads, part.read_sectors), (10, 20));
    assert_eq!((part.writes, part.written_sectors, part.busy_ms), (30, 40, 0));
    assert_eq!((all[3].writes, all[3].queued_ms), (424_847, 23_705_160));
}

#[test]
fn a_process_may_have_any_name() {
    let rest = "S 1 2 3 4 -1 4194304 102 0 0 0 150 25 9 9 20 0 7 0 1699328 3133440 384 18446744";
    for name in ["cat", "a b", "tricky) R 1 (2", "a\nb", "", "((", "Web Content"] {
        let line = format!("4711 ({name}) {rest}\n");
        let process = process(line.as_bytes()).unwrap();
        assert_eq!((process.pid, process.name.as_str()), (4_711, name));
        assert_eq!((process.state, process.ticks, process.threads), ('S', 175, 7));
        assert_eq!((process.started, process.virtual_bytes.get()), (1_699_328, 3_133_440));
    }
    let odd = process(&[b"1 (\xff\xfe) ", rest.as_bytes()].concat()).unwrap();
    assert_eq!(odd.name, "\u{fffd}\u{fffd}");
}

#[test]
fn memory_and_disks_of_a_process() {
    let found = status(b"Name:\thead\nVmSize:\t    2928 kB\nVmRSS:\t    1680 kB\nThreads:\t3\n");
    assert_eq!(found.resident, Some(Bytes::new(1_680 << 10)));
    assert_eq!((found.virtual_bytes, found.threads), (Some(Bytes::new(2_928 << 10)), Some(3)));
    // A thread of the kernel.
    assert_eq!(status(b"Name:\tkthreadd\nThreads:\t1\n").resident, None);
    let moved = io(b"rchar: 7279\nsyscr: 12\nread_bytes: 4096\nwrite_bytes: 8192\n").unwrap();
    assert_eq!((moved.read, moved.written), (4_096, 8_192));
}

#[test]
fn ticks_and_pages_come_from_the_kernel() {
    let pairs: Vec<u8> = [(33, 1), (6, 65_536), (17, 100), (0, 0)]
        .iter()
        .flat_map(|(kind, value): &(usize, usize)| [kind.to_ne_bytes(), value.to_ne_bytes()])
        .flatten()
        .collect();
    assert_eq!(scale(&pairs), Scale { ticks: 100, page: 65_536 });
    assert_eq!(scale(&[]), Scale::default());
    assert_eq!(scale(&pairs[..20]), Scale::default());
    let zeros = [17_usize.to_ne_bytes(), 0_usize.to_ne_bytes()].concat();
    assert_eq!(scale(&zeros), Scale::default());
}

/// Runs all readers.
fn read_all(text: &[u8]) {
    let _ = (stat(text), memory(text), vmstat(text), load(text), uptime(text));
    let _ = (disks(text), process(text), status(text), io(text), scale(text));
}

proptest! {
    #[test]
    fn no_bytes_do_harm(text in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all(&text);
    }

    #[test]
    fn no_text_of_the_kind_does_harm(
        lines in prop::collection::vec(
            ("(cpu[0-9]{0,11}|intr|ctxt|MemTotal:|VmRSS:|pgpgin|8 0 sda|1 \\(a\\) S)",
             prop::collection::vec("([0-9]{1,21}|-|x|\\)|\\(| kB)", 0..20)),
            0..20,
        ),
    ) {
        let lines: Vec<String> =
            lines.iter().map(|(name, words)| format!("{name} {}", words.join(" "))).collect();
        read_all(lines.join("\n").as_bytes());
    }

    #[test]
    fn what_is_written_is_read(times in prop::array::uniform8(0..u64::MAX / 16), name in "[^\0]{0,15}") {
        let words = times.map(|time| time.to_string()).join(" ");
        let read = stat(format!("cpu  {words} 0 0\n").as_bytes()).unwrap();
        prop_assert_eq!(read.all, times);
        let line = format!("7 ({name}) R {} 9\n", ["1"; 20].join(" "));
        prop_assert_eq!(process(line.as_bytes()).unwrap().name, name);
    }
}
