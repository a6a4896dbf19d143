//! Names of the protocol's numbers. Records hold these names.

use std::fmt;

use serde::{Serialize, Serializer};
use windlass_base::Named;

/// An operation (RFC 8011, section 5.4.15, and IANA's registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation(pub u16);

/// A status (RFC 8011, appendix B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

/// Names numbers, and defines constants for the ones that the code uses.
macro_rules! names {
    ($kind:ident, $what:literal, { $($constant:ident = $number:literal $name:literal,)* }
     others { $($other:literal $other_name:literal,)* }) => {
        impl $kind {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self = Self($number);
            )*

            /// Returns its name, if it is listed here.
            pub const fn name(self) -> Option<&'static str> {
                Some(match self.0 {
                    $($number => $name,)*
                    $($other => $other_name,)*
                    _ => return None,
                })
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{} {:#06x}", $what, self.0),
                }
            }
        }

        impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

/// Maps the variants of an enum to their numbers.
macro_rules! numbered {
    ($seen:vis $kind:ident, $number:ident: $Number:ty) => {
        impl $kind {
            /// Returns the variant with this number.
            $seen fn new($number: $Number) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.$number() == $number)
            }

            /// Returns its number.
            $seen const fn $number(self) -> $Number {
                self as $Number
            }
        }
    };
}
pub(super) use numbered;

names!(Operation, "operation", {
    PRINT_JOB = 0x0002 "Print-Job",
    VALIDATE_JOB = 0x0004 "Validate-Job",
    CREATE_JOB = 0x0005 "Create-Job",
    SEND_DOCUMENT = 0x0006 "Send-Document",
    CANCEL_JOB = 0x0008 "Cancel-Job",
    GET_JOB_ATTRIBUTES = 0x0009 "Get-Job-Attributes",
    GET_JOBS = 0x000a "Get-Jobs",
    GET_PRINTER_ATTRIBUTES = 0x000b "Get-Printer-Attributes",
    HOLD_JOB = 0x000c "Hold-Job",
    RELEASE_JOB = 0x000d "Release-Job",
    RESTART_JOB = 0x000e "Restart-Job",
    PAUSE_PRINTER = 0x0010 "Pause-Printer",
    RESUME_PRINTER = 0x0011 "Resume-Printer",
    PURGE_JOBS = 0x0012 "Purge-Jobs",
    SET_JOB_ATTRIBUTES = 0x0014 "Set-Job-Attributes",
    CREATE_PRINTER_SUBSCRIPTIONS = 0x0016 "Create-Printer-Subscriptions",
    CANCEL_SUBSCRIPTION = 0x001b "Cancel-Subscription",
    GET_NOTIFICATIONS = 0x001c "Get-Notifications",
    ENABLE_PRINTER = 0x0022 "Enable-Printer",
    DISABLE_PRINTER = 0x0023 "Disable-Printer",
    CANCEL_JOBS = 0x0038 "Cancel-Jobs",
    CANCEL_MY_JOBS = 0x0039 "Cancel-My-Jobs",
    CLOSE_JOB = 0x003b "Close-Job",
    IDENTIFY_PRINTER = 0x003c "Identify-Printer",
    // The printer of a client that names none.
    CUPS_GET_DEFAULT = 0x4001 "CUPS-Get-Default",
    CUPS_GET_PRINTERS = 0x4002 "CUPS-Get-Printers",
    CUPS_ADD_MODIFY_PRINTER = 0x4003 "CUPS-Add-Modify-Printer",
    CUPS_DELETE_PRINTER = 0x4004 "CUPS-Delete-Printer",
    CUPS_GET_CLASSES = 0x4005 "CUPS-Get-Classes",
    CUPS_ADD_MODIFY_CLASS = 0x4006 "CUPS-Add-Modify-Class",
    CUPS_DELETE_CLASS = 0x4007 "CUPS-Delete-Class",
    CUPS_ACCEPT_JOBS = 0x4008 "CUPS-Accept-Jobs",
    CUPS_REJECT_JOBS = 0x4009 "CUPS-Reject-Jobs",
    CUPS_SET_DEFAULT = 0x400a "CUPS-Set-Default",
    CUPS_MOVE_JOB = 0x400d "CUPS-Move-Job",
} others {
    0x0003 "Print-URI",
    0x0007 "Send-URI",
    0x0013 "Set-Printer-Attributes",
    0x0015 "Get-Printer-Supported-Values",
    0x0017 "Create-Job-Subscriptions",
    0x0018 "Get-Subscription-Attributes",
    0x0019 "Get-Subscriptions",
    0x001a "Renew-Subscription",
    0x0025 "Hold-New-Jobs",
    0x0026 "Release-Held-New-Jobs",
    0x400b "CUPS-Get-Devices",
    0x400c "CUPS-Get-PPDs",
    0x400e "CUPS-Authenticate-Job",
    0x400f "CUPS-Get-PPD",
    0x4027 "CUPS-Get-Document",
    0x4028 "CUPS-Create-Local-Printer",
});

