//! `windlass spool certificate`: a certificate that vouches for itself.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_output::{Output, Page, Record};
use windlass_spool::{MAX_DAYS, SelfSigned, SelfSignedError};

use crate::commands::print::whole_host_name;
use crate::commands::unwritten;

/// The arguments of `windlass spool certificate`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool certificate --name print.example.org --name 192.0.2.7
                                           certificate.pem and key.pem in this folder
  windlass spool serve --printer office=socket://192.0.2.9 --tls 0.0.0.0:8632 \\
      --certificate certificate.pem --key key.pem
                                           a server with them
  lp -E -h print.example.org:8632 -d office FILE
                                           prints there, encrypted")]
pub struct CertificateArgs {
    /// A name or an address by which clients call the server.
    #[arg(long, short = 'n', value_name = "NAME")]
    #[arg(help = "A name or an address by which clients call the server; may be given again \
                [default: the name of this host, localhost, 127.0.0.1 and ::1]")]
    pub name: Vec<String>,

    /// Where the certificate is written
    #[arg(long, value_name = "FILE", default_value = "certificate.pem")]
    pub certificate: PathBuf,

    /// Where the key is written; only its owner may read it
    #[arg(long, value_name = "FILE", default_value = "key.pem")]
    pub key: PathBuf,

    /// For how many days it holds
    #[arg(long, value_name = "N", default_value_t = 3_650)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DAYS)))]
    pub days: u32,

    /// Replace what is there
    #[arg(long)]
    pub replace: bool,
}

/// What was made.
#[derive(Debug, Serialize)]
struct CertificateReport {
    schema: Schema,
    certificate: PathBuf,
    key: PathBuf,
    names: Vec<String>,
    /// The SHA-256 of the certificate.
    fingerprint: String,
    /// The last day on which it holds.
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
            (_, true) => failure.advise("Replace it with --replace, or give another file."),
            (SelfSignedError::Made(_), _) => {
                failure.advise("Names have letters of ASCII; give addresses and names with --name.")
            }
            _ => failure,
        }
    };
    let made = SelfSigned::new(&names, args.days, SystemTime::now()).map_err(failed)?;
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

/// By what this host is called.
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
        page.line(format!("for {}, up to {}", self.names.join(", "), self.until));
        page.line(self.fingerprint.as_str());
    }
}
