//! The profiles of AWS's own tools: keys, region and address of a store in `~/.aws/credentials` and `~/.aws/config`.

use std::env;
use std::path::PathBuf;

use configparser::ini::Ini;

use crate::connect::variable;

/// What a profile says.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) access_key_id: Option<String>,
    pub(crate) secret_access_key: Option<String>,
    pub(crate) session_token: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
}

/// The profile that AWS_PROFILE names, else `default`; an error if the named one is nowhere.
pub(crate) fn current() -> Result<Profile, String> {
    let name = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].into_iter().find_map(variable);
    let path = |variable: &str, name: &str| match env::var_os(variable) {
        Some(path) => Some(PathBuf::from(path)),
        None => env::home_dir().map(|home| home.join(".aws").join(name)),
    };
    let text =
        |path: Option<PathBuf>| path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let credentials = text(path("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
    let config = text(path("AWS_CONFIG_FILE", "config"));
    let profile = read(&credentials, &config, name.as_deref().unwrap_or("default"))?;
    match (profile, name) {
        (Some(profile), _) => Ok(profile),
        (None, None) => Ok(Profile::default()),
        (None, Some(name)) => Err(format!(
            "the profile {name} of AWS_PROFILE is neither in ~/.aws/credentials nor in ~/.aws/config"
        )),
    }
}

/// Reads a profile out of both files; none if neither has it.
fn read(credentials: &str, config: &str, name: &str) -> Result<Option<Profile>, String> {
    let parse = |text: &str, file: &str| {
        let mut ini = Ini::new_cs();
        // The library's message may have a line of the file.
        ini.read(text.to_owned()).map_err(|_| format!("~/.aws/{file} cannot be read"))?;
        Ok::<_, String>(ini)
    };
    let (credentials, config) = (parse(credentials, "credentials")?, parse(config, "config")?);
    let section = if name == "default" { name.to_owned() } else { format!("profile {name}") };
    // A name with blanks is written in quotes.
    let quoted = format!("profile \"{name}\"");
    let section = if config.sections().contains(&quoted) { quoted } else { section };
    let there = credentials.sections().iter().any(|one| one == name) || config.sections().contains(&section);
    let value = |key: &str| credentials.get(name, key).or_else(|| config.get(&section, key));
    Ok(there.then(|| Profile {
        access_key_id: value("aws_access_key_id"),
        secret_access_key: value("aws_secret_access_key"),
        session_token: value("aws_session_token"),
        region: value("region"),
        endpoint: value("endpoint_url"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "[default]\naws_access_key_id = A\naws_secret_access_key=s/e+c=\n\n[shop]\naws_access_key_id=B\n\
                               aws_secret_access_key = t\naws_session_token = u\n";
    const CONFIG: &str = "[default]\nregion = eu-central-1\ns3 =\n  max_concurrent_requests = 20\n[profile shop]\nregion=eu-west-1\n\
                          endpoint_url = http://localhost:9000\n[profile sso]\nsso_session = x\n[profile \"my shop\"]\nregion = x-1\n";

    #[test]
    fn profiles_are_read_as_awss_tools_read_them() {
        let read = |name| read(CREDENTIALS, CONFIG, name).unwrap();
        let usual = read("default").unwrap();
        assert_eq!(usual.access_key_id.as_deref(), Some("A"));
        assert_eq!(usual.secret_access_key.as_deref(), Some("s/e+c="));
        assert_eq!(usual.region.as_deref(), Some("eu-central-1"));
        let shop = read("shop").unwrap();
        assert_eq!(shop.session_token.as_deref(), Some("u"));
        assert_eq!(shop.endpoint.as_deref(), Some("http://localhost:9000"));
        assert!(read("sso").is_some_and(|sso| sso.access_key_id.is_none()));
        assert_eq!(read("my shop").and_then(|shop| shop.region).as_deref(), Some("x-1"));
        assert!(read("other").is_none());
    }
}
