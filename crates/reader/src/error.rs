//! Why a request to a cluster failed.

use kube::core::Status;
use punctual_client::ApiError;

/// Why a request to a cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No response arrived before the deadline.
    #[error("the cluster at {url} does not answer; is it running?")]
    NoAnswer {
        /// The address of the cluster.
        url: String,
        /// The deadline.
        source: tokio::time::error::Elapsed,
    },
    /// The server answered with an error.
    #[error("{}", .0.message)]
    Api(Box<Status>),
    /// There was no usable response.
    #[error(transparent)]
    Unusable(ApiError),
    /// The request could not be built, because a name or a selector is not a part of a URL.
    #[error(transparent)]
    Request(#[from] http::Error),
    /// The object was changed by others during each try to write it.
    #[error("{0} was changed at the same time {1} times; try again")]
    Contended(String, u32),
    /// The object was deleted before it was written.
    #[error("{0} was deleted at the same time")]
    Deleted(String),
}

impl ReadError {
    /// Returns the HTTP status code of the response, if there was one.
    pub fn code(&self) -> Option<u16> {
        match self {
            ReadError::Api(status) => Some(status.code),
            _ => None,
        }
    }
}

impl From<kube::Error> for ReadError {
    fn from(error: kube::Error) -> ReadError {
        match error {
            kube::Error::Api(status) => ReadError::Api(status),
            error => ReadError::Unusable(ApiError::from(error)),
        }
    }
}
