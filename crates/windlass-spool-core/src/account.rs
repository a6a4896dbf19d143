//! Accounting records of finished jobs, and page log lines in the format of CUPS (`PageLogFormat`
//! of cupsd.conf(5)).

use std::borrow::Cow;

use windlass_wire::ipp::{Attribute, Value};
use windlass_wire::pages::Pages;

use crate::attempt::Attempt;
use crate::job::{Ending, Job, JobId, Ticket};
use crate::moment::Moment;
use crate::quota::charged_sides;
use crate::template::template;

/// Accounting record of a finished job.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Sequence number of the job's ending since the spool was created; the first is 1.
    pub ending: u64,
    /// Number of the job.
    pub job: JobId,
    /// Printer of the job.
    pub printer: String,
    /// Attributes that the client gave.
    pub ticket: Ticket,
    /// Ending of the job.
    pub how: Ending,
    /// Time of the job's arrival.
    pub created: Moment,
    /// Time at which a printer first began the job.
    pub began: Option<Moment>,
    /// Time of the job's end.
    pub ended: Moment,
    /// Size of the job's documents in bytes.
    pub bytes: u64,
    /// Number of documents.
    pub documents: u16,
    /// Pages of the documents; `None` if they were not scanned. Documents that reached no printer
    /// are not scanned.
    pub pages: Option<Pages>,
    /// Number of copies.
    pub copies: u32,
    /// Number of delivery attempts.
    pub attempts: u32,
    /// Timing of the last attempt.
    pub last_attempt: Option<Box<Attempt>>,
    /// Reason of the last failure.
    pub failure: Option<Box<str>>,
    /// Bytes that devices may have printed in attempts that broke off.
    pub broken_off: u64,
    /// Sides that the device reports as printed, if it reports them.
    pub printed: Option<u64>,
}

impl Account {
    /// Builds the record of a finished job; returns `None` for any other job.
    pub(crate) fn of<D>(job: Job<D>, printer: &str) -> Option<Self> {
        let crate::job::Phase::Over { how, at } = job.phase else { return None };
        Some(Self {
            ending: job.ending,
            job: job.id,
            printer: printer.to_owned(),
            how,
            created: job.created,
            began: job.began,
            ended: at,
            bytes: job.size,
            documents: job.count,
            pages: job.pages,
            copies: u32::from(job.ticket.copies.max(1)),
            ticket: job.ticket,
            attempts: job.attempts,
            last_attempt: job.last_attempt,
            failure: job.failure,
            broken_off: job.broken_off,
            printed: job.printed,
        })
    }

    /// Returns the sides that the printer was given, with all copies. A job that no printer began
    /// has 0. The number is unknown (`None`) for a job that was canceled, for example.
    pub fn impressions(&self) -> Option<u64> {
        match (self.how, self.began) {
            (_, Some(_)) if self.printed.is_some() => self.printed,
            (Ending::Completed, _) => {
                let pages = self.pages.and_then(Pages::known)?;
                Some(pages.saturating_mul(u64::from(self.copies)))
            }
            (_, None) => Some(0),
            (_, Some(_)) => None,
        }
    }

    /// Returns the sides that count against a quota. A canceled job counts whole: nobody knows how
    /// much was printed, and a user who cancels at the last page has the others.
    ///
    /// A job that its printer never began counts nothing, and neither does an aborted one. Pages
    /// that cannot be counted are estimated from the bytes.
    pub fn charged(&self) -> u64 {
        let is_charged =
            matches!(self.how, Ending::Completed | Ending::Canceled) && self.began.is_some();
        let sides = || charged_sides(self.pages, self.bytes, self.copies);
        if is_charged { self.printed.unwrap_or_else(sides) } else { 0 }
    }

