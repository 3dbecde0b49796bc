//! What Tenure runs on behalf of its callers. The engine never touches the store: state is reached by its caller.

pub mod process;
