//! Local times, formatted by strftime(3).

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use windlass_base::Timestamp;

/// Maximum bytes of a formatted time: more than a path may have.
const MOST: usize = 8_192;

/// Formats a time by strftime(3), in the time zone of this process (`TZ`, or the system's).
///
/// # Errors
/// Fails if the format has a zero byte or makes more than 8,191 bytes, or C cannot count the year.
pub fn formatted(format: &OsStr, time: Timestamp) -> io::Result<OsString> {
    // strftime returns 0 both for an empty text and for lack of room. With this dot no text is
    // empty.
    let format = [format.as_bytes(), b"."].concat();
    let format = CString::new(format).map_err(|_| io::ErrorKind::InvalidInput)?;
    let seconds: i64 = time.as_nanos().div_euclid(1_000_000_000);
    let mut parts = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both are there; the function keeps neither. All zeros is a valid `tm`.
    let known = unsafe { libc::localtime_r(&raw const seconds, parts.as_mut_ptr()) };
    if known.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut text = vec![0_u8; MOST];
    // SAFETY: so many bytes are there to write into, the format ends with a zero
    // byte, and the parts have been filled in.
    let written = unsafe {
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), parts.as_ptr())
    };
    if written == 0 {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    text.truncate(written - 1);
    Ok(OsString::from_vec(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn it_says_what_date_says() {
        for seconds in [0_i64, 1_000_000_000, 1_785_542_399, -86_401] {
            let time = Timestamp::from_nanos(seconds * 1_000_000_000 + 999_999_999);
            let format = "%Y-%m-%d_%H:%M:%S_%j_%s_%%";
            let at = format!("@{seconds}");
            let date = Command::new("date").args(["-d", &at, &format!("+{format}")]).output();
            let date = String::from_utf8(date.unwrap().stdout).unwrap();
            let ours = formatted(OsStr::new(format), time).unwrap();
            assert_eq!(ours.to_str().unwrap(), date.trim_end());
        }
    }

    #[test]
    fn what_has_no_room_is_refused_and_what_is_empty_is_not() {
        let time = Timestamp::ZERO;
        assert_eq!(formatted(OsStr::new(""), time).unwrap(), "");
        assert_eq!(formatted(OsStr::new("plain"), time).unwrap(), "plain");
        assert!(formatted(OsStr::new(&"%c".repeat(1_000)), time).is_err());
        assert!(formatted(OsStr::new("a\0b"), time).is_err());
    }
}
