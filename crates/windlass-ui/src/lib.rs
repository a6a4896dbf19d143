#![doc = include_str!("../README.md")]
//!
//! [`Guard`] decides by the head of a request alone, and knows no socket. [`Server`] reads
//! requests within its [`Limits`] and hands those that pass to its caller. [`Fields`] are those of
//! a form or a query, [`Files`] came with one. [`Jobs`] are the programs that were started.

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
pub use server::{Answer, Asked, Limits, Server};
pub use token::Token;
pub use uploads::{Files, Uploads};