names!(Status, "status", {
    OK = 0x0000 "successful-ok",
    // A part of the request is ignored.
    IGNORED = 0x0001 "successful-ok-ignored-or-substituted-attributes",
    BAD_REQUEST = 0x0400 "client-error-bad-request",
    FORBIDDEN = 0x0401 "client-error-forbidden",
    NOT_AUTHENTICATED = 0x0402 "client-error-not-authenticated",
    // The object belongs to another user.
    NOT_AUTHORIZED = 0x0403 "client-error-not-authorized",
    NOT_POSSIBLE = 0x0404 "client-error-not-possible",
    NOT_FOUND = 0x0406 "client-error-not-found",
    // A full spool returns this status, too.
    ENTITY_TOO_LARGE = 0x0408 "client-error-request-entity-too-large",
    FORMAT_NOT_SUPPORTED = 0x040a "client-error-document-format-not-supported",
    NOT_SUPPORTED = 0x040b "client-error-attributes-or-values-not-supported",
    CHARSET_NOT_SUPPORTED = 0x040d "client-error-charset-not-supported",
    COMPRESSION_NOT_SUPPORTED = 0x040f "client-error-compression-not-supported",
    COMPRESSION_ERROR = 0x0410 "client-error-compression-error",
    NOT_SETTABLE = 0x0413 "client-error-attributes-not-settable",
    // A quota is used up (PWG 5100.16).
    ACCOUNT_LIMIT_REACHED = 0x041e "client-error-account-limit-reached",
    INTERNAL_ERROR = 0x0500 "server-error-internal-error",
    OPERATION_NOT_SUPPORTED = 0x0501 "server-error-operation-not-supported",
    VERSION_NOT_SUPPORTED = 0x0503 "server-error-version-not-supported",
    // For example a full disk.
    TEMPORARY_ERROR = 0x0505 "server-error-temporary-error",
    NOT_ACCEPTING = 0x0506 "server-error-not-accepting-jobs",
    BUSY = 0x0507 "server-error-busy",
    TOO_MANY_JOBS = 0x050b "server-error-too-many-jobs",
    TOO_MANY_DOCUMENTS = 0x050c "server-error-too-many-documents",
} others {
    0x0002 "successful-ok-conflicting-attributes",
    0x0003 "successful-ok-ignored-subscriptions",
    0x0005 "successful-ok-too-many-events",
    0x0007 "successful-ok-events-complete",
    0x0405 "client-error-timeout",
    0x0407 "client-error-gone",
    0x0409 "client-error-request-value-too-long",
    0x040c "client-error-uri-scheme-not-supported",
    0x040e "client-error-conflicting-attributes",
    0x0411 "client-error-document-format-error",
    0x0412 "client-error-document-access-error",
    0x0414 "client-error-ignored-all-subscriptions",
    0x0415 "client-error-too-many-subscriptions",
    0x0418 "client-error-document-password-error",
    0x0419 "client-error-document-permission-error",
    0x041a "client-error-document-security-error",
    0x041b "client-error-document-unprintable-error",
    0x041c "client-error-account-info-needed",
    0x041d "client-error-account-closed",
    0x041f "client-error-account-authorization-failed",
    0x0502 "server-error-service-unavailable",
    0x0504 "server-error-device-error",
    0x0508 "server-error-job-canceled",
    0x0509 "server-error-multiple-document-jobs-not-supported",
    0x050a "server-error-printer-is-deactivated",
});

impl Status {
    /// Returns whether the operation was successful.
    pub const fn is_successful(self) -> bool {
        self.0 < 0x0100
    }
}

/// The state of a printer (RFC 8011, section 5.4.11), named by its keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum PrinterState {
    /// The printer is ready for a job.
    Idle = 3,
    /// The printer processes a job.
    Processing = 4,
    /// The printer begins no job.
    Stopped = 5,
}

numbered!(pub PrinterState, number: i32);

/// The state of a job (RFC 8011, section 5.3.7), named by its keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum JobState {
    /// The job waits.
    Pending = 3,
    /// The job waits to be released.
    PendingHeld = 4,
    /// The job is being printed.
    Processing = 5,
    /// The job was being printed when the printer stopped.
    ProcessingStopped = 6,
    /// A user cancelled the job.
    Canceled = 7,
    /// The printer gave the job up.
    Aborted = 8,
    /// The job is done.
    Completed = 9,
}

numbered!(pub JobState, number: i32);

impl JobState {
    /// Returns whether the state is final.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Canceled | Self::Aborted | Self::Completed)
    }
}
