//! The client of a store, with the credentials that the store's own tools would take.

use std::env;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, resolve_bucket_region};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{HttpClient, HttpConnector};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::address::{Address, Place, Scheme};
use crate::aws_profile;
use crate::error::StoreError;

/// After this time without a byte an answer counts as lost.
const SILENCE: Duration = Duration::from_secs(30);
/// For a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a request that fails is repeated.
#[derive(Clone, Copy)]
pub(crate) enum Patience {
    /// For a first question, whose answer somebody waits for.
    Short,
    /// For bytes that would be lost.
    Long,
}

impl Patience {
    fn retry(self) -> RetryConfig {
        match self {
            Patience::Short => RetryConfig {
                max_retries: 3,
                retry_timeout: Duration::from_secs(20),
                ..RetryConfig::default()
            },
            // As often as it takes: a store that starts again answers at once, and refuses.
            Patience::Long => RetryConfig { max_retries: 1000, ..RetryConfig::default() },
        }
    }
}

/// A client for the store of an address.
pub(crate) async fn client(
    address: &Address,
    patience: Patience,
) -> Result<Box<dyn ObjectStore>, StoreError> {
    match &address.place {
        Place::Bucket { scheme: Scheme::S3, bucket, .. } => s3(address, bucket, patience).await,
        Place::Bucket { scheme: Scheme::Gs, bucket, .. } => gcs(bucket, patience),
        Place::Bucket { scheme: Scheme::Az, bucket, .. } => azure(bucket, patience),
        Place::Web { url, query } => {
            let url = query.as_ref().map_or(url.clone(), |query| format!("{url}?{query}"));
            // It is the user who wrote http://.
            let http = HttpBuilder::new().with_http_connector(Discreet).with_retry(patience.retry());
            // The library's message would show the query.
            let built = http.with_url(url).build();
            Ok(Box::new(built.map_err(|_| StoreError::Address("it is no URL".to_owned()))?))
        }
    }
}

/// What to do where there are no credentials.
pub(crate) fn credentials(address: &Address) -> &'static str {
    match &address.place {
        Place::Bucket { scheme: Scheme::S3, .. } => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile with keys; for a profile that \
             logs in by a browser or takes a role, set what `aws configure export-credentials` prints; for a public bucket \
             set AWS_SKIP_SIGNATURE=true"
        }
        Place::Bucket { scheme: Scheme::Gs, .. } => {
            "set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login; for a public bucket: \
             GOOGLE_SKIP_SIGNATURE=true"
        }
        Place::Bucket { scheme: Scheme::Az, .. } => {
            "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or run az login and \
             set AZURE_USE_AZURE_CLI=true"
        }
        Place::Web { .. } => "give a signed address",
    }
}

fn options(allow_http: bool) -> ClientOptions {
    // Large answers may take any time, as long as bytes come.
    ClientOptions::new()
        .with_timeout_disabled()
        .with_read_timeout(SILENCE)
        .with_connect_timeout(CONNECT)
        .with_allow_http(allow_http)
}

/// The variables of the environment that begin with that, with their names in the library's spelling.
fn variables(prefix: &str) -> impl Iterator<Item = (String, String)> {
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(move |(name, value)| name.starts_with(prefix) && !value.trim().is_empty())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
}

/// The variable of that name, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// A client for addresses that may be signed: no other server is told them.
#[derive(Debug)]
struct Discreet;

impl HttpConnector for Discreet {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest::Client::builder().referer(false).read_timeout(SILENCE).connect_timeout(CONNECT);
        let built = client.user_agent(concat!("vesica/", env!("CARGO_PKG_VERSION"))).build();
        let failed = |error| object_store::Error::Generic { store: "HTTP", source: Box::new(error) };
        built.map(HttpClient::new).map_err(failed)
    }
}

/// The library's error of a wrong setting. What it quotes may be a secret.
fn setup(error: object_store::Error) -> StoreError {
    let text = match &error {
        object_store::Error::Generic { source, .. } => source.to_string(),
        _ => "a variable of its own does not fit".to_owned(),
    };
    let unquoted = text.split(['"', '\'', '`']).step_by(2).collect::<Vec<_>>().join("…");
    StoreError::Setup(unquoted)
}

