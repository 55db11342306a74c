//! The users that sources refer to by name.

use std::collections::HashMap;

/// Users by name, as in a passwd file.
#[derive(Clone, Debug, Default)]
pub struct UserTable(HashMap<String, UserEntry>);

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserEntry {
    pub(crate) name: String,
    pub(crate) uid: i64,
    pub(crate) gid: i64,
    pub(crate) home: String,
}

impl UserTable {
    /// Reads the text of a passwd file. Lines that do not have its form are ignored.
    pub fn parse(passwd: &str) -> UserTable {
        let entries = passwd.lines().filter_map(UserEntry::parse);
        UserTable(entries.map(|entry| (entry.name.clone(), entry)).collect())
    }

    /// Finds a user by name, or by number as systemd allows.
    pub(crate) fn find(&self, name: &str) -> Option<&UserEntry> {
        let by_number = || {
            let uid: i64 = name.parse().ok()?;
            self.0.values().find(|entry| entry.uid == uid)
        };
        self.0.get(name).or_else(by_number)
    }
}

impl UserEntry {
    fn parse(line: &str) -> Option<UserEntry> {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        let home = fields.nth(1)?;
        Some(UserEntry { name: name.into(), uid, gid, home: home.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number() {
        let table = UserTable::parse("root:x:0:0:root:/root:/bin/sh\nbroken\nweb:x:33:34::/srv:\n");
        let web = table.find("web").unwrap();
        assert_eq!((web.uid, web.gid, web.home.as_str()), (33, 34, "/srv"));
        assert_eq!(table.find("33"), Some(web));
        assert_eq!(table.find("broken"), None);
    }
}
