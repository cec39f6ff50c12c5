//! Small objects under one prefix: listed, read, put anew, removed.

use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutMode};

use crate::address::{Address, Place};
use crate::connect::{self, Patience};
use crate::error::StoreError;
use crate::wait::{self, Stop};

/// The objects right under an address, by their names behind it.
#[derive(Debug, Clone)]
pub struct Folder(Address);

impl Folder {
    /// The objects under that address, which may end in a slash or not.
    ///
    /// # Errors
    /// It is that of a web server, which lists nothing and takes nothing.
    pub fn at(address: &Address) -> Result<Self, StoreError> {
        match address.place {
            Place::Web { .. } => {
                Err(StoreError::Setup("a web server takes no files; name s3://, gs:// or az://".to_owned()))
            }
            Place::Bucket { .. } => Ok(Folder(address.clone())),
        }
    }

    /// Its address, to be shown.
    pub fn shown(&self) -> String {
        self.0.shown()
    }

    fn key(&self, name: &str) -> Result<Key, StoreError> {
        Ok(self.0.key()?.join(name))
    }

    /// The names there.
    ///
    /// # Errors
    /// The store refuses, or does not answer.
    pub fn names(&self, stop: Stop<'_>) -> Result<Vec<String>, StoreError> {
        wait::run(wait::until(
            async {
                let store = connect::client(&self.0, Patience::Short).await?;
                let listed = store.list_with_delimiter(Some(&self.0.key()?)).await;
                let listed = listed.map_err(|error| StoreError::of(error, &self.0))?;
                Ok(listed
                    .objects
                    .iter()
                    .filter_map(|object| object.location.filename())
                    .map(str::to_owned)
                    .collect())
            },
            stop,
        ))
    }

    /// The bytes of an object of at most so many; none if there is none.
    ///
    /// # Errors
    /// The store refuses, or does not answer, or the object is longer.
    pub fn read(&self, name: &str, most: u64, stop: Stop<'_>) -> Result<Option<Vec<u8>>, StoreError> {
        wait::run(wait::until(
            async {
                let store = connect::client(&self.0, Patience::Short).await?;
                let failed = |error| StoreError::of(error, &self.0);
                let found = match store.get(&self.key(name)?).await {
                    Ok(found) => found,
                    Err(object_store::Error::NotFound { .. }) => return Ok(None),
                    Err(error) => return Err(failed(error)),
                };
                if found.meta.size > most {
                    return Err(StoreError::NotOneTable(format!("`{name}` is larger than it can be")));
                }
                Ok(Some(found.bytes().await.map_err(failed)?.to_vec()))
            },
            stop,
        ))
    }

    /// Puts an object, unless there is one of that name; says whether it did.
    ///
    /// # Errors
    /// The store refuses, or does not answer.
    pub fn put_new(&self, name: &str, bytes: Vec<u8>, stop: Stop<'_>) -> Result<bool, StoreError> {
        wait::run(wait::until(
            async {
                let store = connect::client(&self.0, Patience::Long).await?;
                match store.put_opts(&self.key(name)?, bytes.into(), PutMode::Create.into()).await {
                    Ok(_) => Ok(true),
                    Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
                    Err(error) => Err(StoreError::of(error, &self.0)),
                }
            },
            stop,
        ))
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// The store refuses, or does not answer.
    pub fn remove(&self, name: &str, stop: Stop<'_>) -> Result<(), StoreError> {
        wait::run(wait::until(
            async {
                let store = connect::client(&self.0, Patience::Short).await?;
                match store.delete(&self.key(name)?).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                    Err(error) => Err(StoreError::of(error, &self.0)),
                }
            },
            stop,
        ))
    }
}
