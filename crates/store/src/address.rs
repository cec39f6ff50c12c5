//! The address of an object, a folder of objects, or a file of a web server.

use std::path::Path;

use glob::Pattern;
use object_store::path::Path as Key;

use crate::error::StoreError;
use crate::listing::{OF_ONE_NAME, is_left_out};

/// Where an object, or several, stand. Two that differ may still name the same place: [`Address::identity`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    pub(crate) place: Place,
}

/// A place in a store, or a file of a web server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A key of a bucket: the scheme, the bucket (for Azure perhaps `container@account`), and the key as given.
    Bucket { scheme: Scheme, bucket: String, key: String },
    /// A file of a web server, with what follows `?`, which may be a signature.
    Web { url: String, query: Option<String> },
}

/// A kind of store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    /// Amazon S3, and everything that speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
}

/// Their names in addresses.
const SCHEMES: [(&str, Scheme); 5] =
    [("s3", Scheme::S3), ("s3a", Scheme::S3), ("gs", Scheme::Gs), ("az", Scheme::Az), ("abfss", Scheme::Az)];

/// The schemes of web servers.
const WEB: [&str; 2] = ["https", "http"];

/// Why a key cannot be named: the library would read another one.
const ODD_PART: &str = "a part of its path is empty or a dot";

fn parse(key: &str) -> Result<Key, StoreError> {
    Key::parse(key).map_err(|_| StoreError::Address(ODD_PART.to_owned()))
}

