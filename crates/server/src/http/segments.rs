//! The path segments that a route names.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use tenure_core::{Code, Error};

use super::Failure;

/// The values of a route's named segments. A bad one is refused in our error format.
pub(super) struct Segments<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Segments<T>, Failure> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(segments)) => Ok(Segments(segments)),
            Err(error) => Err(Failure(
                Error::usage(Code::BadParameter, "a part of the address is not UTF-8")
                    .cause(std::io::Error::other(error)),
            )),
        }
    }
}