/// Checks the address of a store, and says whether it is not encrypted.
fn is_http(endpoint: &str) -> Result<bool, StoreError> {
    let url = reqwest::Url::parse(endpoint).ok().filter(|url| url.host_str().is_some());
    match url.as_ref().map(reqwest::Url::scheme) {
        Some("http") => Ok(true),
        Some("https") => Ok(false),
        _ => Err(StoreError::Setup(
            "its address in the environment or profile is not https://HOST or http://HOST".to_owned(),
        )),
    }
}

async fn s3(address: &Address, bucket: &str, patience: Patience) -> Result<Box<dyn ObjectStore>, StoreError> {
    use AmazonS3ConfigKey as Key;
    let mut builder = AmazonS3Builder::new().with_client_options(options(false)).with_retry(patience.retry());
    for (name, value) in variables("AWS_") {
        if let Ok(key) = name.parse() {
            builder = builder.with_config(key, value);
        }
    }
    let profile = aws_profile::current().map_err(StoreError::Setup)?;
    // As for AWS's own tools, a variable goes before a profile.
    let mut missing = |key: Key, value: Option<String>| {
        let value = value.filter(|_| builder.get_config_value(&key).is_none());
        if let Some(value) = value {
            builder = std::mem::take(&mut builder).with_config(key, value);
        }
    };
    if variable("AWS_ACCESS_KEY_ID").is_none() {
        missing(Key::AccessKeyId, profile.access_key_id);
        missing(Key::SecretAccessKey, profile.secret_access_key);
        missing(Key::Token, profile.session_token);
    }
    missing(Key::Region, profile.region);
    missing(Key::Endpoint, profile.endpoint);
    let endpoint = [Key::S3Endpoint, Key::Endpoint].iter().find_map(|key| builder.get_config_value(key));
    if endpoint.as_deref().map(is_http).transpose()?.unwrap_or(false) {
        builder = builder.with_allow_http(true);
    }
    if endpoint.is_none() && builder.get_config_value(&Key::Region).is_none() {
        let region = resolve_bucket_region(bucket, &options(false)).await;
        builder = builder.with_region(region.map_err(|error| StoreError::of(error, address))?);
    }
    Ok(Box::new(builder.with_bucket_name(bucket).build().map_err(setup)?))
}

fn gcs(bucket: &str, patience: Patience) -> Result<Box<dyn ObjectStore>, StoreError> {
    use GoogleConfigKey as Key;
    let mut builder =
        GoogleCloudStorageBuilder::new().with_client_options(options(false)).with_retry(patience.retry());
    // The variable by which Google's own libraries find an emulator, which has no credentials.
    if let Some(host) = variable("STORAGE_EMULATOR_HOST") {
        let host = host.trim().trim_end_matches('/');
        let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
        builder = builder.with_base_url(&url).with_bearer_token("");
    } else {
        for (name, value) in variables("GOOGLE_") {
            if let Ok(key) = name.parse() {
                builder = builder.with_config(key, value);
            }
        }
    }
    let endpoint = builder.get_config_value(&Key::BaseUrl);
    if endpoint.as_deref().map(is_http).transpose()?.unwrap_or(false) {
        builder = builder.with_config(Key::Client(ClientConfigKey::AllowHttp), "true");
    }
    Ok(Box::new(builder.with_bucket_name(bucket).build().map_err(setup)?))
}

fn azure(container: &str, patience: Patience) -> Result<Box<dyn ObjectStore>, StoreError> {
    let mut builder =
        MicrosoftAzureBuilder::new().with_client_options(options(false)).with_retry(patience.retry());
    for (name, value) in variables("AZURE_") {
        // Two names that `az` knows and the library does not.
        let name = match name.as_str() {
            "azure_storage_account" => "azure_storage_account_name".to_owned(),
            "azure_storage_key" => "azure_storage_account_key".to_owned(),
            _ => name,
        };
        if let Ok(key) = name.parse() {
            builder = builder.with_config(key, value);
        }
    }
    let (container, account) = match container.split_once('@') {
        // `abfss://container@account.dfs.core.windows.net/…` has the whole name of the account's host.
        Some((container, host)) => (container, host.split('.').next()),
        None => (container, None),
    };
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    Ok(Box::new(builder.with_container_name(container).build().map_err(setup)?))
}
