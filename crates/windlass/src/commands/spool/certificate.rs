//! `windlass spool certificate`: a self-signed certificate.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_output::{Output, Page, Record};
use windlass_spool::{MAX_DAYS, SelfSignedCertificate, SelfSignedError};

use crate::commands::print::whole_host_name;
use crate::commands::unwritten;

/// The arguments of `windlass spool certificate`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool certificate --name print.example.org --name 192.0.2.7
                                           write certificate.pem and key.pem in this folder
  windlass spool serve --printer office=socket://192.0.2.9 --tls 0.0.0.0:8632 \\
      --certificate certificate.pem --key key.pem
                                           run a server with them
  lp -E -h print.example.org:8632 -d office FILE
                                           print over TLS")]
pub struct CertificateArgs {
    /// Name or address of the server, as its clients use it.
    #[arg(long, short_alias = 'n', value_name = "NAME")]
    #[arg(help = "Name or address of the server, as its clients use it; may be given again \
                [default: the name of this host, localhost, 127.0.0.1 and ::1]")]
    pub name: Vec<String>,

    /// File for the certificate
    #[arg(long, value_name = "FILE", default_value = "certificate.pem")]
    pub certificate: PathBuf,

    /// File for the private key; only its owner may read it
    #[arg(long, value_name = "FILE", default_value = "key.pem")]
    pub key: PathBuf,

    /// Number of days for which the certificate is valid
    #[arg(long, value_name = "N", default_value_t = 3_650)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DAYS)))]
    pub days: u32,

    /// Overwrite existing files
    #[arg(long)]
    pub replace: bool,
}

/// The certificate and key that were made.
#[derive(Debug, Serialize)]
struct CertificateReport {
    schema: Schema,
    certificate: PathBuf,
    key: PathBuf,
    names: Vec<String>,
    /// The SHA-256 of the certificate.
    fingerprint: String,
    /// The last day of its validity.
    until: String,
}

/// Runs the command.
pub(super) fn run(args: &CertificateArgs, output: &mut Output) -> anyhow::Result<()> {
    let names = if args.name.is_empty() { usual_names() } else { args.name.clone() };
    let failed = |error: SelfSignedError| {
        let exists = matches!(&error, SelfSignedError::Written { source, .. }
            if source.kind() == std::io::ErrorKind::AlreadyExists);
        let failure = Failure::new("cannot make a certificate", &error);
        match (&error, exists) {
            (_, true) => failure.advise("Overwrite the file with --replace, or give another file."),
            (SelfSignedError::Made(_), _) => {
                failure.advise("Give names in ASCII letters, or addresses, with --name.")
            }
            _ => failure,
        }
    };
    let made = SelfSignedCertificate::new(&names, args.days, SystemTime::now()).map_err(failed)?;
    made.write(&args.certificate, &args.key, args.replace).map_err(failed)?;
    let report = CertificateReport {
        schema: Schema { name: "windlass.spool-certificate", version: 1 },
        certificate: args.certificate.clone(),
        key: args.key.clone(),
        names,
        fingerprint: made.fingerprint.to_string(),
        until: made.until,
    };
    output.print(&report).map_err(unwritten)
}

/// Returns the names of this host.
fn usual_names() -> Vec<String> {
    let host = whole_host_name();
    let own = (!host.is_empty() && host != "localhost").then_some(host);
    own.into_iter().chain(["localhost", "127.0.0.1", "::1"].map(str::to_owned)).collect()
}

impl Record for CertificateReport {
    fn text(&self, page: &mut Page) {
        page.line(format!(
            "certificate in {}, key in {}",
            self.certificate.display(),
            self.key.display()
        ));
        page.line(format!("for {}; valid until {}", self.names.join(", "), self.until));
        page.line(self.fingerprint.as_str());
    }
}