    /// Returns an IPP attribute as CUPS writes it to its page log; `-` if the job lacks it.
    fn attribute(&self, name: &str, template: &[Attribute]) -> Cow<'_, str> {
        let number = |number: u64| Cow::from(number.to_string());
        let seconds = |moment: Moment| Cow::from(moment.seconds().to_string());
        let none = || Cow::from("-");
        match name {
            "job-id" => number(self.job.into()),
            "job-name" => Cow::from(&*self.ticket.name),
            "job-originating-host-name" => Cow::from(&*self.ticket.host),
            "job-originating-user-name" => Cow::from(&*self.ticket.user),
            "job-printer-name" => Cow::from(&self.printer),
            "job-priority" => Cow::from(self.ticket.priority.to_string()),
            "job-k-octets" => number(self.bytes.div_ceil(1_024)),
            "document-format" => Cow::from(&*self.ticket.format),
            "number-of-documents" => number(self.documents.into()),
            "copies" => number(self.copies.into()),
            "job-state" => Cow::from(self.how.keyword()),
            "job-impressions" => self.pages.and_then(Pages::known).map_or_else(none, number),
            "job-impressions-completed" => self.impressions().map_or_else(none, number),
            "time-at-creation" => seconds(self.created),
            "time-at-processing" => self.began.map_or_else(none, seconds),
            "time-at-completed" => seconds(self.ended),
            _ => {
                let found = template.iter().find(|one| one.name == name);
                let values = found.map(|one| one.values.iter().map(in_words).collect::<Vec<_>>());
                let values = values.filter(|values| !values.is_empty());
                values.map_or_else(none, |all| Cow::from(all.join(",")))
            }
        }
    }
}

/// Formats a value as CUPS does: anything but numbers and text is `???`.
fn in_words(value: &Value) -> String {
    match value {
        Value::Integer(number) | Value::Enum(number) => number.to_string(),
        Value::Boolean(is_true) => i32::from(*is_true).to_string(),
        value => value.text().map_or_else(|| "???".to_owned(), |text| text.to_string()),
    }
}

impl Ending {
    /// Returns the IPP keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Canceled => "canceled",
            Self::Aborted => "aborted",
        }
    }
}

/// Format of a page log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLogFormat(Vec<FormatPart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FormatPart {
    Words(String),
    Printer,
    User,
    Job,
    Time,
    Page,
    Copies,
    Attribute(String),
}

/// Error of a page log format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// An unknown sequence.
    #[error("%{0} is unknown: use %p, %u, %j, %T, %P, %C, %{{ATTRIBUTE}} or %%")]
    Sequence(char),
    /// The format ends within a sequence.
    #[error("it ends within a sequence: write a percent sign as %%")]
    Ends,
    /// The format has a control character, which would break the line.
    #[error("it has a control character, which would break a line of the log")]
    Control,
}

impl PageLogFormat {
    /// Format that CUPS's manual recommends and that page log parsers expect.
    pub const USUAL: &'static str = "%p %u %j %T %P %C %{job-billing} \
                                     %{job-originating-host-name} %{job-name} %{media} %{sides}";

    /// Parses a format.
    ///
    /// # Errors
    /// Returns an error if the format has an unknown sequence or a control character, or ends too
    /// soon.
    pub fn new(text: &str) -> Result<Self, FormatError> {
        let (mut parts, mut words) = (Vec::new(), String::new());
        let mut rest = text.chars();
        while let Some(one) = rest.next() {
            if one.is_control() {
                return Err(FormatError::Control);
            }
            if one != '%' {
                words.push(one);
                continue;
            }
            let part = match rest.next().ok_or(FormatError::Ends)? {
                '%' => {
                    words.push('%');
                    continue;
                }
                'p' => FormatPart::Printer,
                'u' => FormatPart::User,
                'j' => FormatPart::Job,
                'T' => FormatPart::Time,
                'P' => FormatPart::Page,
                'C' => FormatPart::Copies,
                '{' => {
                    let (name, after) = rest.as_str().split_once('}').ok_or(FormatError::Ends)?;
                    let name = name.to_owned();
                    rest = after.chars();
                    FormatPart::Attribute(name)
                }
                other => return Err(FormatError::Sequence(other)),
            };
            if !words.is_empty() {
                parts.push(FormatPart::Words(std::mem::take(&mut words)));
            }
            parts.push(part);
        }
        if !words.is_empty() {
            parts.push(FormatPart::Words(words));
        }
        Ok(Self(parts))
    }

