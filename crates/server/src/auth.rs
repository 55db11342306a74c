//! Authentication and authorization.
//!
//! There are two roles. Members of the group `system:masters` may do everything. Members of
//! `punctual:view` may read everything but Secrets. Other authenticated users may use discovery and
//! query their own permissions (SelfSubjectAccessReview). Anonymous clients may read the health
//! endpoints and the version.

mod policy;
mod review;

use http::{HeaderMap, header};
use punctual_api::Status;
use subtle::ConstantTimeEq;

pub(crate) use self::policy::{AccessAttributes, authorize};
pub(crate) use self::review::evaluate_review;

/// The group of administrators.
pub const ADMIN_GROUP: &str = "system:masters";
/// The group of users who may read everything but Secrets.
pub const VIEW_GROUP: &str = "punctual:view";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A user and the groups that decide the user's permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
}

impl User {
    /// Returns an authenticated user in one group.
    pub fn new(name: &str, group: &str) -> User {
        User { name: name.to_owned(), groups: vec![group.to_owned(), AUTHENTICATED.to_owned()] }
    }

    /// Returns the user of requests without credentials.
    pub fn anonymous() -> User {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        User { name: "system:anonymous".to_owned(), groups }
    }

    /// Returns the user of a client certificate: its common name is the name, its organizations are
    /// the groups.
    pub fn from_certificate(der: &[u8]) -> Option<User> {
        let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
        let subject = certificate.subject();
        let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
        let organizations = subject.iter_organization().filter_map(|o| o.as_str().ok());
        let groups = organizations.chain([AUTHENTICATED]).map(str::to_owned).collect();
        Some(User { name, groups })
    }

    /// Whether the request had no credentials.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.is_member_of(UNAUTHENTICATED)
    }

    pub(crate) fn is_member_of(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}

/// Accepted bearer tokens and their users.
#[derive(Clone, Default)]
pub struct Tokens {
    entries: Vec<(String, User)>,
}

impl Tokens {
    /// Adds a token. Ignores an empty one, which would match empty credentials.
    pub fn add(&mut self, token: &str, user: User) {
        if !token.is_empty() {
            self.entries.push((token.to_owned(), user));
        }
    }

    /// Returns the user of a token. It compares all tokens in constant time, so that timing reveals
    /// nothing about them.
    pub fn find(&self, token: &str) -> Option<&User> {
        let mut found = None;
        for (accepted, user) in &self.entries {
            if bool::from(accepted.as_bytes().ct_eq(token.as_bytes())) {
                found = Some(user);
            }
        }
        found
    }

    /// Returns the user of a request by its `Authorization` header.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<User, Status> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return Ok(User::anonymous());
        };
        let text = value.to_str().unwrap_or_default();
        let token =
            text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let user = token.and_then(|(_, token)| self.find(token.trim()));
        user.cloned().ok_or_else(Status::unauthorized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Tokens {
        let mut tokens = Tokens::default();
        tokens.add("secret", User::new("admin", ADMIN_GROUP));
        tokens.add("", User::new("empty", ADMIN_GROUP));
        tokens
    }

    fn authenticate(authorization: &str) -> Result<User, u16> {
        let headers =
            HeaderMap::from_iter([(header::AUTHORIZATION, authorization.parse().unwrap())]);
        tokens().authenticate(&headers).map_err(|status| status.code)
    }

    #[test]
    fn only_known_bearer_tokens_are_accepted() {
        assert_eq!(authenticate("Bearer secret").unwrap().name, "admin");
        assert_eq!(authenticate("bearer  secret").unwrap().name, "admin");
        for wrong in ["Bearer wrong", "Bearer secre", "Bearer ", "Bearer", "Basic secret", "secret"]
        {
            assert_eq!(authenticate(wrong), Err(401), "{wrong}");
        }
    }

    #[test]
    fn requests_without_a_token_are_anonymous() {
        assert_eq!(tokens().authenticate(&HeaderMap::new()).unwrap(), User::anonymous());
    }
}
