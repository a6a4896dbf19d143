//! What numbers of the protocol are called. In records they are those names.

use serde::{Serialize, Serializer};

/// An operation (RFC 8011, section 5.4.15, and IANA's registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation(pub u16);

/// A status (RFC 8011, appendix B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

impl Operation {
    /// Print-Job.
    pub const PRINT_JOB: Self = Self(0x0002);
    /// Validate-Job.
    pub const VALIDATE_JOB: Self = Self(0x0004);
    /// Create-Job.
    pub const CREATE_JOB: Self = Self(0x0005);
    /// Send-Document.
    pub const SEND_DOCUMENT: Self = Self(0x0006);
    /// Cancel-Job.
    pub const CANCEL_JOB: Self = Self(0x0008);
    /// Get-Job-Attributes.
    pub const GET_JOB_ATTRIBUTES: Self = Self(0x0009);
    /// Get-Jobs.
    pub const GET_JOBS: Self = Self(0x000a);
    /// Get-Printer-Attributes.
    pub const GET_PRINTER_ATTRIBUTES: Self = Self(0x000b);
    /// Hold-Job.
    pub const HOLD_JOB: Self = Self(0x000c);
    /// Release-Job.
    pub const RELEASE_JOB: Self = Self(0x000d);
    /// Restart-Job.
    pub const RESTART_JOB: Self = Self(0x000e);
    /// Pause-Printer.
    pub const PAUSE_PRINTER: Self = Self(0x0010);
    /// Resume-Printer.
    pub const RESUME_PRINTER: Self = Self(0x0011);
    /// Purge-Jobs.
    pub const PURGE_JOBS: Self = Self(0x0012);
    /// Set-Job-Attributes.
    pub const SET_JOB_ATTRIBUTES: Self = Self(0x0014);
    /// Enable-Printer.
    pub const ENABLE_PRINTER: Self = Self(0x0022);
    /// Disable-Printer.
    pub const DISABLE_PRINTER: Self = Self(0x0023);
    /// Cancel-Jobs.
    pub const CANCEL_JOBS: Self = Self(0x0038);
    /// Cancel-My-Jobs.
    pub const CANCEL_MY_JOBS: Self = Self(0x0039);
    /// Close-Job.
    pub const CLOSE_JOB: Self = Self(0x003b);
    /// Identify-Printer.
    pub const IDENTIFY_PRINTER: Self = Self(0x003c);
    /// CUPS-Get-Default: the printer of who names none.
    pub const CUPS_GET_DEFAULT: Self = Self(0x4001);
    /// CUPS-Get-Printers.
    pub const CUPS_GET_PRINTERS: Self = Self(0x4002);
    /// CUPS-Get-Classes.
    pub const CUPS_GET_CLASSES: Self = Self(0x4005);
    /// CUPS-Accept-Jobs.
    pub const CUPS_ACCEPT_JOBS: Self = Self(0x4008);
    /// CUPS-Reject-Jobs.
    pub const CUPS_REJECT_JOBS: Self = Self(0x4009);

    /// Its name, where it has one here.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0x0002 => "Print-Job",
            0x0003 => "Print-URI",
            0x0004 => "Validate-Job",
            0x0005 => "Create-Job",
            0x0006 => "Send-Document",
            0x0007 => "Send-URI",
            0x0008 => "Cancel-Job",
            0x0009 => "Get-Job-Attributes",
            0x000a => "Get-Jobs",
            0x000b => "Get-Printer-Attributes",
            0x000c => "Hold-Job",
            0x000d => "Release-Job",
            0x000e => "Restart-Job",
            0x0010 => "Pause-Printer",
            0x0011 => "Resume-Printer",
            0x0012 => "Purge-Jobs",
            0x0013 => "Set-Printer-Attributes",
            0x0014 => "Set-Job-Attributes",
            0x0015 => "Get-Printer-Supported-Values",
            0x0016 => "Create-Printer-Subscriptions",
            0x0017 => "Create-Job-Subscriptions",
            0x0018 => "Get-Subscription-Attributes",
            0x0019 => "Get-Subscriptions",
            0x001a => "Renew-Subscription",
            0x001b => "Cancel-Subscription",
            0x001c => "Get-Notifications",
            0x0022 => "Enable-Printer",
            0x0023 => "Disable-Printer",
            0x0025 => "Hold-New-Jobs",
            0x0026 => "Release-Held-New-Jobs",
            0x0038 => "Cancel-Jobs",
            0x0039 => "Cancel-My-Jobs",
            0x003b => "Close-Job",
            0x003c => "Identify-Printer",
            0x4001 => "CUPS-Get-Default",
            0x4002 => "CUPS-Get-Printers",
            0x4005 => "CUPS-Get-Classes",
            0x4008 => "CUPS-Accept-Jobs",
            0x4009 => "CUPS-Reject-Jobs",
            _ => return None,
        })
    }
}

