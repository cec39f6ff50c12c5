//! Puts a file as an object, complete or not at all.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::stream::FuturesUnordered;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode};
use tokio::time::timeout;

use crate::address::{Address, Place};
use crate::connect::{self, Patience};
use crate::error::StoreError;
use crate::wait::{self, Stop};

/// Bytes of the parts of an upload, at least. Smaller files are one request. (S3 takes no smaller parts than 5 MiB.)
const PART: u64 = 8 << 20;
/// Parts of one upload at most. (S3 takes 10,000.)
const MOST_PARTS: u64 = 9_000;
/// Parts on their way at one time.
const AT_ONCE: usize = 4;
/// How long the store has to say whether it takes an object.
const CHECK: Duration = Duration::from_secs(15);
/// How long an upload that is given up is cleaned up.
const GOODBYE: Duration = Duration::from_secs(5);

/// An object that may be written.
#[derive(Debug)]
pub struct Target {
    address: Address,
    exists: bool,
    is_new: bool,
}

impl Target {
    /// Checks that an object can be written there, by an upload that is begun and given up. Nobody sees it, and an object that
    /// is there stays.
    ///
    /// # Errors
    /// It is no address of one object, or the store does not allow it.
    pub fn check(address: &Address, stop: Stop<'_>) -> Result<Target, StoreError> {
        if matches!(address.place, Place::Web { .. }) {
            let why = "a web server does not say beforehand whether it takes a file, nor whether it shows only whole ones; \
                       write to s3://, gs:// or az://";
            return Err(StoreError::Setup(why.to_owned()));
        }
        if address.is_folder() {
            return Err(StoreError::Address("an output is one object; give it a name".to_owned()));
        }
        wait::run(wait::until(
            async {
                let failed = |error| StoreError::of(error, address);
                let tried = async {
                    let (store, key) = (connect::client(address, Patience::Short).await?, address.key()?);
                    let mut upload = store.put_multipart(&key).await.map_err(failed)?;
                    let sent = upload.put_part(Bytes::from_static(&[0]).into()).await;
                    // Who may write need not be allowed to give up, nor to read.
                    let _ = upload.abort().await;
                    sent.map_err(failed)?;
                    Ok(store.head(&key).await.is_ok())
                };
                let exists = timeout(CHECK, tried).await;
                let exists = exists.map_err(|_| StoreError::Unreachable("it does not answer in time"))??;
                Ok(Target { address: address.clone(), exists, is_new: false })
            },
            stop,
        ))
    }

    /// Whether there was an object when it was checked.
    pub fn is_taken(&self) -> bool {
        self.exists
    }

    /// This object, which must not replace one that is there when it is complete.
    #[must_use]
    pub fn never_replacing(self) -> Self {
        Target { is_new: true, ..self }
    }

    /// Its address, to be shown.
    pub fn shown(&self) -> String {
        self.address.shown()
    }

    /// Writes the object with the bytes of the file. A request that fails is repeated for three minutes.
    ///
    /// # Errors
    /// After an error there is no object, or the one of before; or, if the connection broke after the last byte, perhaps the
    /// new one, complete.
    pub fn put(&self, file: &mut File, stop: Stop<'_>) -> Result<(), StoreError> {
        let failed = |error| StoreError::of(error, &self.address);
        let mode = if self.is_new { PutMode::Create } else { PutMode::Overwrite };
        let length = file.seek(SeekFrom::End(0)).map_err(StoreError::Local)?;
        file.seek(SeekFrom::Start(0)).map_err(StoreError::Local)?;
        wait::run(async {
            let (store, key) = (connect::client(&self.address, Patience::Long).await?, self.address.key()?);
            if length <= PART {
                let whole = next(file, length)?;
                return wait::until(
                    async { store.put_opts(&key, whole.into(), mode.into()).await.map(drop).map_err(failed) },
                    stop,
                )
                .await;
            }
            if self.is_new && store.head(&key).await.is_ok() {
                return Err(StoreError::Exists);
            }
            let mut upload = begin(&*store, &key, stop).await?.map_err(failed)?;
            let sent = wait::until(in_parts(&mut *upload, file, length, &failed), stop).await;
            if sent.is_err() {
                // What is left of it would cost its owner money, and nobody can read it.
                let _ = timeout(GOODBYE, upload.abort()).await;
            }
            sent
        })
    }
}

async fn begin(
    store: &dyn ObjectStore,
    key: &object_store::path::Path,
    stop: Stop<'_>,
) -> Result<object_store::Result<Box<dyn MultipartUpload>>, StoreError> {
    wait::until(async { Ok(store.put_multipart(key).await) }, stop).await
}

async fn in_parts(
    upload: &mut dyn MultipartUpload,
    file: &mut File,
    length: u64,
    failed: &dyn Fn(object_store::Error) -> StoreError,
) -> Result<(), StoreError> {
    // All parts have the same size, which some stores want.
    let size = length.div_ceil(MOST_PARTS).max(PART).next_multiple_of(1 << 20);
    let mut on_their_way = FuturesUnordered::new();
    let mut left = length;
    while left > 0 {
        let part = next(file, left.min(size))?;
        left -= part.len() as u64;
        on_their_way.push(upload.put_part(part.into()));
        if on_their_way.len() == AT_ONCE {
            on_their_way.try_next().await.map_err(failed)?;
        }
    }
    while on_their_way.try_next().await.map_err(failed)?.is_some() {}
    upload.complete().await.map(drop).map_err(failed)
}

/// The next bytes of a file.
fn next(file: &mut File, length: u64) -> Result<Bytes, StoreError> {
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes).map_err(StoreError::Local)?;
    Ok(bytes.into())
}
