use std::fs;

use tempfile::TempDir;

use super::*;

/// Returns files that are not captures.
fn files(count: usize) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let name = |place: usize| folder.path().join(format!("{place}.pcap"));
    let files: Vec<PathBuf> = (0..count).map(name).collect();
    for (place, file) in files.iter().enumerate() {
        // Every third file is missing.
        if place % 3 > 0 {
            fs::write(file, format!("no capture {place}")).unwrap();
        }
    }
    (folder, files)
}

#[test]
fn each_file_is_told_in_its_turn() {
    let (_folder, files) = files(200);
    for at_once in [0, 1, 2, 7, 300] {
        let job = Job { files: &files, at_once, ..Job::default() };
        let mut rows = 0;
        let mut far = Vec::new();
        let on_progress = |progress: Progress| far.push(progress.files);
        let summary = explain_all(&job, &Arc::default(), on_progress, |table, batch| {
            assert_eq!(table, Table::Captures);
            rows += batch.num_rows();
            Ok(())
        });
        let summary = summary.unwrap();
        assert_eq!((summary.failed, summary.explained, rows), (200, 0, 200));
        let problems: Vec<String> = summary.problems.into_iter().map(|one| one.file).collect();
        let first: Vec<String> =
            files[..MAX_PROBLEMS].iter().map(|file| file.display().to_string()).collect();
        assert_eq!(problems, first);
        assert!(far.is_sorted() && far.last() == Some(&199), "{far:?}");
    }
}

#[test]
fn no_files_are_no_rows() {
    let summary = explain_all(&Job::default(), &Arc::default(), |_| {}, |_, _| Ok(())).unwrap();
    assert_eq!(summary, Summary::default());
}

#[test]
fn what_is_no_file_is_told_as_its_owner_does() {
    let mut rows = 0;
    let explain = |place: usize, read: &mut dyn FnMut(u64), tell: &mut PieceReceiver<'_>| {
        read(1);
        let file = format!("s3://captures/{place}");
        let error = Some("it is gone".to_owned());
        tell(Piece::Row(Box::new(CaptureRow { file, error, ..CaptureRow::default() })))
    };
    let all = CaptureSet { count: 20, at_once: 3, ..CaptureSet::default() };
    let mut bytes = 0;
    let on_progress = |progress: Progress| bytes = progress.bytes;
    let summary = explain_each(all, &Arc::default(), explain, on_progress, |_, batch| {
        rows += batch.num_rows();
        Ok(())
    });
    let summary = summary.unwrap();
    assert_eq!((summary.failed, rows), (20, 20));
    let names: Vec<&str> = summary.problems.iter().map(|one| one.file.as_str()).collect();
    assert_eq!(names[..2], ["s3://captures/0", "s3://captures/1"]);
    assert!(bytes > 0 && bytes <= 20, "{bytes}");
}

#[test]
fn what_is_stopped_ends() {
    let (_folder, files) = files(200);
    let job = Job { files: &files, at_once: 3, ..Job::default() };
    let stop = Arc::new(AtomicBool::new(false));
    let on_progress = |progress: Progress| {
        if progress.files == 20 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let ended = explain_all(&job, &stop, on_progress, |_, _| Ok(()));
    // Files read before the stop may be reported, and no others.
    assert!(matches!(ended, Err(ExplainError::Stopped)), "{ended:?}");
}

#[test]
fn a_disk_that_is_full_ends_it() {
    let (_folder, files) = files(20);
    let job = Job { files: &files, at_once: 3, ..Job::default() };
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    let ended = explain_all(&job, &Arc::default(), |_| {}, |_, _| Err(full()));
    let Err(ExplainError::Failed(table, error)) = ended else { panic!("{ended:?}") };
    assert_eq!((table, error.kind()), (Some(Table::Captures), io::ErrorKind::StorageFull));
}
