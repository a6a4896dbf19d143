//! The macros of windlass.
//!
//! `sentence!`, which `windlass_base` re-exports, is words with figures in them, written
//! as `format!` is, that stay apart until they are printed.
//!
//! `sentence!("{host} takes {window} at a time.")` is the words and the window, and not
//! a text of both: who prints it chooses how a window reads, and never breaks a line
//! between a number and its unit. A width or a precision has no place in it, as how a
//! number reads is said by its type.

mod derive;

use std::iter::Peekable;
use std::str::Chars;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// A sentence in pieces: `sentence!("{} of {whole}", part, whole = Bytes::new(9))`.
///
/// What stands in braces is in scope by that name, named behind the template, or the
/// next of the values behind it. All of them implement `windlass_base::Say`.
#[proc_macro]
pub fn sentence(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|wrong| {
        let text = Literal::string(&wrong);
        format!("::core::compile_error!({text})").parse().unwrap_or_default()
    })
}

/// Names the values of an enum: `id()` is what each is called in reports and JSON (as
/// `ack-latency` for `AckLatency`), `ALL` lists them, and they read and serialise as their
/// names.
#[proc_macro_derive(Named)]
pub fn named(item: TokenStream) -> TokenStream {
    derived(item, derive::named)
}

/// Packs a structure field by field.
#[proc_macro_derive(Packed)]
pub fn packed(item: TokenStream) -> TokenStream {
    derived(item, derive::packed)
}

/// Packs a structure of which most fields are what they were at first, 64 of them at most.
#[proc_macro_derive(PackedSparsely)]
pub fn packed_sparsely(item: TokenStream) -> TokenStream {
    derived(item, derive::packed_sparsely)
}

fn derived(item: TokenStream, code: fn(&derive::Item) -> String) -> TokenStream {
    let wrong = "::core::compile_error!(\"this is derived of items in braces\");".to_owned();
    tokens(&derive::Item::of(item).map_or(wrong, |item| code(&item)))
}

fn expand(input: TokenStream) -> Result<TokenStream, String> {
    let mut arguments = arguments(input).into_iter();
    let template = arguments.next().map(|argument| argument.value).unwrap_or_default();
    let (span, text) = literal(template).ok_or("the template is a string")?;
    let (named, mut rest): (Vec<_>, Vec<_>) = arguments.partition(|one| one.name.is_some());
    rest.reverse();
    let mut said: Vec<TokenTree> = Vec::new();
    for part in parts(&text)? {
        let value = match part {
            Part::Words(words) => words.parse().map_err(|_| "the template is no string")?,
            Part::Next => rest.pop().ok_or("there are more braces than values")?.value,
            Part::Named(name) => {
                let given = named.iter().find(|one| one.name.as_ref() == Some(&name));
                let in_scope = || TokenStream::from(TokenTree::from(Ident::new(&name, span)));
                given.map_or_else(in_scope, |one| one.value.clone())
            }
        };
        said.extend(say(value));
    }
    if !rest.is_empty() {
        return Err("there are more values than braces".to_owned());
    }
    let mut block = tokens("let mut sentence = ::windlass_base::Sentence::new();");
    block.extend(said);
    block.extend(tokens("sentence"));
    Ok(TokenTree::from(Group::new(Delimiter::Brace, block)).into())
}

/// Code of this crate's own, which is right.
fn tokens(code: &str) -> TokenStream {
    code.parse().unwrap_or_default()
}

/// `Say::say(&(value), &mut sentence);`
fn say(value: TokenStream) -> TokenStream {
    let value = TokenTree::from(Group::new(Delimiter::Parenthesis, value));
    let reference = TokenTree::from(Punct::new('&', Spacing::Alone));
    let mut arguments: TokenStream = [reference, value].into_iter().collect();
    arguments.extend(tokens(", &mut sentence"));
    let mut call = tokens("::windlass_base::Say::say");
    call.extend([TokenTree::from(Group::new(Delimiter::Parenthesis, arguments))]);
    call.extend(tokens(";"));
    call
}

/// A value behind the template, and its name where it has one.
struct Argument {
    name: Option<String>,
    value: TokenStream,
}

/// What stands between commas.
fn arguments(input: TokenStream) -> Vec<Argument> {
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(one) if one.as_char() == ',');
    let all: Vec<TokenTree> = input.into_iter().collect();
    let values = all.split(is_comma).filter(|value| !value.is_empty());
    values
        .map(|value| match value {
            [TokenTree::Ident(name), TokenTree::Punct(is), value @ ..]
                if is.as_char() == '=' && is.spacing() == Spacing::Alone =>
            {
                let value = value.iter().cloned().collect();
                Argument { name: Some(name.to_string()), value }
            }
            value => Argument { name: None, value: value.iter().cloned().collect() },
        })
        .collect()
}

/// The template as it stands in the source, with its quotes.
fn literal(template: TokenStream) -> Option<(Span, String)> {
    let mut tokens = template.into_iter();
    let (Some(token), None) = (tokens.next(), tokens.next()) else { return None };
    match token {
        TokenTree::Literal(text) => {
            let source = text.to_string();
            source.starts_with('"').then(|| (text.span(), source))
        }
        // A template that another macro hands on stands in a group without delimiters.
        TokenTree::Group(group) => literal(group.stream()),
        _ => None,
    }
}

/// A piece of the template.
enum Part {
    /// Words, as a literal of the source.
    Words(String),
    /// The next value.
    Next,
    /// The value of this name.
    Named(String),
}

fn parts(literal: &str) -> Result<Vec<Part>, String> {
    let inner = literal.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let mut letters = inner.ok_or("the template is a string")?.chars().peekable();
    let (mut parts, mut words) = (Vec::new(), String::new());
    while let Some(letter) = letters.next() {
        match letter {
            // `\u{a0}` has braces of its own.
            '\\' => escape(&mut letters, &mut words),
            '{' if letters.next_if_eq(&'{').is_some() => words.push('{'),
            '}' if letters.next_if_eq(&'}').is_some() => words.push('}'),
            '}' => return Err("a brace is closed that was not opened".to_owned()),
            '{' => {
                if !words.is_empty() {
                    parts.push(Part::Words(format!("\"{words}\"")));
                    words.clear();
                }
                parts.push(braced(&mut letters)?);
            }
            letter => words.push(letter),
        }
    }
    if !words.is_empty() {
        parts.push(Part::Words(format!("\"{words}\"")));
    }
    Ok(parts)
}

fn escape(letters: &mut Peekable<Chars<'_>>, words: &mut String) {
    words.push('\\');
    let Some(escaped) = letters.next() else { return };
    words.push(escaped);
    if escaped == 'u' {
        for letter in letters.by_ref() {
            words.push(letter);
            if letter == '}' {
                return;
            }
        }
    }
}

fn braced(letters: &mut Peekable<Chars<'_>>) -> Result<Part, String> {
    let mut name = String::new();
    for letter in letters {
        match letter {
            '}' if name.is_empty() => return Ok(Part::Next),
            '}' => return Ok(Part::Named(name)),
            letter if letter.is_alphanumeric() || letter == '_' => name.push(letter),
            _ => return Err("how a number reads is said by its type, not in braces".to_owned()),
        }
    }
    Err("a brace is not closed".to_owned())
}