impl Status {
    /// All is well.
    pub const OK: Self = Self(0x0000);
    /// The operation is not supported.
    pub const OPERATION_NOT_SUPPORTED: Self = Self(0x0501);
    /// The request or the document is too large. A full spool says so, too.
    pub const ENTITY_TOO_LARGE: Self = Self(0x0408);
    /// Who asks is not known.
    pub const NOT_AUTHENTICATED: Self = Self(0x0402);
    /// There is none of this name.
    pub const NOT_FOUND: Self = Self(0x0406);
    /// Too many jobs.
    pub const TOO_MANY_JOBS: Self = Self(0x050b);
    /// Too many documents of a job.
    pub const TOO_MANY_DOCUMENTS: Self = Self(0x050c);
    /// No jobs are accepted.
    pub const NOT_ACCEPTING: Self = Self(0x0506);
    /// The printer does another job.
    pub const BUSY: Self = Self(0x0507);
    /// The request is none.
    pub const BAD_REQUEST: Self = Self(0x0400);
    /// Who asks may not.
    pub const FORBIDDEN: Self = Self(0x0401);
    /// Who asks may not do that with what is another's.
    pub const NOT_AUTHORIZED: Self = Self(0x0403);
    /// It cannot be done as things are.
    pub const NOT_POSSIBLE: Self = Self(0x0404);
    /// The media type is not taken.
    pub const FORMAT_NOT_SUPPORTED: Self = Self(0x040a);
    /// An attribute or a value is not supported.
    pub const NOT_SUPPORTED: Self = Self(0x040b);
    /// The charset is not supported.
    pub const CHARSET_NOT_SUPPORTED: Self = Self(0x040d);
    /// The compression is not supported.
    pub const COMPRESSION_NOT_SUPPORTED: Self = Self(0x040f);
    /// The document is not compressed as the request says.
    pub const COMPRESSION_ERROR: Self = Self(0x0410);
    /// The attribute cannot be set.
    pub const NOT_SETTABLE: Self = Self(0x0413);
    /// The server has failed.
    pub const INTERNAL_ERROR: Self = Self(0x0500);
    /// The version is not supported.
    pub const VERSION_NOT_SUPPORTED: Self = Self(0x0503);
    /// It cannot be done now, as of a full disk.
    pub const TEMPORARY_ERROR: Self = Self(0x0505);
    /// Attributes were left out that are not known.
    pub const OK_IGNORED: Self = Self(0x0001);

    /// Whether the operation was done.
    #[must_use]
    pub const fn is_successful(self) -> bool {
        self.0 < 0x0100
    }

