//! Code derived for a type, field by field or value by value.

use heck::ToKebabCase as _;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Ident, Result};

/// Derives `windlass_base::Named`: `id()`, `ALL`, and the name in text and in records.
pub(crate) fn named(item: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(body) = &item.data else {
        return Err(Error::new_spanned(item, "the values of an enum have names"));
    };
    let name = &item.ident;
    let values: Vec<&Ident> = body.variants.iter().map(|value| &value.ident).collect();
    let ids = values.iter().map(|value| value.to_string().to_kebab_case());
    let count = values.len();
    Ok(quote! {
        #[automatically_derived]
        impl #name {
            /// All values, in the order in which they are listed.
            pub const ALL: [Self; #count] = [#(Self::#values),*];

            /// The stable name that reports and JSON use.
            pub const fn id(self) -> &'static str {
                match self { #(Self::#values => #ids),* }
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.id())
            }
        }

        #[automatically_derived]
        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.id())
            }
        }
    })
}

/// Derives `windlass_base::AsText`: a value is its displayed text in records.
pub(crate) fn as_text(item: &DeriveInput) -> TokenStream {
    let name = &item.ident;
    quote! {
        #[automatically_derived]
        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
    }
}

/// Derives `windlass_trace`'s `Packed` of a structure, one field behind the other.
pub(crate) fn packed(item: &DeriveInput) -> Result<TokenStream> {
    let fields = fields(item)?;
    let pack = quote!(#(Packed::pack(&self.#fields, to);)*);
    Ok(packing(item, &pack, &quote!(Self { #(#fields: Packed::unpack(from)),* })))
}

/// Derives `Packed` of a structure with mostly default values: a set of bits says which fields
/// differ, and those fields follow.
pub(crate) fn packed_sparsely(item: &DeriveInput) -> Result<TokenStream> {
    let fields = fields(item)?;
    if !(1..=64).contains(&fields.len()) {
        let wrong = "what is packed sparsely is a structure of 1 to 64 fields";
        return Err(Error::new_spanned(item, wrong));
    }
    let bits: Vec<u64> = (0..fields.len()).map(|place| 1 << place).collect();
    let pack = quote! {
        let first = Self::default();
        let mut bits = 0_u64;
        #(if self.#fields != first.#fields { bits |= #bits; })*
        Packed::pack(&bits, to);
        #(if bits & #bits != 0 { Packed::pack(&self.#fields, to); })*
    };
    let unpack = quote! {
        let mut this = Self::default();
        let bits: u64 = Packed::unpack(from);
        #(if bits & #bits != 0 { this.#fields = Packed::unpack(from); })*
        this
    };
    Ok(packing(item, &pack, &unpack))
}

fn fields(item: &DeriveInput) -> Result<Vec<&Ident>> {
    let fields = match &item.data {
        Data::Struct(body) => body.fields.iter().map(|field| field.ident.as_ref()).collect(),
        _ => None,
    };
    fields.ok_or_else(|| Error::new_spanned(item, "a structure with named fields can be packed"))
}

fn packing(item: &DeriveInput, pack: &TokenStream, unpack: &TokenStream) -> TokenStream {
    let name = &item.ident;
    quote! {
        #[automatically_derived]
        const _: () = {
            use crate::packed::{Packed, Packer, Unpacker};
            impl Packed for #name {
                fn pack(&self, to: &mut Packer) { #pack }
                fn unpack(from: &mut Unpacker<'_>) -> Self { #unpack }
            }
        };
    }
}