impl Address {
    /// The address, if the text has the form of one, `scheme://…`; none for a path of this machine.
    ///
    /// # Errors
    /// It has that form and names no place, or one of an unknown kind.
    pub fn of(path: &Path) -> Result<Option<Address>, StoreError> {
        let text = path.to_str().unwrap_or_default();
        let Some((scheme, rest)) = text.split_once("://") else {
            // Libraries for paths of a disk make one slash of two.
            let mut known = SCHEMES.iter().map(|(scheme, _)| *scheme).chain(WEB);
            let one_slash = |scheme| text.strip_prefix(scheme).is_some_and(|rest| rest.starts_with(":/"));
            return match known.any(one_slash) {
                true => {
                    Err(StoreError::Address("write it with two slashes behind the colon, as text".to_owned()))
                }
                false => Ok(None),
            };
        };
        // One letter is a drive of Windows.
        if scheme.len() < 2 || !scheme.bytes().all(|c| c.is_ascii_alphanumeric() || b"+-.".contains(&c)) {
            return Ok(None);
        }
        let refused = |what: &str| Err(StoreError::Address(what.to_owned()));
        let scheme = scheme.to_ascii_lowercase();
        if WEB.contains(&scheme.as_str()) {
            let (url, query) = match rest.split_once('?') {
                Some((url, query)) => (url, Some(query.to_owned())),
                None => (rest, None),
            };
            let url = url.split('#').next().unwrap_or_default();
            let (host, file) = url.split_once('/').unwrap_or((url, ""));
            return match (host, file) {
                _ if host.contains('@') => refused(
                    "a name and a password in it would be shown and logged; give a signed address instead",
                ),
                ("", _) | (_, "") => refused("it names no file of a server"),
                _ => Ok(Some(Address { place: Place::Web { url: format!("{scheme}://{url}"), query } })),
            };
        }
        let Some(&(_, scheme)) = SCHEMES.iter().find(|(name, _)| *name == scheme) else {
            if scheme == "file" {
                return refused("give the path of a file on this machine alone");
            }
            return refused("give one that begins with s3://, gs://, az:// or https://");
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return refused("it names no bucket");
        }
        if !bucket.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.@$".contains(&c)) {
            return refused("no bucket has such a name");
        }
        if key.starts_with('/') {
            return refused(ODD_PART);
        }
        let host = bucket.split_once('@').map(|(_, host)| host);
        if host.is_some_and(|host| host.contains('.') && !host.ends_with(".core.windows.net")) {
            return refused("the account is ACCOUNT, or ACCOUNT.dfs.core.windows.net");
        }
        let place = Place::Bucket { scheme, bucket: bucket.to_owned(), key: key.to_owned() };
        let address = Address { place };
        address.key()?;
        Ok(Some(address))
    }

    /// Its text, without what follows `?`.
    pub fn shown(&self) -> String {
        match &self.place {
            Place::Bucket { scheme, bucket, key } => {
                let name = SCHEMES.iter().find(|(_, kind)| kind == scheme).map_or("", |(name, _)| name);
                format!("{name}://{bucket}/{key}")
            }
            Place::Web { url, .. } => url.clone(),
        }
    }

    /// Its text as it is compared with that of others: without the account of Azure, which may be named or not.
    pub fn identity(&self) -> String {
        match &self.place {
            Place::Bucket { scheme: Scheme::Az, bucket, key } => {
                format!("az://{}/{key}", bucket.split('@').next().unwrap_or_default())
            }
            _ => self.shown(),
        }
    }

    /// Whether it is a file of a web server.
    pub(crate) fn is_of_web(&self) -> bool {
        matches!(self.place, Place::Web { .. })
    }

    /// The address of another key of the same bucket.
    pub(crate) fn sibling(&self, other: &Key) -> Address {
        match &self.place {
            Place::Bucket { scheme, bucket, .. } => {
                let (bucket, key) = (bucket.clone(), other.as_ref().to_owned());
                Address { place: Place::Bucket { scheme: *scheme, bucket, key } }
            }
            Place::Web { .. } => self.clone(),
        }
    }

    /// The key, without a slash at its end.
    pub(crate) fn key(&self) -> Result<Key, StoreError> {
        let key = match &self.place {
            Place::Bucket { key, .. } => key.as_str(),
            Place::Web { .. } => "",
        };
        parse(key)
    }

    /// Whether it can only be a folder.
    pub(crate) fn is_folder(&self) -> bool {
        matches!(&self.place, Place::Bucket { key, .. } if key.is_empty() || key.ends_with('/'))
    }

    /// Its key as a pattern, and the folder in which everything lies that matches, if it looks like one.
    pub(crate) fn pattern(&self) -> Result<Option<(Pattern, Key)>, StoreError> {
        let Place::Bucket { key, .. } = &self.place else { return Ok(None) };
        let Some(first) = key.find(['*', '?', '[']) else { return Ok(None) };
        let pattern = Pattern::new(key)
            .map_err(|error| StoreError::Address(format!("it cannot be read as a pattern: {}", error.msg)))?;
        let folder = key[..first].rsplit_once('/').map_or("", |(folder, _)| folder);
        Ok(Some((pattern, parse(folder)?)))
    }

    /// Whether a new object at that address would be one of those that this one, a folder or pattern, stands for.
    pub fn would_have(&self, other: &Address) -> bool {
        let (Place::Bucket { scheme, bucket, .. }, Place::Bucket { scheme: scheme2, bucket: bucket2, key }) =
            (&self.place, &other.place)
        else {
            return false;
        };
        let (Ok(here), Ok(pattern)) = (self.key(), self.pattern()) else { return false };
        scheme == scheme2
            && bucket.split('@').next() == bucket2.split('@').next()
            && !key.rsplit('/').next().is_some_and(|name| is_left_out(name.as_bytes()))
            && match pattern {
                Some((pattern, _)) => pattern.matches_with(key, OF_ONE_NAME),
                None => Key::parse(key).is_ok_and(|key| key.prefix_matches(&here) && key != here),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<Address>, StoreError> {
        Address::of(Path::new(text))
    }

    fn address(text: &str) -> Address {
        of(text).unwrap().unwrap()
    }

    #[test]
    fn paths_are_no_addresses_and_faulty_addresses_are_refused() {
        for path in ["a.csv", "-", "/a/b.csv", "C:\\a.csv", "C://a.csv", "a b://c", "://x", "s3:b/k"] {
            assert_eq!(of(path).unwrap(), None, "{path}");
        }
        for (text, why) in [
            ("s3://", "names no bucket"),
            ("s3:/b/k", "two slashes"),
            ("https:/host/k", "two slashes"),
            ("s3:///k", "names no bucket"),
            ("s3://b/a//c", "empty"),
            ("s3://b//c", "empty"),
            ("s3://b kt/c", "no bucket has such a name"),
            ("s3://b?x/c", "no bucket"),
            ("file:///a.csv", "the path of a file"),
            ("abfss://c@a.dfs.core.example/k", "core.windows.net"),
            ("s3://b/../c", "empty or a dot"),
            ("ftp://host/a.csv", "begins with s3://"),
            ("https://host", "no file"),
            ("https://user:secret@host/a.csv", "password"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn a_signature_is_never_shown() {
        let signed = address("https://host/dir/a.csv?X-Amz-Signature=secret#part");
        assert_eq!(signed.shown(), "https://host/dir/a.csv");
        assert!(matches!(signed.place, Place::Web { query: Some(query), .. } if query.starts_with("X-Amz")));
        assert_eq!(address("s3a://b/k?.csv").shown(), "s3://b/k?.csv");
    }

    #[test]
    fn a_folder_and_a_pattern_know_what_would_be_theirs() {
        for (table, new, theirs) in [
            ("s3://b/in/", "s3://b/in/out.csv", true),
            ("s3://b/in", "s3a://b/in/deep/out.csv", true),
            ("s3://b/in/", "s3://b/in/_out.csv", false),
            ("s3://b/in/", "s3://b/inner/out.csv", false),
            ("s3://b/in/", "s3://c/in/out.csv", false),
            ("s3://b/in/", "gs://b/in/out.csv", false),
            ("s3://b/in/*.csv", "s3://b/in/out.csv", true),
            ("s3://b/in/*.csv", "s3://b/in/deep/out.csv", false),
            ("s3://b/in/a.csv", "s3://b/in/a.csv", false),
            ("https://h/in/", "https://h/in/a", false),
            ("az://c/in/", "abfss://c@a.dfs.core.windows.net/in/x", true),
        ] {
            assert_eq!(address(table).would_have(&address(new)), theirs, "{table} {new}");
        }
    }
}
