//! Key files and keys as text.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use vesica_net::identity::{Identity, IdentityError, PublicKey, PublicKeyError};

/// The example of RFC 8410, section 10.3, in the form that `openssl genpkey -algorithm ed25519` writes.
const OPENSSL: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
    -----END PRIVATE KEY-----\n";
const OPENSSL_PUBLIC: [u8; 32] = [
    0x19, 0xbf, 0x44, 0x09, 0x69, 0x84, 0xcd, 0xfe, 0x85, 0x41, 0xba, 0xc1, 0x67, 0xdc, 0x3b, 0x96, 0xc8,
    0x50, 0x86, 0xaa, 0x30, 0xb6, 0xb6, 0xcb, 0x0c, 0x5c, 0x38, 0xad, 0x70, 0x31, 0x66, 0xe1,
];

#[test]
fn a_saved_identity_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity.pem");
    let identity = Identity::generate().unwrap();
    identity.save(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Identity::load(&path).unwrap().public_key(), identity.public_key());
    assert_ne!(Identity::generate().unwrap().public_key(), identity.public_key());
}

#[test]
fn an_existing_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity.pem");
    fs::write(&path, "precious").unwrap();
    let error = Identity::generate().unwrap().save(&path).unwrap_err();
    assert_eq!(error, IdentityError::Exists { path: path.clone() });
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity.pem");
    Identity::generate().unwrap().save(&path).unwrap();
    for mode in [0o644, 0o660, 0o604, 0o620] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = Identity::load(&path).unwrap_err();
        assert_eq!(error, IdentityError::Exposed { path: path.clone(), mode });
        assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())), "{error}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    Identity::load(&path).unwrap();
}

#[test]
fn the_name_of_a_key_file_is_shown_on_one_line_and_in_its_own_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\n\u{1b}[2J\u{202e}\u{2066}é'.pem");
    let absent = Identity::load(&path).unwrap_err().to_string();
    assert!(absent.contains(r"/a\n\u{1b}[2J\u{202e}\u{2066}é'.pem: "), "{absent}");
    fs::write(&path, "no key").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let other = Identity::load(&path).unwrap_err().to_string();
    assert!(other.contains(r"/a\n\u{1b}[2J\u{202e}\u{2066}é'.pem: "), "{other}");
}

#[test]
fn what_is_no_key_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity.pem");
    let absent = Identity::load(&path).unwrap_err();
    assert!(matches!(absent, IdentityError::File { action: "read", .. }), "{absent}");
    assert_eq!(
        Identity::load(folder.path()).unwrap_err(),
        IdentityError::NotAKeyFile { path: folder.path().to_owned() }
    );
    let write = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        Identity::load(&path).unwrap_err()
    };
    assert_eq!(write(&[b'x'; 20_000]), IdentityError::NotAKeyFile { path: path.clone() });
    let content = |why| IdentityError::Content { path: path.clone(), why: Box::new(why) };
    assert_eq!(write(b"not a key"), content(IdentityError::NotPem));
    assert_eq!(write(&[0xff; 100]), content(IdentityError::NotPem));
    assert_eq!(write(b""), content(IdentityError::NotPem));
    assert_eq!(write(OPENSSL.replace("PRIVATE", "PUBLIC").as_bytes()), content(IdentityError::NotPem));
    assert_eq!(write(OPENSSL.replace("K2Vw", "K2Vu").as_bytes()), content(IdentityError::NotEd25519));
    assert!(Identity::generate().unwrap().save(&folder.path().join("no/such/folder")).is_err());
}

#[test]
fn an_identity_comes_through_a_pipe_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status().unwrap();
    assert!(made.success());
    let identity = Identity::generate().unwrap();
    let (pem, to) = (identity.to_pem().unwrap(), path.clone());
    // Opening it for writing waits until it is read.
    let writer = std::thread::spawn(move || fs::write(to, &*pem).unwrap());
    assert_eq!(Identity::load(&path).unwrap().public_key(), identity.public_key());
    writer.join().unwrap();
}

#[test]
fn pem_of_openssl_is_read() {
    let identity = Identity::from_pem(OPENSSL).unwrap();
    assert_eq!(identity.public_key().as_bytes(), &OPENSSL_PUBLIC);
    let again = Identity::from_pem(&identity.to_pem().unwrap()).unwrap();
    assert_eq!(again.public_key(), identity.public_key());
}

#[test]
fn a_public_key_is_a_line_of_text() {
    let key = PublicKey::from_bytes(OPENSSL_PUBLIC);
    let text = key.to_string();
    assert_eq!(text, "vesica-pub1-Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE");
    assert_eq!(text.parse(), Ok(key));
    let parse = |text: &str| text.parse::<PublicKey>().unwrap_err();
    assert_eq!(parse(""), PublicKeyError::Prefix);
    assert_eq!(parse(&text[1..]), PublicKeyError::Prefix);
    assert_eq!(parse(&text.to_uppercase()), PublicKeyError::Prefix);
    assert_eq!(parse("vesica-pub1-"), PublicKeyError::Truncated { found: 0 });
    assert_eq!(parse(&text[..text.len() - 1]), PublicKeyError::Truncated { found: 42 });
    assert_eq!(parse(&format!("{text}\n")), PublicKeyError::Trailing { extra: 1 });
    assert_eq!(parse(&format!("{text} bob@example.org")), PublicKeyError::Trailing { extra: 16 });
    assert_eq!(parse(&text.replace("CWm", "C+m")), PublicKeyError::Character { position: 18 });
    assert_eq!(parse(&format!("{}F", &text[..text.len() - 1])), PublicKeyError::LastCharacter);
    assert_eq!(parse(&text.replace("Gb9", "Gé9")), PublicKeyError::Character { position: 14 });
}

#[test]
fn keys_have_an_order() {
    let (low, high) = (PublicKey::from_bytes([1; 32]), PublicKey::from_bytes([2; 32]));
    assert!(low < high);
}

#[test]
fn secrets_do_not_print() {
    let identity = Identity::from_pem(OPENSSL).unwrap();
    let shown = format!("{identity:?}");
    assert!(shown.contains(&identity.public_key().to_string()));
    assert!(!shown.contains("1NRy") && !shown.contains("pkcs8"), "{shown}");
    let error = "-----BEGIN PRIVATE KEY-----secret".parse::<PublicKey>().unwrap_err();
    assert!(!error.to_string().contains("secret"));
}

/// The tests of Wycheproof for Ed25519: signatures that are malleable, not reduced, or of points that are not there.
#[test]
fn signatures_are_accepted_and_refused_as_wycheproof_says() {
    let hex = |text: &str| -> Vec<u8> {
        let digits = text.trim_start_matches('-');
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
    };
    let tests = include_str!("wycheproof/ed25519.txt").lines().filter(|line| !line.starts_with('#'));
    let mut counts = [0; 2];
    for test in tests {
        let words: Vec<&str> = test.split(' ').collect();
        let key = PublicKey::from_bytes(hex(words[2]).try_into().unwrap());
        let accepted = key.has_signed(&hex(words[3]), &hex(words[4]).try_into().unwrap());
        assert_eq!(accepted, words[1] == "valid", "{}", words[0]);
        counts[usize::from(!accepted)] += 1;
    }
    assert_eq!(counts, [88, 51]);
}
