//! Self-signed certificates, for a TLS server without a certificate authority.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use windlass_print::Fingerprint;

/// Time by which the validity begins before the creation: clocks differ.
const EARLIER: Duration = Duration::from_secs(24 * 3_600);

/// Maximum validity in days: a certificate without an end is never checked again.
pub const MAX_DAYS: u32 = 36_500;

/// A self-signed certificate and its key, in PEM.
#[derive(Clone)]
pub struct SelfSignedCertificate {
    /// Certificate in PEM.
    pub certificate: String,
    /// Key in PEM.
    key: String,
    /// Fingerprint of the certificate.
    pub fingerprint: Fingerprint,
    /// Last day of the validity, as 2035-11-26.
    pub until: String,
}

impl std::fmt::Debug for SelfSignedCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SelfSignedCertificate")
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// Errors of creating a certificate.
#[derive(Debug, thiserror::Error)]
pub enum SelfSignedError {
    /// The certificate cannot be created, mostly because of an invalid name.
    #[error("{0}")]
    Made(String),
    /// A file cannot be written.
    #[error("{}: {source}", path.display())]
    Written {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Returns the year, month, day and date in UTC.
fn day(at: SystemTime) -> Option<(i32, u8, u8, String)> {
    let seconds = at.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let at = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    let date = at.to_zoned(TimeZone::UTC).date();
    let part = |number: i8| u8::try_from(number).ok();
    Some((i32::from(date.year()), part(date.month())?, part(date.day())?, date.to_string()))
}

impl SelfSignedCertificate {
    /// Creates a certificate for these names and addresses, valid for `days` days from now on.
    ///
    /// # Errors
    /// A name is invalid, or there are no names.
    pub fn new(names: &[String], days: u32, now: SystemTime) -> Result<Self, SelfSignedError> {
        let no = |error: rcgen::Error| SelfSignedError::Made(error.to_string());
        let none = || SelfSignedError::Made("the clock is wrong".to_owned());
        let Some(first) = names.first() else {
            return Err(SelfSignedError::Made("no name is given".to_owned()));
        };
        let mut params = CertificateParams::new(names.to_vec()).map_err(no)?;
        params.distinguished_name.push(DnType::CommonName, first.as_str());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let lifetime = Duration::from_secs(u64::from(days.min(MAX_DAYS)) * 24 * 3_600);
        let (year, month, of_month, _) = now.checked_sub(EARLIER).and_then(day).ok_or_else(none)?;
        params.not_before = date_time_ymd(year, month, of_month);
        let (year, month, of_month, until) =
            now.checked_add(lifetime).and_then(day).ok_or_else(none)?;
        params.not_after = date_time_ymd(year, month, of_month);
        let key = KeyPair::generate().map_err(no)?;
        let certificate = params.self_signed(&key).map_err(no)?;
        Ok(Self {
            fingerprint: Fingerprint::of(certificate.der()),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            until,
        })
    }

    /// Writes the certificate and its key, which only its owner may read. Existing files stay,
    /// unless they are to be replaced.
    ///
    /// # Errors
    /// A file exists already, or the system reports an error.
    pub fn write(
        &self,
        certificate: &Path,
        key: &Path,
        replace: bool,
    ) -> Result<(), SelfSignedError> {
        let files = [(key, &self.key, 0o600), (certificate, &self.certificate, 0o644)];
        let no = |path: &Path| {
            let path = path.to_owned();
            move |source| SelfSignedError::Written { path, source }
        };
        if !replace {
            // Writes both files or none.
            for (path, ..) in files {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(no(path)(io::ErrorKind::AlreadyExists.into()));
                }
            }
        }
        for (path, text, mode) in files {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                fs::create_dir_all(folder).map_err(no(folder))?;
            }
            // Creates the file under a temporary name, so that nobody holds it open. The file gets
            // its final name when it is whole.
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{}", std::process::id()));
            let part = PathBuf::from(name);
            let written = || {
                let mut file =
                    OpenOptions::new().write(true).create_new(true).mode(mode).open(&part)?;
                file.write_all(text.as_bytes())?;
                file.sync_all()?;
                fs::rename(&part, path)
            };
            written().map_err(|source| {
                let _ = fs::remove_file(&part);
                no(path)(source)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    use crate::Certificate;

    #[test]
    fn what_is_made_is_taken_by_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("a/cert.pem"), folder.path().join("key.pem"));
        let names = ["print.example.org", "192.0.2.1", "2001:db8::1", "localhost"];
        let names = names.map(str::to_owned);
        let now = UNIX_EPOCH + Duration::from_secs(1_795_651_200);
        let made = SelfSignedCertificate::new(&names, 10, now).unwrap();
        assert_eq!(made.until, "2026-12-06");
        made.write(&certificate, &key, false).unwrap();
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        let read = Certificate::read(&certificate, &key).unwrap();
        assert_eq!(read.fingerprint, made.fingerprint);
        assert!(!read.is_key_open);
        // Existing files stay.
        let error = made.write(&certificate, &key, false).unwrap_err().to_string();
        assert!(error.contains("key.pem"), "{error}");
        let other = SelfSignedCertificate::new(&names, 10, now).unwrap();
        assert_ne!(other.fingerprint, made.fingerprint);
        other.write(&certificate, &key, true).unwrap();
        assert_eq!(Certificate::read(&certificate, &key).unwrap().fingerprint, other.fingerprint);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Certificate::read(&certificate, &key).unwrap().is_key_open);
    }

    #[test]
    fn what_is_no_certificate_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, ours) in [("a", "a.example"), ("b", "b.example")] {
            let made =
                SelfSignedCertificate::new(&[ours.to_owned()], 1, SystemTime::now()).unwrap();
            made.write(&at(&format!("{name}.pem")), &at(&format!("{name}.key")), false).unwrap();
        }
        fs::write(at("empty"), "").unwrap();
        let error = |certificate: &str, key: &str| {
            Certificate::read(&at(certificate), &at(key)).unwrap_err().to_string()
        };
        assert!(error("none", "a.key").contains("a certificate in"));
        assert!(error("empty", "a.key").contains("the file has no PEM certificate"));
        assert!(error("a.pem", "empty").contains("a key in"));
        assert!(error("a.pem", "b.key").contains("and its key"), "{}", error("a.pem", "b.key"));
        assert!(SelfSignedCertificate::new(&[], 1, SystemTime::now()).is_err());
        assert!(SelfSignedCertificate::new(&["é".to_owned()], 1, SystemTime::now()).is_err());
    }
}
