//! Who asks, and what they may do.
//!
//! Two roles: whoever is in the group `system:masters` may do everything, whoever is in
//! `punctual:view` may read everything but secrets. Others may ask about themselves. Nobody in
//! particular may see that the server is well, and its version.

mod policy;
mod review;

use http::{HeaderMap, header};
use punctual_api::Status;
use subtle::ConstantTimeEq;

pub(crate) use self::policy::{Asked, authorize};
pub(crate) use self::review::answer as answer_review;

/// The group whose members may do everything.
pub const ADMIN_GROUP: &str = "system:masters";
/// The group whose members may read everything but secrets.
pub const VIEW_GROUP: &str = "punctual:view";
const AUTHENTICATED: &str = "system:authenticated";

/// Somebody who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// Groups.
    pub groups: Vec<String>,
}

impl User {
    /// Somebody known by name, in one group.
    pub fn new(name: &str, group: &str) -> User {
        User { name: name.to_owned(), groups: vec![group.to_owned(), AUTHENTICATED.to_owned()] }
    }

    /// Nobody in particular.
    pub fn anonymous() -> User {
        let groups = vec!["system:unauthenticated".to_owned()];
        User { name: "system:anonymous".to_owned(), groups }
    }

    /// The subject of a client's certificate: its common name, and organizations as groups.
    pub fn from_certificate(der: &[u8]) -> Option<User> {
        let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
        let subject = certificate.subject();
        let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
        let organizations = subject.iter_organization().filter_map(|o| o.as_str().ok());
        let groups = organizations.chain([AUTHENTICATED]).map(str::to_owned).collect();
        Some(User { name, groups })
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}

/// Tokens and whom they stand for.
#[derive(Clone, Default)]
pub struct Tokens {
    known: Vec<(String, User)>,
}

impl Tokens {
    /// Adds a token. An empty one is nobody's.
    pub fn add(&mut self, token: &str, user: User) {
        if !token.is_empty() {
            self.known.push((token.to_owned(), user));
        }
    }

    /// Whom a token stands for. Takes the same time whichever it is, and however much of it is right.
    fn find(&self, token: &str) -> Option<&User> {
        let mut found = None;
        for (known, user) in &self.known {
            if bool::from(known.as_bytes().ct_eq(token.as_bytes())) {
                found = Some(user);
            }
        }
        found
    }

    /// Who asks, by the header of the request.
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
        tokens.add("", User::new("nobody", ADMIN_GROUP));
        tokens
    }

    fn asked(authorization: &str) -> Result<User, u16> {
        let headers =
            HeaderMap::from_iter([(header::AUTHORIZATION, authorization.parse().unwrap())]);
        tokens().authenticate(&headers).map_err(|status| status.code)
    }

    #[test]
    fn a_token_stands_for_its_user_and_a_wrong_one_for_nobody() {
        assert_eq!(asked("Bearer secret").unwrap().name, "admin");
        assert_eq!(asked("bearer  secret").unwrap().name, "admin");
        for wrong in ["Bearer wrong", "Bearer secre", "Bearer ", "Bearer", "Basic secret", "secret"]
        {
            assert_eq!(asked(wrong), Err(401), "{wrong}");
        }
    }

    #[test]
    fn without_a_token_nobody_in_particular_asks() {
        assert_eq!(tokens().authenticate(&HeaderMap::new()).unwrap(), User::anonymous());
    }
}
