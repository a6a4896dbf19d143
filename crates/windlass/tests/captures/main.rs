//! Reports on captures: with known causes, of other people, and unreadable ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod archives;
mod compare;
mod corpus;
mod follow;
mod golden;
mod judged;

mod learn;
mod odd_inputs;
mod other_pace;
mod ranges;
mod real_captures;
mod small_stacks;
mod text_and_json;
mod too_large;
mod what_if;
mod xplot;
