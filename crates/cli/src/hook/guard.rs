//! A tool is about to be used. Here edits of what others hold are refused, with the tool's own document.

use std::path::{Component, Path, PathBuf};

use tenure_core::Result;

use super::door::Door;
use super::input::Payload;

pub(super) fn act(door: &Door<'_>, payload: &Payload<'_>) -> Result<Option<String>> {
    let edited = (door.tool.edits)(payload);
    let paths = inside(&door.context.place()?.dir, door.context.env.cwd()?, &edited);
    let refused = decide(door, &paths)?;
    door.present()?;
    Ok(refused.map(|reason| (door.tool.deny)(door.event(), &reason).to_string()))
}

/// Why an edit of these files is refused; nothing where it may go on. No path is held yet, so all may.
fn decide(_door: &Door<'_>, _paths: &[String]) -> Result<Option<String>> {
    Ok(None)
}

/// The paths that are inside a checkout, relative to its top, each once. What is outside is nobody's business here.
pub(super) fn inside(top: &Path, cwd: &Path, named: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in named.iter().filter(|name| !name.contains('\0')) {
        let Some(path) = plain(&cwd.join(name)) else { continue };
        // A tool may name a file by another way to the same directory than git does.
        let real =
            |path: &Path| path.parent()?.canonicalize().ok().map(|dir| dir.join(path.file_name().unwrap_or_default()));
        let inside = path
            .strip_prefix(top)
            .map(Path::to_path_buf)
            .ok()
            .or_else(|| real(&path)?.strip_prefix(top).map(Path::to_path_buf).ok());
        let Some(text) = inside.and_then(|path| path.to_str().map(str::to_owned)) else { continue };
        if !text.is_empty() && text.len() <= 4_096 && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// A path without `.` and `..`; none for one that leads above the root.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            other => out.push(other),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_top_and_what_is_outside_is_left_out() {
        let found = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            inside(Path::new("/repo"), Path::new("/repo/sub"), &names)
        };
        assert_eq!(
            found(&["a.rs", "./b/../c.rs", "/repo/x y.rs", "../top.rs"]),
            ["sub/a.rs", "sub/c.rs", "x y.rs", "top.rs"]
        );
        assert_eq!(found(&["/etc/passwd", "../../out", "/repo", "", "a\0", "/repo/../repo/z"]), ["sub", "z"]);
        assert_eq!(found(&["a.rs", "/repo/sub/a.rs"]), ["sub/a.rs"]);
    }
}
