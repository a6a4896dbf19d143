//! Attributes of printers (RFC 8011, section 5.4; PWG 5100.12, 5100.13, 5100.14 and CUPS's own).
//!
//! Documents go on to the device unchanged, so a printer here offers what any device may have: the
//! sizes and qualities that drivers offer.

use windlass_wire::ipp::server::{
    AttributeCategory, FilteredGroup, RequestedAttributes, cut, name, number, text, uri, words,
};
use windlass_wire::ipp::{Attribute, CharKind, Group, GroupTag, Operation, OutOfBand, Value};

use super::Context;
use super::date::date;
use super::job::{millis, printer_uri, uuid};
use crate::formats::{Conversions, OCTETS, SUPPORTED};
use crate::hold::HOLD_WORDS;
use crate::job::{StoredDocument, USUAL_PRIORITY};
use crate::passes::MAX_COPIES;
use crate::printer::Printer;
use crate::quota::Quota;
use crate::table::JobTable;
use crate::users::Users;

/// Sets of jobs that a client can request.
pub(super) const WHICH: [&str; 10] = [
    "completed",
    "not-completed",
    "all",
    "aborted",
    "canceled",
    "pending",
    "pending-held",
    "processing",
    "processing-stopped",
    "fetchable",
];

/// Supported operations, and whether they are reserved to administrators.
pub(super) const OPERATIONS: [(Operation, bool); 32] = [
    (Operation::PRINT_JOB, false),
    (Operation::VALIDATE_JOB, false),
    (Operation::CREATE_JOB, false),
    (Operation::SEND_DOCUMENT, false),
    (Operation::CANCEL_JOB, false),
    (Operation::GET_JOB_ATTRIBUTES, false),
    (Operation::GET_JOBS, false),
    (Operation::GET_PRINTER_ATTRIBUTES, false),
    (Operation::HOLD_JOB, false),
    (Operation::RELEASE_JOB, false),
    (Operation::RESTART_JOB, false),
    (Operation::PAUSE_PRINTER, true),
    (Operation::RESUME_PRINTER, true),
    (Operation::PURGE_JOBS, true),
    (Operation::SET_JOB_ATTRIBUTES, false),
    (Operation::ENABLE_PRINTER, true),
    (Operation::DISABLE_PRINTER, true),
    (Operation::CANCEL_JOBS, true),
    (Operation::CANCEL_MY_JOBS, false),
    (Operation::CLOSE_JOB, false),
    (Operation::IDENTIFY_PRINTER, false),
    (Operation::CUPS_GET_DEFAULT, false),
    (Operation::CUPS_GET_PRINTERS, false),
    (Operation::CUPS_GET_CLASSES, false),
    (Operation::CUPS_ACCEPT_JOBS, true),
    (Operation::CUPS_REJECT_JOBS, true),
    (Operation::CUPS_ADD_MODIFY_PRINTER, true),
    (Operation::CUPS_DELETE_PRINTER, true),
    (Operation::CUPS_ADD_MODIFY_CLASS, true),
    (Operation::CUPS_DELETE_CLASS, true),
    (Operation::CUPS_SET_DEFAULT, true),
    (Operation::CUPS_MOVE_JOB, true),
];

/// Sizes of media by their names (PWG 5101.1), in hundredths of a millimetre.
const SIZES: [(&str, i32, i32); 10] = [
    ("iso_a4_210x297mm", 21_000, 29_700),
    ("na_letter_8.5x11in", 21_590, 27_940),
    ("na_legal_8.5x14in", 21_590, 35_560),
    ("iso_a3_297x420mm", 29_700, 42_000),
    ("iso_a5_148x210mm", 14_800, 21_000),
    ("iso_a6_105x148mm", 10_500, 14_800),
    ("jis_b5_182x257mm", 18_200, 25_700),
    ("na_executive_7.25x10.5in", 18_415, 26_670),
    ("na_index-4x6_4x6in", 10_160, 15_240),
    ("na_number-10_4.125x9.5in", 10_477, 24_130),
];

/// Returns the value of `urf-supported`.
pub fn urf(has_colour: bool, has_duplex: bool) -> Vec<&'static str> {
    let mut urf = vec!["V1.4", "W8", "RS300-600", "CP255"];
    urf.extend(has_colour.then_some("SRGB24"));
    urf.extend(has_duplex.then_some("DM1"));
    urf
}

