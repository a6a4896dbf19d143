//! The macros of windlass.
//!
//! `sentence!`, which `windlass_base` re-exports, takes words with figures in them, written as for
//! `format!`. Words and figures stay apart until they are printed.
//!
//! `sentence!("{host} takes {window} at a time.")` keeps the words apart from the window. The code
//! that prints the sentence chooses the form of a window, and never breaks a line between a number
//! and its unit. Braces take no width and no precision: the type of a number says how the number is
//! written.

mod derive;

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{DeriveInput, Error, Expr, Ident, LitStr, Token, parse_macro_input};

/// A sentence in pieces: `sentence!("{} of {whole}", part, whole = Bytes::new(9))`.
///
/// Braces hold the name of a value in scope, or a field of one (`{disk.name}`), or a name given
/// behind the template, or nothing: then the next of the values behind it. All values implement
/// `windlass_base::Say`.
#[proc_macro]
pub fn sentence(input: TokenStream) -> TokenStream {
    code(parse_macro_input!(input as Template).pieces())
}

/// Names the values of an enum: `id()` is the name of a value in reports and JSON (`ack-latency`
/// for `AckLatency`), and `ALL` lists the values. Values are displayed and serialised as their
/// names.
#[proc_macro_derive(Named)]
pub fn named(item: TokenStream) -> TokenStream {
    code(derive::named(&parse_macro_input!(item as DeriveInput)))
}

/// Serialises a type as the text that it displays.
#[proc_macro_derive(AsText)]
pub fn as_text(item: TokenStream) -> TokenStream {
    derive::as_text(&parse_macro_input!(item as DeriveInput)).into()
}

/// Packs a structure field by field.
#[proc_macro_derive(Packed)]
pub fn packed(item: TokenStream) -> TokenStream {
    code(derive::packed(&parse_macro_input!(item as DeriveInput)))
}

/// Packs a structure of at most 64 fields, most of which have their default values.
#[proc_macro_derive(PackedSparsely)]
pub fn packed_sparsely(item: TokenStream) -> TokenStream {
    code(derive::packed_sparsely(&parse_macro_input!(item as DeriveInput)))
}

fn code(made: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    made.unwrap_or_else(Error::into_compile_error).into()
}

/// The words of a sentence, and the contents of their braces.
struct Template {
    text: LitStr,
    values: Punctuated<Value, Token![,]>,
}

/// A value behind the template, and its name if it has one.
struct Value {
    name: Option<Ident>,
    value: Expr,
}

impl Parse for Template {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let text = input.parse()?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Ok(Self { text, values: Punctuated::parse_terminated(input)? })
    }
}

impl Parse for Value {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let has_name = input.peek2(Token![=]) && !input.peek2(Token![==]);
        let name = has_name.then(|| input.parse()).transpose()?;
        if has_name {
            input.parse::<Token![=]>()?;
        }
        Ok(Self { name, value: input.parse()? })
    }
}

impl Template {
    /// Returns the code of a sentence that says its words and values in turn.
    fn pieces(self) -> syn::Result<proc_macro2::TokenStream> {
        let wrong = |why: &str| Error::new(self.text.span(), why);
        let (named, rest): (Vec<_>, Vec<_>) =
            self.values.into_iter().partition(|value| value.name.is_some());
        let mut rest = rest.into_iter();
        let (mut pieces, mut words) = (Vec::new(), String::new());
        let template = self.text.value();
        let mut left = template.as_str();
        while let Some(at) = left.find(['{', '}']) {
            let (before, brace) = left.split_at(at);
            words.push_str(before);
            if brace.starts_with("{{") || brace.starts_with("}}") {
                words.push_str(&brace[..1]);
                left = &brace[2..];
                continue;
            }
            let inner = brace.strip_prefix('{');
            let inner = inner.ok_or_else(|| wrong("a brace is closed that was not opened"))?;
            let (name, behind) =
                inner.split_once('}').ok_or_else(|| wrong("a brace is not closed"))?;
            left = behind;
            if !words.is_empty() {
                pieces.push(std::mem::take(&mut words).into_token_stream());
            }
            pieces.push(if name.is_empty() {
                let next = rest.next().ok_or_else(|| wrong("there are more braces than values"))?;
                next.value.into_token_stream()
            } else {
                let ident = |part: &str| {
                    let mut ident = Ident::parse_any.parse_str(part).map_err(|_| {
                        wrong("how a number reads is said by its type, not in braces")
                    })?;
                    ident.set_span(self.text.span());
                    Ok(ident)
                };
                let path = name.split('.').map(ident).collect::<syn::Result<Vec<Ident>>>()?;
                match named.iter().find(|one| one.name.as_ref().is_some_and(|own| own == name)) {
                    Some(one) => one.value.to_token_stream(),
                    None => quote!(#(#path).*),
                }
            });
        }
        words.push_str(left);
        if !words.is_empty() {
            pieces.push(words.into_token_stream());
        }
        if rest.next().is_some() {
            return Err(wrong("there are more values than braces"));
        }
        Ok(quote!({
            let mut sentence = ::windlass_base::Sentence::new();
            #(::windlass_base::Say::say(&(#pieces), &mut sentence);)*
            sentence
        }))
    }
}
