//! Hash of a file's content.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// Size of a read: it stays in the processor's cache until it is hashed.
const BLOCK: usize = 64 << 10;

/// Returns the SHA-256 of a file, as `sha256sum` writes it; `None` if `stop` was set meanwhile.
pub(crate) fn of_file(path: &Path, stop: &AtomicBool) -> io::Result<Option<Arc<str>>> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match file.read(&mut block) {
            Ok(0) => return Ok(Some(HEXLOWER.encode(&hash.finalize()).into())),
            Ok(count) => hash.update(&block[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_is_known_by_what_sha256sum_writes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let of = |file: &tempfile::NamedTempFile| of_file(file.path(), &AtomicBool::new(false));
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(&file).unwrap().as_deref(), Some(empty));
        file.write_all(b"abc").unwrap();
        // FIPS 180-4's example.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of(&file).unwrap().as_deref(), Some(abc));
        assert_eq!(of_file(file.path(), &AtomicBool::new(true)).unwrap(), None);
        assert!(of_file(Path::new("/no/such/file"), &AtomicBool::new(false)).is_err());
    }
}