/// Sizes of the icons at `/icon-SIZE.png` in pixels (PWG 5100.13, section 6.5.18).
pub const ICON_SIZES: [u32; 3] = [48, 128, 512];

/// Value of `printer-supply` for an unknown supply (PWG 5100.13, section 6.5.22).
const SUPPLY: &str = "type=other;maxcapacity=-2;level=-2;class=other;unit=other;\
                      colorantname=unknown;";

/// Margin of each medium, in hundredths of a millimetre.
const MARGIN: i32 = 423;

/// Job attributes that a client may request, besides those of every job.
const TEMPLATE: [&str; 17] = [
    "copies",
    "finishings",
    "job-hold-until",
    "job-name",
    "job-priority",
    "job-sheets",
    "media",
    "media-col",
    "multiple-document-handling",
    "number-up",
    "orientation-requested",
    "output-bin",
    "page-ranges",
    "print-color-mode",
    "print-quality",
    "printer-resolution",
    "sides",
];

fn word(word: &str) -> Value {
    Value::keyword(word)
}

fn enums(numbers: &[i32]) -> Vec<Value> {
    numbers.iter().map(|number| Value::Enum(*number)).collect()
}

const fn dpi(dots: i32) -> Value {
    Value::Resolution { cross: dots, feed: dots, units: 3 }
}

fn media_type(format: &str) -> Value {
    Value::chars(CharKind::MediaType, format)
}

fn size(wide: i32, high: i32) -> Value {
    Value::Collection(vec![
        Attribute::new("x-dimension", Value::Integer(wide)),
        Attribute::new("y-dimension", Value::Integer(high)),
    ])
}

fn media_col((_, wide, high): &(&str, i32, i32)) -> Value {
    let margin =
        |side: &str| Attribute::new(format!("media-{side}-margin"), Value::Integer(MARGIN));
    Value::Collection(vec![
        Attribute::new("media-size", size(*wide, *high)),
        margin("bottom"),
        margin("left"),
        margin("right"),
        margin("top"),
        Attribute::new("media-source", word("auto")),
        Attribute::new("media-type", word("stationery")),
    ])
}

/// Returns the requested attributes of a printer.
pub(super) fn attributes<D: StoredDocument>(
    printer: &Printer,
    table: &JobTable<D>,
    wanted: &RequestedAttributes,
    context: &Context<'_>,
) -> Group {
    let mut picked = FilteredGroup::new(GroupTag::PRINTER, wanted);
    state(printer, table, &mut picked, context);
    class(printer, table, &mut picked, context);
    description(printer, table, &mut picked, context);
    template(printer, &mut picked);
    media(&mut picked);
    let mut group = learned(printer, picked.finish());
    if printer.has_filters(table.conversions()) {
        by_filters(&mut group, table.conversions());
    }
    for default in crate::template::template(&printer.settings.defaults) {
        let name = format!("{}-default", default.name);
        if let Some(one) = group.attributes.iter_mut().find(|one| one.name == name) {
            one.values = default.values;
        }
    }
    group
}

/// Adds capabilities of this host's filters.
fn by_filters(group: &mut Group, conversions: &Conversions) {
    for attribute in &mut group.attributes {
        match &*attribute.name {
            "number-up-supported" => {
                attribute.values = [1, 2, 4, 6, 9, 16].map(Value::Integer).to_vec();
            }
            "job-sheets-supported" => {
                attribute.values.extend(conversions.sheets.iter().map(|sheet| word(sheet)));
            }
            "page-ranges-supported" => attribute.values = vec![Value::Boolean(true)],
            _ => {}
        }
    }
}

/// Attributes that a device reports and that replace the spool's defaults.
pub const LEARNED: [&str; 45] = [
    "color-supported",
    SUPPORTED,
    "finishings-default",
    "finishings-supported",
    "media-bottom-margin-supported",
    "media-col-database",
    "media-col-default",
    "media-col-ready",
    "media-col-supported",
    "media-default",
    "media-left-margin-supported",
    "media-ready",
    "media-right-margin-supported",
    "media-size-supported",
    "media-source-supported",
    "media-supported",
    "media-top-margin-supported",
    "media-type-supported",
    "number-up-default",
    "number-up-supported",
    "orientation-requested-default",
    "orientation-requested-supported",
    "output-bin-default",
    "output-bin-supported",
    "page-ranges-supported",
    "pages-per-minute",
    "pages-per-minute-color",
    "print-color-mode-default",
    "print-color-mode-supported",
    "print-content-optimize-default",
    "print-content-optimize-supported",
    "print-quality-default",
    "print-quality-supported",
    "print-rendering-intent-default",
    "print-rendering-intent-supported",
    "print-scaling-default",
    "print-scaling-supported",
    "printer-resolution-default",
    "printer-resolution-supported",
    "pwg-raster-document-resolution-supported",
    "pwg-raster-document-sheet-back",
    "pwg-raster-document-type-supported",
    "sides-default",
    "sides-supported",
    "urf-supported",
];

