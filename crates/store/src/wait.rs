//! Waits for a store, and stops when the caller wants.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::error::StoreError;

/// How often a wait asks whether to stop.
const MOMENT: Duration = Duration::from_millis(100);

/// Asked several times a second; `Break` stops the wait.
pub(crate) type Stop<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// Runs the requests of one call. Connections live as long as it.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(StoreError::Local)?;
    let done = runtime.block_on(work);
    // The system may still look for the address of a name.
    runtime.shutdown_background();
    done
}

/// What `work` gives, or [`StoreError::Cancelled`] if it was stopped.
pub(crate) async fn until<T>(
    work: impl Future<Output = Result<T, StoreError>>,
    stop: Stop<'_>,
) -> Result<T, StoreError> {
    let mut work = pin!(work);
    loop {
        if let Ok(done) = timeout(MOMENT, work.as_mut()).await {
            return done;
        }
        if stop().is_break() {
            return Err(StoreError::Cancelled);
        }
    }
}
