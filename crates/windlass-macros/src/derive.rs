//! What is derived of a type, field by field or value by value.

use proc_macro::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// What a derive needs to know of a structure, or of an enum of plain values.
pub(crate) struct Item {
    pub(crate) name: String,
    body: Group,
}

impl Item {
    /// Of an item without generic parameters.
    pub(crate) fn of(item: TokenStream) -> Option<Self> {
        let mut tokens = item.into_iter();
        tokens.find(|token| matches!(token.to_string().as_str(), "struct" | "enum"))?;
        let name = tokens.next()?.to_string();
        match tokens.next()? {
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
                Some(Self { name, body })
            }
            _ => None,
        }
    }

    /// Its fields or its values: each name that one of these follows, or nothing.
    pub(crate) fn names(&self, behind: &[char]) -> Vec<String> {
        let tokens: Vec<TokenTree> = self.body.stream().into_iter().collect();
        let is_end = |token: Option<&TokenTree>| match token {
            Some(TokenTree::Punct(end)) => {
                behind.contains(&end.as_char()) && end.spacing() == Spacing::Alone
            }
            Some(_) => false,
            None => behind.contains(&','),
        };
        let names = tokens.iter().enumerate().filter(|(place, token)| {
            matches!(token, TokenTree::Ident(_)) && is_end(tokens.get(place + 1))
        });
        names.map(|(_, name)| name.to_string()).collect()
    }
}

/// `windlass_base::Named`: `id()`, `ALL`, and the name as it reads and in records.
pub(crate) fn named(item: &Item) -> String {
    let Item { name, .. } = item;
    // A value may have its number.
    let values = item.names(&[',', '=']);
    let all: String = values.iter().map(|value| format!("Self::{value},")).collect();
    let ids: String =
        values.iter().map(|value| format!("Self::{value} => \"{}\",", kebab(value))).collect();
    format!(
        "#[automatically_derived]
        impl {name} {{
            /// Each of them, in the order in which they are listed.
            pub const ALL: [Self; {count}] = [{all}];

            /// The stable name that reports and JSON use.
            pub const fn id(self) -> &'static str {{
                match self {{ {ids} }}
            }}
        }}

        #[automatically_derived]
        impl ::core::fmt::Display for {name} {{
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{
                f.pad(self.id())
            }}
        }}

        #[automatically_derived]
        impl ::serde::Serialize for {name} {{
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {{
                to.serialize_str(self.id())
            }}
        }}",
        count = values.len(),
    )
}

/// `AckLatency` as `ack-latency`.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}

/// `windlass_trace`'s `Packed`, of a structure: each field behind the other.
pub(crate) fn packed(item: &Item) -> String {
    let fields = item.names(&[':']);
    let pack = fields.iter().map(|field| format!("Packed::pack(&self.{field}, to);"));
    let unpack = fields.iter().map(|field| format!("{field}: Packed::unpack(from),"));
    let unpack = format!("Self {{ {} }}", unpack.collect::<String>());
    packing(item, &pack.collect::<String>(), &unpack)
}

/// The same where most fields are what they were at first: which of them are not, and those.
pub(crate) fn packed_sparsely(item: &Item) -> String {
    let fields = item.names(&[':']);
    if !(1..=64).contains(&fields.len()) {
        let wrong = "what is packed sparsely is a structure of 1 to 64 fields";
        return format!("::core::compile_error!({wrong:?});");
    }
    let all = fields.iter().enumerate();
    let bits = all.clone().map(|(place, field)| {
        format!("bits |= u64::from(self.{field} != first.{field}) << {place};")
    });
    let pack = all.clone().map(|(place, field)| {
        format!("if bits >> {place} & 1 == 1 {{ Packed::pack(&self.{field}, to); }}")
    });
    let unpack = all.map(|(place, field)| {
        format!("if bits >> {place} & 1 == 1 {{ this.{field} = Packed::unpack(from); }}")
    });
    let pack = format!(
        "let first = Self::default(); let mut bits = 0_u64; {} Packed::pack(&bits, to); {}",
        bits.collect::<String>(),
        pack.collect::<String>(),
    );
    let unpack = format!(
        "let mut this = Self::default(); let bits: u64 = Packed::unpack(from); {} this",
        unpack.collect::<String>(),
    );
    packing(item, &pack, &unpack)
}

fn packing(Item { name, .. }: &Item, pack: &str, unpack: &str) -> String {
    format!(
        "#[automatically_derived]
        const _: () = {{
            use crate::packed::{{Packed, Packer, Unpacker}};
            impl Packed for {name} {{
                fn pack(&self, to: &mut Packer) {{ {pack} }}
                fn unpack(from: &mut Unpacker<'_>) -> Self {{ {unpack} }}
            }}
        }};"
    )
}