/// Attributes that depend on colour.
const OF_COLOUR: [&str; 5] = [
    "color-supported",
    "print-color-mode-default",
    "print-color-mode-supported",
    "pwg-raster-document-type-supported",
    "urf-supported",
];

/// Attributes that depend on two-sided printing.
const OF_SIDES: [&str; 3] = ["sides-default", "sides-supported", "urf-supported"];

/// Replaces default values by the device's report. Settings take precedence.
fn learned(printer: &Printer, mut group: Group) -> Group {
    if printer.learned.is_empty() {
        return group;
    }
    let is_told = |name: &str| {
        let is_among = |names: &[&str]| names.contains(&name);
        // With filters, there are more formats than the device's own.
        name == SUPPORTED
            || (printer.settings.colour.is_some() && is_among(&OF_COLOUR))
            || (printer.settings.duplex.is_some() && is_among(&OF_SIDES))
    };
    for attribute in &mut group.attributes {
        let own = printer.learned.iter().find(|one| one.name == attribute.name);
        if let Some(own) = own.filter(|one| !is_told(&one.name)) {
            attribute.values.clone_from(&own.values);
        }
    }
    group
}

/// Adds attributes that change at run time.
fn state<D: StoredDocument>(
    printer: &Printer,
    table: &JobTable<D>,
    picked: &mut FilteredGroup<'_>,
    context: &Context<'_>,
) {
    let part = AttributeCategory::Printer;
    let own = printer_uri(printer, context);
    picked.put(part, "printer-uri-supported", || uri(&own));
    let requester = context.requester;
    let proof = match (&requester.user, requester.rights.believed) {
        (None, true) => "requesting-user-name",
        _ if requester.can_log_in => "basic",
        // Requesters with another authentication, or with none.
        _ => "none",
    };
    picked.put(part, "uri-authentication-supported", || word(proof));
    let security = if context.is_encrypted { "tls" } else { "none" };
    picked.put(part, "uri-security-supported", || word(security));
    picked.put(part, "printer-name", || name(&printer.settings.name));
    picked.put(part, "printer-state", || Value::Enum(table.condition(printer).in_ipp().number()));
    picked.all(part, "printer-state-reasons", || {
        let mut reasons = Vec::new();
        if printer.stopped.is_some() {
            reasons.push(word("paused"));
        }
        if printer.is_failing() {
            reasons.push(word("connecting-to-device"));
        }
        if printer.stall().is_some() {
            reasons.push(word("timed-out-warning"));
        }
        reasons.extend(printer.device_reasons.iter().map(|reason| word(reason)));
        if reasons.is_empty() {
            reasons.push(word("none"));
        }
        reasons
    });
    picked.put(part, "printer-state-message", || text(&printer.message(context.now)));
    picked.put(part, "printer-is-accepting-jobs", || Value::Boolean(printer.is_accepting));
    picked.put(part, "queued-job-count", || Value::Integer(number(printer.live.len() as u64)));
    let changed = printer.changed;
    for what in ["state-change", "config-change"] {
        picked.put(part, &format!("printer-{what}-time"), || {
            Value::Integer(number(changed.seconds()))
        });
        picked.put(part, &format!("printer-{what}-date-time"), || date(changed));
    }
    picked.put(part, "printer-up-time", || Value::Integer(number(context.now.seconds().max(1))));
    picked.put(part, "printer-current-time", || date(context.now));
}