    /// Appends the line of a job, with its line end. The pages come as one line, as CUPS writes
    /// them for jobs whose filters report no single pages. It has the word `total` and the number,
    /// or `-` if that is unknown. `time` is the end of the job, in the common log format.
    pub fn line(&self, account: &Account, time: &str, to: &mut Vec<u8>) {
        let template = template(&account.ticket.template);
        let mut put = |words: &str| {
            if words.bytes().all(|one| matches!(one, b' '..=b'~')) {
                to.extend_from_slice(words.as_bytes());
                return;
            }
            // One line is one job: text from clients must not end the line.
            let plain = |one: char| if one.is_control() { ' ' } else { one };
            to.extend_from_slice(words.chars().map(plain).collect::<String>().as_bytes());
        };
        for part in &self.0 {
            match part {
                FormatPart::Words(words) => put(words),
                FormatPart::Printer => put(&account.printer),
                FormatPart::User => put(&account.ticket.user),
                FormatPart::Job => put(&account.job.to_string()),
                FormatPart::Time => put(time),
                FormatPart::Page => put("total"),
                FormatPart::Copies => match account.impressions() {
                    Some(number) => put(&number.to_string()),
                    None => put("-"),
                },
                FormatPart::Attribute(name) => put(&account.attribute(name, &template)),
            }
        }
        to.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        let mut ticket = Ticket::new("report\nforged 1", "ann", "192.0.2.1");
        let attributes = vec![
            Attribute::new("media", Value::keyword("iso_a4_210x297mm")),
            Attribute::new("job-billing", Value::keyword("lab 7")),
        ];
        ticket.template = crate::template::packed(attributes).expect("it is short");
        Account {
            ending: 1,
            job: 7,
            printer: "office".to_owned(),
            ticket,
            how: Ending::Completed,
            created: Moment(1_000),
            began: Some(Moment(2_000)),
            ended: Moment(3_000),
            bytes: 2_000,
            documents: 1,
            pages: Some(Pages::Counted(4)),
            copies: 3,
            attempts: 1,
            last_attempt: None,
            failure: None,
            broken_off: 0,
            printed: None,
        }
    }

    fn text(format: &PageLogFormat, account: &Account, time: &str) -> String {
        let mut line = Vec::new();
        format.line(account, time, &mut line);
        String::from_utf8(line).expect("it is text")
    }

    #[test]
    fn a_line_is_as_cups_writes_it() {
        let format = PageLogFormat::new(PageLogFormat::USUAL).expect("it is usual");
        assert_eq!(
            text(&format, &account(), "[26/Nov/2026:04:34:21 +0000]"),
            "office ann 7 [26/Nov/2026:04:34:21 +0000] total 12 lab 7 192.0.2.1 report forged 1 \
             iso_a4_210x297mm -\n"
        );
        let mut other = account();
        other.ticket.user = "zoë\u{85}\u{7f}".into();
        assert_eq!(text(&PageLogFormat::new("%u|").expect("fine"), &other, ""), "zoë  |\n");
        let format = PageLogFormat::new("100%% %{job-impressions} %{job-k-octets}x").expect("fine");
        assert_eq!(text(&format, &account(), ""), "100% 4 2x\n");
    }

    #[test]
    fn what_is_not_known_is_not_a_number() {
        let format = PageLogFormat::new("%C").expect("it is one");
        let line = |change: fn(&mut Account)| {
            let mut account = account();
            change(&mut account);
            (text(&format, &account, ""), account.charged())
        };
        let unknown = Pages::Unknown(windlass_wire::pages::UnknownReason::Format);
        assert_eq!(line(|_| ()), ("12\n".to_owned(), 12));
        let mut no_pages = account();
        no_pages.pages = Some(unknown);
        assert_eq!((text(&format, &no_pages, ""), no_pages.charged()), ("-\n".to_owned(), 3));
        no_pages.bytes = 10_001;
        assert_eq!(no_pages.charged(), 9, "three pages' bytes, three times");
        assert_eq!(line(|one| one.how = Ending::Canceled), ("-\n".to_owned(), 12));
        assert_eq!(line(|one| one.how = Ending::Aborted), ("-\n".to_owned(), 0));
        let never = |one: &mut Account| {
            one.how = Ending::Canceled;
            one.began = None;
        };
        assert_eq!(line(never), ("0\n".to_owned(), 0));
    }

    #[test]
    fn a_format_with_other_sequences_is_refused() {
        assert_eq!(PageLogFormat::new("%x"), Err(FormatError::Sequence('x')));
        assert_eq!(PageLogFormat::new("100%"), Err(FormatError::Ends));
        assert_eq!(PageLogFormat::new("%{media"), Err(FormatError::Ends));
        assert_eq!(PageLogFormat::new("%p\n%u"), Err(FormatError::Control));
    }
}
