//! Actions of the page's buttons: a form becomes an IPP request, and is answered by the
//! same rules as any client's.

use windlass_wire::escape;
use windlass_wire::ipp::{CharKind, Message, Operation, Value, Version};

/// An action, and its job or printer.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Deed {
    operation: Operation,
    of: DeedTarget,
    /// The token that the page had.
    pub(in super::super) token: String,
}

#[derive(Debug, PartialEq, Eq)]
enum DeedTarget {
    Job(u32),
    Printer(String),
}

/// The actions: name, operation, and true for actions on jobs.
pub(super) const DEEDS: [(&str, Operation, bool); 5] = [
    ("hold", Operation::HOLD_JOB, true),
    ("release", Operation::RELEASE_JOB, true),
    ("cancel", Operation::CANCEL_JOB, true),
    ("stop", Operation::PAUSE_PRINTER, false),
    ("start", Operation::RESUME_PRINTER, false),
];

impl Deed {
    /// Reads a form (`application/x-www-form-urlencoded`); returns `None` for a form of another
    /// page.
    pub(in super::super) fn read(form: &[u8]) -> Option<Self> {
        let form = std::str::from_utf8(form).ok()?;
        let field = |name: &str| {
            let value =
                form.split('&').find_map(|one| one.strip_prefix(name)?.strip_prefix('='))?;
            Some(escape::undone(&value.replace('+', " ")))
        };
        let (word, of) = (field("deed")?, field("of")?);
        let (_, operation, is_of_job) = DEEDS.iter().find(|(one, ..)| *one == word)?;
        let of =
            if *is_of_job { DeedTarget::Job(of.parse().ok()?) } else { DeedTarget::Printer(of) };
        Some(Self { operation: *operation, of, token: field("token")? })
    }

    /// Returns the action as a request to this server.
    pub(in super::super) fn request(&self, authority: &str) -> Message {
        let mut request = Message::request(Version(2, 0), self.operation, 1);
        let uri = |uri: String| Value::chars(CharKind::Uri, uri);
        match &self.of {
            DeedTarget::Job(job) => {
                request.add("job-uri", uri(format!("ipp://{authority}/jobs/{job}")));
            }
            DeedTarget::Printer(name) => {
                let name = escape::segment(name);
                request.add("printer-uri", uri(format!("ipp://{authority}/printers/{name}")));
            }
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_a_deed() {
        let deed = Deed::read(b"deed=stop&of=a%20b%2Fc&token=x").expect("a deed");
        assert_eq!(
            (&deed.of, deed.token.as_str()),
            (&DeedTarget::Printer("a b/c".to_owned()), "x")
        );
        assert_eq!(
            deed.request("h:1")
                .text(windlass_wire::ipp::GroupTag::OPERATION, "printer-uri")
                .as_deref(),
            Some("ipp://h:1/printers/a%20b%2Fc")
        );
        let deed = Deed::read(b"token=x&of=7&deed=cancel").expect("a deed");
        assert_eq!((deed.operation, deed.of), (Operation::CANCEL_JOB, DeedTarget::Job(7)));
        for form in [
            "",
            "deed=stop",
            "deed=shut&of=a&token=x",
            "deed=hold&of=a&token=x",
            "deed=hold&of=1",
            "\u{ff}",
        ] {
            assert_eq!(Deed::read(form.as_bytes()), None, "{form}");
        }
    }
}