/// Returns the printer type flags for CUPS clients (cups.h, `cups_ptype_e`).
fn kind<D: StoredDocument>(printer: &Printer, table: &JobTable<D>) -> i32 {
    const CLASS: i32 = 0x0001;
    const BLACK_AND_WHITE: i32 = 0x0004;
    const COLOUR: i32 = 0x0008;
    const DUPLEX: i32 = 0x0010;
    const DEFAULT: i32 = 0x0002_0000;
    const REJECTS: i32 = 0x0008_0000;
    let default = table.default_place().ok().map(|place| &table.printers()[place]);
    let is_default = default.is_some_and(|one| one.settings.name == printer.settings.name);
    [
        (true, BLACK_AND_WHITE),
        (printer.has_colour(), COLOUR),
        (printer.has_duplex(), DUPLEX),
        (printer.is_class(), CLASS),
        (is_default, DEFAULT),
        (!printer.is_accepting, REJECTS),
    ]
    .into_iter()
    .filter_map(|(holds, bit)| holds.then_some(bit))
    .sum()
}

/// Adds the attributes of a class.
fn class<D: StoredDocument>(
    printer: &Printer,
    table: &JobTable<D>,
    picked: &mut FilteredGroup<'_>,
    context: &Context<'_>,
) {
    if !printer.is_class() || table.members(printer).next().is_none() {
        return;
    }
    let part = AttributeCategory::Printer;
    picked.all(part, "member-names", || {
        table.members(printer).map(|one| name(&one.settings.name)).collect()
    });
    picked.all(part, "member-uris", || {
        table.members(printer).map(|one| uri(&printer_uri(one, context))).collect()
    });
}

