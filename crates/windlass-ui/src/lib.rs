#![doc = include_str!("../README.md")]
//!
//! [`Guard`] decides by the head of a request alone, and knows no socket. [`Server`] reads
//! requests within its [`Limits`] and hands those that pass to its caller. [`Fields`] are those of
//! a form or a query. [`Jobs`] are the programs that were started.

mod form;
mod guard;
mod jobs;
mod server;
mod token;

pub use form::Fields;
pub use guard::{Guard, Refusal};
pub use jobs::{Job, Jobs, Output, Stage, StartError};
pub use server::{Answer, Asked, Limits, Server};
pub use token::Token;