    /// Its name, where it has one here.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0x0000 => "successful-ok",
            0x0001 => "successful-ok-ignored-or-substituted-attributes",
            0x0002 => "successful-ok-conflicting-attributes",
            0x0003 => "successful-ok-ignored-subscriptions",
            0x0005 => "successful-ok-too-many-events",
            0x0007 => "successful-ok-events-complete",
            0x0400 => "client-error-bad-request",
            0x0401 => "client-error-forbidden",
            0x0402 => "client-error-not-authenticated",
            0x0403 => "client-error-not-authorized",
            0x0404 => "client-error-not-possible",
            0x0405 => "client-error-timeout",
            0x0406 => "client-error-not-found",
            0x0407 => "client-error-gone",
            0x0408 => "client-error-request-entity-too-large",
            0x0409 => "client-error-request-value-too-long",
            0x040a => "client-error-document-format-not-supported",
            0x040b => "client-error-attributes-or-values-not-supported",
            0x040c => "client-error-uri-scheme-not-supported",
            0x040d => "client-error-charset-not-supported",
            0x040e => "client-error-conflicting-attributes",
            0x040f => "client-error-compression-not-supported",
            0x0410 => "client-error-compression-error",
            0x0411 => "client-error-document-format-error",
            0x0412 => "client-error-document-access-error",
            0x0413 => "client-error-attributes-not-settable",
            0x0414 => "client-error-ignored-all-subscriptions",
            0x0415 => "client-error-too-many-subscriptions",
            0x0418 => "client-error-document-password-error",
            0x0419 => "client-error-document-permission-error",
            0x041a => "client-error-document-security-error",
            0x041b => "client-error-document-unprintable-error",
            0x041c => "client-error-account-info-needed",
            0x041d => "client-error-account-closed",
            0x041e => "client-error-account-limit-reached",
            0x041f => "client-error-account-authorization-failed",
            0x0500 => "server-error-internal-error",
            0x0501 => "server-error-operation-not-supported",
            0x0502 => "server-error-service-unavailable",
            0x0503 => "server-error-version-not-supported",
            0x0504 => "server-error-device-error",
            0x0505 => "server-error-temporary-error",
            0x0506 => "server-error-not-accepting-jobs",
            0x0507 => "server-error-busy",
            0x0508 => "server-error-job-canceled",
            0x0509 => "server-error-multiple-document-jobs-not-supported",
            0x050a => "server-error-printer-is-deactivated",
            0x050b => "server-error-too-many-jobs",
            0x050c => "server-error-too-many-documents",
            _ => return None,
        })
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "operation {:#06x}", self.0),
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "status {:#06x}", self.0),
        }
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for JobState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.keyword())
    }
}

/// The state of a printer (RFC 8011, section 5.4.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrinterState {
    /// It could begin a job.
    Idle,
    /// It has one.
    Processing,
    /// It begins none.
    Stopped,
}

impl PrinterState {
    /// Of its number.
    #[must_use]
    pub const fn new(number: i32) -> Option<Self> {
        Some(match number {
            3 => Self::Idle,
            4 => Self::Processing,
            5 => Self::Stopped,
            _ => return None,
        })
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Idle => 3,
            Self::Processing => 4,
            Self::Stopped => 5,
        }
    }

    /// Its keyword.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Processing => "processing",
            Self::Stopped => "stopped",
        }
    }
}

/// The state of a job (RFC 8011, section 5.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits.
    Pending,
    /// It waits to be released.
    Held,
    /// It is printed.
    Processing,
    /// It was being printed, and the printer stopped.
    Stopped,
    /// Somebody cancelled it.
    Canceled,
    /// The printer gave it up.
    Aborted,
    /// It is done.
    Completed,
}

impl JobState {
    /// Of its number.
    #[must_use]
    pub const fn new(number: i32) -> Option<Self> {
        Some(match number {
            3 => Self::Pending,
            4 => Self::Held,
            5 => Self::Processing,
            6 => Self::Stopped,
            7 => Self::Canceled,
            8 => Self::Aborted,
            9 => Self::Completed,
            _ => return None,
        })
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Pending => 3,
            Self::Held => 4,
            Self::Processing => 5,
            Self::Stopped => 6,
            Self::Canceled => 7,
            Self::Aborted => 8,
            Self::Completed => 9,
        }
    }

    /// Its keyword.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Held => "pending-held",
            Self::Processing => "processing",
            Self::Stopped => "processing-stopped",
            Self::Canceled => "canceled",
            Self::Aborted => "aborted",
            Self::Completed => "completed",
        }
    }

    /// Whether it does not change any more.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Canceled | Self::Aborted | Self::Completed)
    }
}