/// Adds attributes that describe the printer.
fn description<D: StoredDocument>(
    printer: &Printer,
    table: &JobTable<D>,
    picked: &mut FilteredGroup<'_>,
    context: &Context<'_>,
) {
    let settings = &printer.settings;
    let part = AttributeCategory::Printer;
    let page = format!("{}://{}/", context.page_scheme(), context.authority);
    picked.put(part, "printer-info", || text(cut(&settings.info, 127)));
    picked.put(part, "printer-location", || text(cut(&settings.location, 127)));
    picked.put(part, "printer-make-and-model", || text(cut(&settings.model, 127)));
    picked.put(part, "printer-device-id", || {
        let model: String = settings.model.chars().filter(|one| !";:".contains(*one)).collect();
        text(&format!("MFG:windlass;MDL:{model};CLS:PRINTER;"))
    });
    picked.put(part, "printer-uuid", || uri(&printer_uuid(table, &settings.name)));
    picked.put(part, "printer-more-info", || uri(&page));
    picked.put(part, "printer-supply-info-uri", || uri(&page));
    picked.put(part, "printer-geo-location", || Value::OutOfBand(OutOfBand::Unknown));
    picked.put(part, "printer-organization", || text(""));
    picked.put(part, "printer-organizational-unit", || text(""));
    if !printer.is_class() {
        picked.put(part, "device-uri", || uri(&settings.device.uri()));
    }
    picked.put(part, "printer-error-policy", || name(settings.on_error.keyword()));
    picked.all(part, "printer-error-policy-supported", || {
        ["retry-job", "abort-job", "stop-printer"].map(name).to_vec()
    });
    if let Some(creates_jobs) = printer.creates_jobs {
        picked.put(part, "windlass-device-creates-jobs", || Value::Boolean(creates_jobs));
    }
    let on_partial = settings.on_partial(false).keyword();
    picked.put(part, "windlass-on-partial", || word(on_partial));
    picked.put(part, "windlass-patience", || {
        settings.patience.map_or(Value::OutOfBand(OutOfBand::NoValue), millis)
    });
    picked.put(part, "windlass-contact", || millis(settings.contact));
    // The SNMP community is not disclosed.
    picked.put(part, "windlass-status", || {
        let status = settings.status.as_ref();
        status.map_or(Value::OutOfBand(OutOfBand::NoValue), |status| word(status.kind()))
    });
    picked.put(part, "printer-type", || Value::Enum(kind(printer, table)));
    picked.put(part, "printer-is-shared", || Value::Boolean(true));
    picked.put(part, "printer-is-temporary", || Value::Boolean(false));
    picked.speech();
    picked.all(part, "ipp-versions-supported", || words(&["1.1", "2.0"]));
    // A device that receives only data obeys none of a job's attributes.
    let claims = if settings.device.takes_attributes() { "ipp-everywhere" } else { "none" };
    picked.put(part, "ipp-features-supported", || word(claims));
    picked.all(part, "printer-icons", || {
        let icon = |size: &u32| uri(&format!("http://{}/icon-{size}.png", context.authority));
        ICON_SIZES.iter().map(icon).collect()
    });
    // A level of -2 means unknown (RFC 3805, prtMarkerSuppliesLevel): a spool does not know its
    // device's supplies.
    picked.put(part, "printer-supply", || Value::Octets(SUPPLY.as_bytes().to_vec()));
    picked.put(part, "printer-supply-description", || text("not known to the spool"));
    picked.operations(&OPERATIONS.map(|(operation, _)| operation));
    picked.compressions();
    let formats = table.formats(printer);
    picked.put(part, "document-format-default", || media_type(OCTETS));
    picked.all(part, SUPPORTED, || formats.iter().map(|format| media_type(format)).collect());
    picked.put(part, "pdl-override-supported", || word("not-attempted"));
    let (has_colour, has_duplex) = (printer.has_colour(), printer.has_duplex());
    picked.put(part, "color-supported", || Value::Boolean(has_colour));
    picked.put(part, "pages-per-minute", || Value::Integer(1));
    if has_colour {
        picked.put(part, "pages-per-minute-color", || Value::Integer(1));
    }
    let most = context.max_document.unwrap_or(u64::MAX).div_ceil(1_024);
    picked.put(part, "job-k-octets-supported", || Value::Range(0, number(most)));
    let named = |names: &[String]| names.iter().map(|one| name(one)).collect();
    match &settings.users {
        Users::All => {}
        Users::Only(names) => picked.all(part, "requesting-user-name-allowed", || named(names)),
        Users::Except(names) => picked.all(part, "requesting-user-name-denied", || named(names)),
    }
    // CUPS's attributes for quotas of each user; 0 means no limit.
    let of_all = |one: &&Quota| one.user.is_none() && one.is_of(&settings.name, "");
    let quota = table.quotas().iter().find(of_all);
    let limit = |of: &dyn Fn(&Quota) -> u64| Value::Integer(number(quota.map_or(0, of)));
    picked.put(part, "job-quota-period", || limit(&|one| one.period.as_secs()));
    picked.put(part, "job-page-limit", || limit(&|one| one.pages.unwrap_or(0)));
    picked
        .put(part, "job-k-limit", || limit(&|one| one.bytes.map_or(0, |all| all.div_ceil(1_024))));
    picked.put(part, "job-ids-supported", || Value::Boolean(true));
    picked.put(part, "preferred-attributes-supported", || Value::Boolean(false));
    picked.put(part, "multiple-document-jobs-supported", || Value::Boolean(true));
    picked.put(part, "multiple-operation-time-out", || {
        Value::Integer(number(table.rules().open_for.as_secs().max(1)))
    });
    picked.put(part, "multiple-operation-time-out-action", || word("abort-job"));
    picked.put(part, "identify-actions-default", || word("display"));
    picked.put(part, "identify-actions-supported", || word("display"));
    picked.put(part, "printer-get-attributes-supported", || word("document-format"));
    picked.all(part, "which-jobs-supported", || words(&WHICH));
    picked.put(part, "limit-supported", || Value::Range(1, i32::MAX));
    picked.all(part, "job-creation-attributes-supported", || words(&TEMPLATE));
    picked.all(part, "job-settable-attributes-supported", || {
        words(&["job-hold-until", "job-priority"])
    });
    let takes = |format: &str| formats.iter().any(|one| one.eq_ignore_ascii_case(format));
    if takes("image/urf") {
        picked.all(part, "urf-supported", || words(&urf(has_colour, has_duplex)));
    }
    picked.all(part, "pwg-raster-document-resolution-supported", || vec![dpi(300), dpi(600)]);
    picked.put(part, "pwg-raster-document-sheet-back", || word("normal"));
    picked.all(part, "pwg-raster-document-type-supported", || {
        let colours: &[&str] = if has_colour { &["srgb_8", "cmyk_8"] } else { &[] };
        words(&[&["black_1", "sgray_8"], colours].concat())
    });
}

