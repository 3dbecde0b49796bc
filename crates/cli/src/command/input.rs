//! Input that a user names: a file, or standard input.

use std::io::Read;
use std::path::Path;

use tenure_core::{Code, Error, Result, Stage};

/// Reads the input to its end, at most one byte more than `most`, before the store is opened: it may be any file.
#[expect(clippy::disallowed_methods, reason = "a file that the user named, closed before the store is opened")]
pub(super) fn read(file: &Path, most: usize) -> Result<Vec<u8>> {
    let named = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    let unreadable = |error: std::io::Error| {
        Error::new(Code::UnreadableInput, format!("{named} cannot be read"))
            .at(Stage::Arguments)
            .entity(named.clone())
            .hint("Give a file that exists, or - for standard input.")
            .cause(error)
    };
    let mut input = Vec::new();
    let most = most as u64 + 1;
    if file == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut input).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(file).map_err(unreadable)?;
        file.take(most).read_to_end(&mut input).map_err(unreadable)?;
    }
    Ok(input)
}
