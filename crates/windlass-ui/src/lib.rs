#![doc = include_str!("../README.md")]
//!
//! [`Guard`] decides by the head of a request alone, without a socket. [`Server`] reads requests
//! within its [`Limits`] and passes the accepted ones to its caller. [`Fields`] are the values of a
//! form or a query, [`Files`] the files of a form. [`Jobs`] are the programs that were started.

mod form;
mod guard;
mod jobs;
mod multipart;
mod server;
mod token;
mod uploads;

pub use form::Fields;
pub use guard::{Guard, Refusal};
pub use jobs::{Job, Jobs, Output, Stage, StartError, Workplace};
pub use server::{Answer, Limits, PageRequest, Server};
pub use token::Token;
pub use uploads::{Files, Uploads};
