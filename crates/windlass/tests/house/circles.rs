//! Files depend on one another in one direction, so that a crate can be read from the bottom. A
//! module and its children may need each other, and its children may not.

use std::collections::{BTreeMap, BTreeSet};

/// The path of a module in its crate, `["live", "file"]`, or of what is in it.
type Path = Vec<String>;

/// A file of a crate, without its tests and comments.
struct File {
    code: String,
    /// Targets of names: imports and children.
    names: BTreeMap<String, Path>,
}

impl File {
    fn new(module: &[String], text: &str) -> Self {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().map(|line| line.split("//").next().unwrap());
        let code = lines.collect::<Vec<_>>().join("\n");
        let mut names = BTreeMap::new();
        let within = |name: &str| [module, &[name.to_owned()]].concat();
        for (at, _) in code.match_indices("mod ") {
            let rest = &code[at + 4..];
            let name = &rest[..word(rest)];
            if begins(&code, at) && rest[name.len()..].starts_with(';') {
                names.insert(name.to_owned(), within(name));
            }
        }
        let mut imported = Vec::new();
        for (at, _) in code.match_indices("use ").filter(|(at, _)| begins(&code, *at)) {
            tree(&code[at + 4..], Path::new(), &mut imported);
        }
        for (path, name) in imported {
            let of_child = names.get(&path[0]).map(|child| [child, &path[1..]].concat());
            if let Some(path) = absolute(&path, module).or(of_child) {
                names.insert(name, path);
            }
        }
        Self { code, names }
    }

    /// All that it names of its crate.
    fn named(&self, module: &[String]) -> Vec<Path> {
        let mut named: Vec<Path> = self.names.values().cloned().collect();
        // That it has a child is no need of it.
        named.retain(|path| !(path.len() == module.len() + 1 && path.starts_with(module)));
        let mut more = |start: &str, path: &dyn Fn(&[String]) -> Option<Path>| {
            for (at, _) in self.code.match_indices(&format!("{start}::")) {
                if begins(&self.code, at) {
                    let mut found = Vec::new();
                    tree(&self.code[at..], Path::new(), &mut found);
                    named.extend(found.iter().filter_map(|(found, _)| path(found)));
                }
            }
        };
        for start in ["crate", "super"] {
            more(start, &|found| absolute(found, module));
        }
        for (name, path) in &self.names {
            more(name, &|found| Some([path, &found[1..]].concat()));
        }
        named
    }
}

/// Returns the length of the name at the start of a text.
fn word(text: &str) -> usize {
    text.find(|one: char| !one.is_alphanumeric() && one != '_').unwrap_or(text.len())
}

/// Returns whether a name begins here.
fn begins(code: &str, at: usize) -> bool {
    let before = code[..at].chars().next_back().unwrap_or(' ');
    !before.is_alphanumeric() && !"_:.".contains(before)
}

/// A path that begins at the crate, or near a module.
fn absolute(path: &[String], module: &[String]) -> Option<Path> {
    let near = |name: &&String| ["self", "super"].contains(&name.as_str());
    let up = path.iter().take_while(near);
    let rest = &path[up.clone().count()..];
    match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" | "super" => {
            let up = up.filter(|name| *name == "super").count();
            Some([&module[..module.len().saturating_sub(up)], rest].concat())
        }
        _ => None,
    }
}

/// Takes the tree of paths that a text begins with, such as `a::{b, c::d as e}`,
/// each with its name, and gives what is behind it.
fn tree<'a>(mut text: &'a str, mut path: Path, paths: &mut Vec<(Path, String)>) -> &'a str {
    loop {
        text = text.trim_start();
        if let Some(mut inner) = text.strip_prefix('{') {
            loop {
                inner = tree(inner, path.clone(), paths).trim_start();
                match inner.strip_prefix(',') {
                    Some(next) => inner = next,
                    None => return inner.strip_prefix('}').unwrap_or(inner),
                }
            }
        }
        let (name, rest) = text.split_at(word(text));
        // `self` in a tree is what the tree begins with.
        if path.is_empty() || name != "self" {
            path.push(name.to_owned());
        }
        if let Some(next) = rest.strip_prefix("::") {
            text = next;
            continue;
        }
        let other = rest.strip_prefix(" as ");
        let name = other.map_or(path[path.len() - 1].as_str(), |other| &other[..word(other)]);
        let name = name.to_owned();
        paths.push((path, name));
        return other.map_or(rest, |other| &other[word(other)..]);
    }
}

/// The modules of a crate, and what each needs, directly or not.
struct Needs(BTreeMap<Path, BTreeSet<Path>>);

