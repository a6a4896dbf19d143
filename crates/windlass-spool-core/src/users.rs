//! Users of a printer: CUPS's `requesting-user-name-allowed` and `-denied`.

use serde::{Deserialize, Serialize};

/// Users who may print on a printer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Users {
    /// Everybody.
    #[default]
    All,
    /// These users alone.
    Only(Vec<String>),
    /// Everybody but these users.
    Except(Vec<String>),
}

/// Error of a word that is not a user name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a user: list users by name, not groups")]
pub struct UsersError(String);

impl Users {
    /// Allows the named users alone, or everybody by the word `all` (lpadmin(8)).
    ///
    /// # Errors
    /// Returns an error if a word is not a user name.
    pub fn allowed(words: Vec<String>) -> Result<Self, UsersError> {
        Ok(match names(words)? {
            names if names.iter().any(|name| name == "all") => Self::All,
            names if names.iter().any(|name| name == "none") => Self::Only(Vec::new()),
            names => Self::Only(names),
        })
    }

    /// Denies the named users, or nobody by the word `none`.
    ///
    /// # Errors
    /// Returns an error if a word is not a user name.
    pub fn denied(words: Vec<String>) -> Result<Self, UsersError> {
        Ok(match names(words)? {
            names if names.is_empty() || names.iter().any(|name| name == "none") => Self::All,
            names if names.iter().any(|name| name == "all") => Self::Only(Vec::new()),
            names => Self::Except(names),
        })
    }

    /// Returns whether a user may print. User names ignore case, as in IPP.
    pub fn have(&self, user: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(user));
        match self {
            Self::All => true,
            Self::Only(names) => is_named(names),
            Self::Except(names) => !is_named(names),
        }
    }
}

fn names(words: Vec<String>) -> Result<Vec<String>, UsersError> {
    let is_name = |word: &String| !word.is_empty() && !word.starts_with('@');
    match words.iter().find(|word| !is_name(word)) {
        Some(word) => Err(UsersError(word.clone())),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn users_are_those_that_lpadmin_names() {
        let have = |users: Result<Users, UsersError>| {
            let users = users.unwrap();
            ["ann", "ANN", "bob"].map(|user| users.have(user))
        };
        assert_eq!(have(Ok(Users::All)), [true; 3]);
        assert_eq!(have(Users::allowed(words(&["ann", "cid"]))), [true, true, false]);
        assert_eq!(have(Users::allowed(words(&["all"]))), [true; 3]);
        assert_eq!(have(Users::allowed(words(&["none"]))), [false; 3]);
        assert_eq!(have(Users::denied(words(&["ann"]))), [false, false, true]);
        assert_eq!(have(Users::denied(words(&["none"]))), [true; 3]);
        assert_eq!(have(Users::denied(words(&["all"]))), [false; 3]);
        let no = Users::allowed(words(&["ann", "@staff"])).unwrap_err();
        assert_eq!(no.to_string(), "\"@staff\" is not a user: list users by name, not groups");
    }
}