/// Adds attributes that jobs may request.
fn template(printer: &Printer, picked: &mut FilteredGroup<'_>) {
    let part = AttributeCategory::Template;
    let takes_attributes = printer.settings.device.takes_attributes();
    picked.put(part, "copies-default", || Value::Integer(1));
    picked.put(part, "copies-supported", || Value::Range(1, i32::from(MAX_COPIES)));
    picked.put(part, "finishings-default", || Value::Enum(3));
    picked.put(part, "finishings-supported", || Value::Enum(3));
    picked.put(part, "job-hold-until-default", || word("no-hold"));
    picked.all(part, "job-hold-until-supported", || words(&HOLD_WORDS));
    picked.put(part, "job-priority-default", || Value::Integer(i32::from(USUAL_PRIORITY)));
    picked.put(part, "job-priority-supported", || Value::Integer(100));
    for what in ["job-sheets-default", "job-sheets-supported"] {
        picked.put(part, what, || word("none"));
    }
    picked.put(part, "multiple-document-handling-default", || {
        word("separate-documents-uncollated-copies")
    });
    picked.all(part, "multiple-document-handling-supported", || {
        words(&["separate-documents-uncollated-copies", "separate-documents-collated-copies"])
    });
    picked.put(part, "number-up-default", || Value::Integer(1));
    picked.put(part, "number-up-supported", || Value::Integer(1));
    picked.put(part, "orientation-requested-default", || Value::OutOfBand(OutOfBand::NoValue));
    picked.all(part, "orientation-requested-supported", || enums(&[3, 4, 5, 6]));
    picked.put(part, "output-bin-default", || word("face-down"));
    picked.put(part, "output-bin-supported", || word("face-down"));
    picked.put(part, "page-ranges-supported", || Value::Boolean(takes_attributes));
    picked.all(part, "overrides-supported", || words(&["document-number", "pages"]));
    let modes: &[&str] = if printer.has_colour() {
        &["auto", "color", "monochrome"]
    } else {
        &["auto", "monochrome"]
    };
    picked.put(part, "print-color-mode-default", || word("auto"));
    picked.all(part, "print-color-mode-supported", || words(modes));
    for (what, has) in [
        ("print-content-optimize", "auto"),
        ("print-rendering-intent", "auto"),
        ("print-scaling", "auto"),
    ] {
        picked.put(part, &format!("{what}-default"), || word(has));
        picked.put(part, &format!("{what}-supported"), || word(has));
    }
    picked.put(part, "print-quality-default", || Value::Enum(4));
    picked.all(part, "print-quality-supported", || enums(&[3, 4, 5]));
    picked.put(part, "printer-resolution-default", || dpi(600));
    picked.all(part, "printer-resolution-supported", || vec![dpi(300), dpi(600)]);
    picked.put(part, "sides-default", || word("one-sided"));
    picked.all(part, "sides-supported", || {
        let both: &[&str] = match printer.has_duplex() {
            true => &["two-sided-long-edge", "two-sided-short-edge"],
            false => &[],
        };
        words(&[&["one-sided"], both].concat())
    });
}

/// Adds the media that jobs may request.
fn media(picked: &mut FilteredGroup<'_>) {
    let part = AttributeCategory::Template;
    let names = || SIZES.iter().map(|(name, ..)| word(name)).collect();
    picked.put(part, "media-default", || word(SIZES[0].0));
    picked.all(part, "media-supported", names);
    picked.all(part, "media-ready", names);
    picked.put(part, "media-col-default", || media_col(&SIZES[0]));
    picked.all(part, "media-col-ready", || SIZES.iter().map(media_col).collect());
    picked.all(AttributeCategory::Alone, "media-col-database", || {
        SIZES.iter().map(media_col).collect()
    });
    picked.all(part, "media-col-supported", || {
        words(&[
            "media-bottom-margin",
            "media-left-margin",
            "media-right-margin",
            "media-size",
            "media-source",
            "media-top-margin",
            "media-type",
        ])
    });
    picked.all(part, "media-size-supported", || {
        SIZES.iter().map(|(_, wide, high)| size(*wide, *high)).collect()
    });
    for side in ["bottom", "left", "right", "top"] {
        picked.put(part, &format!("media-{side}-margin-supported"), || Value::Integer(MARGIN));
    }
    picked.put(part, "media-source-supported", || word("auto"));
    picked.put(part, "media-type-supported", || word("stationery"));
}

/// Returns the UUID of a printer. It depends on the names of the server and the printer alone, and
/// not on the name that a client uses for the server.
pub fn printer_uuid<D: StoredDocument>(table: &JobTable<D>, printer: &str) -> String {
    uuid(&format!("{}/printers/{printer}", table.identity()))
}