impl Needs {
    fn of(files: &[(String, String)]) -> Self {
        let module = |file: &str| {
            let path = file.trim_end_matches(".rs").split('/');
            let mut module: Path = path.map(ToOwned::to_owned).collect();
            module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            module
        };
        let files: BTreeMap<Path, File> = files
            .iter()
            .map(|(file, text)| (module(file), text))
            .map(|(module, text)| (module.clone(), File::new(&module, text)))
            .collect();
        let direct = files.iter().map(|(module, file)| {
            let needed = file.named(module);
            let needed = needed.iter().map(|path| Self::defining(path, &files, 0));
            // What a family needs of each other is no need of its members.
            let family = |other: &Path| other.starts_with(module) || module.starts_with(other);
            (module.clone(), needed.filter(|needed| !family(needed)).collect())
        });
        let direct: BTreeMap<Path, BTreeSet<Path>> = direct.collect();
        let all = |from: &Path| {
            let (mut all, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = next.pop() {
                for to in direct.get(&module).into_iter().flatten() {
                    if all.insert(to.clone()) {
                        next.push(to.clone());
                    }
                }
            }
            all
        };
        Self(direct.keys().map(|from| (from.clone(), all(from))).collect())
    }

    /// The module in which a path ends, also by what others import and give on.
    fn defining(path: &[String], files: &BTreeMap<Path, File>, depth: usize) -> Path {
        let place =
            (0..path.len()).take_while(|place| files.contains_key(&path[..=*place])).count();
        let (module, rest) = path.split_at(place);
        let file = files.get(module);
        let given = rest.first().and_then(|name| file?.names.get(name));
        match given {
            Some(given) if depth < 8 && given != path => {
                Self::defining(&[given, &rest[1..]].concat(), files, depth + 1)
            }
            _ => module.to_vec(),
        }
    }

    /// The circles of modules that need each other.
    fn circles(&self) -> BTreeSet<Vec<&Path>> {
        let circle = |of: &Path| -> Vec<&Path> {
            let back = |to: &&Path| self.0.get(*to).is_some_and(|needs| needs.contains(of));
            self.0[of].iter().filter(back).collect()
        };
        self.0.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
    }
}

/// Circles of the archive that stand: its store asks for the sums, which ask in SQL, which asks
/// the executors, which add; and who adds replaces. They go with that store.
const STANDING: [&str; 12] = [
    "add",
    "add::known",
    "cluster::codec",
    "cluster::map",
    "cluster::query",
    "cluster::submit",
    "cluster::task",
    "replace",
    "rewrite",
    "sql::session",
    "store",
    "sums",
];

#[test]
fn files_depend_on_one_another_in_one_direction() {
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (name, text) in super::sources() {
        if let Some((start, file)) = name.split_once("/src/") {
            crates.entry(start.to_owned()).or_default().push((file.to_owned(), text));
        }
    }
    assert!(crates.keys().any(|name| name.ends_with("archive")), "{:?}", crates.keys());
    let named = |(name, files): (String, Vec<_>)| {
        let needs = Needs::of(&files);
        let in_circles: BTreeSet<String> =
            needs.circles().into_iter().flatten().map(|path| path.join("::")).collect();
        let known: &[&str] = if name.ends_with("archive") { &STANDING } else { &[] };
        let known = known.iter().map(|name| (*name).to_owned()).collect();
        (in_circles != known).then(|| format!("{name}: {in_circles:?}"))
    };
    let found: Vec<String> = crates.into_iter().filter_map(named).collect();
    assert!(found.is_empty(), "files need each other: {found:#?}");
}

#[test]
fn a_circle_is_found_and_a_family_is_none() {
    let circles = |files: &[(&str, &str)]| -> Vec<Vec<String>> {
        let files: Vec<_> = files.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        let needs = Needs::of(&files);
        let named = |circle: &Vec<&Path>| circle.iter().map(|path| path.join("::")).collect();
        needs.circles().iter().map(named).collect()
    };
    let twins = [
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "use crate::b::{self, Second};\nfn first() {}"),
        ("b/mod.rs", "use std::io;\nuse super::a::first;"),
    ];
    assert_eq!(circles(&twins), [["a", "b"]]);
    // By what others give on, and by a module that was imported.
    let hidden = [
        ("lib.rs", "mod a;\nmod b;\npub use a::first as one;"),
        ("a.rs", "use crate::b;\nfn first() { b::inner::second() }"),
        ("b/mod.rs", "pub mod inner;"),
        ("b/inner.rs", "fn second() { crate::one() }"),
    ];
    assert_eq!(circles(&hidden), [["a", "b::inner"]]);
    let family = [
        ("a/mod.rs", "mod b;\nuse self::b::Second;"),
        ("a/b.rs", "use super::First;\n// crate::c::Third"),
        ("c.rs", "use crate::{a::{First, b}, d as other};"),
        ("d.rs", "#[cfg(test)]\nmod tests {\n    use crate::c::Third;\n}"),
    ];
    assert_eq!(circles(&family), [[""; 0]; 0]);
    // Children of one module, in a circle that their parent is no part of.
    let siblings = [
        ("a/mod.rs", "mod b;\nmod c;\npub use self::c::Third;"),
        ("a/b.rs", "use super::c::Third;"),
        ("a/c.rs", "use crate::a::b::Second;"),
    ];
    assert_eq!(circles(&siblings), [["a::b", "a::c"]]);
}
