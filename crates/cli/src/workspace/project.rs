//! Which project: its key on a store, and what people call it.
//!
//! A key is `name:shop`, `id:` and 26 characters, `url:host/org/repo`, or for a directory without git `dir:/path`, on a
//! shared store `dir:HOST:/path`. The prefix keeps a name from ever equalling an id or a path.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tenure_core::error::detail::RecordedPlace;
use tenure_core::{Code, Error, Result, Stage, path_text, text};

use super::git::GitCheckout;
use super::pin;

/// What a key is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Name,
    Id,
    Url,
    Dir,
}

impl KeyKind {
    const ALL: [KeyKind; 4] = [KeyKind::Name, KeyKind::Id, KeyKind::Url, KeyKind::Dir];

    const fn prefix(self) -> &'static str {
        match self {
            KeyKind::Name => "name:",
            KeyKind::Id => "id:",
            KeyKind::Url => "url:",
            KeyKind::Dir => "dir:",
        }
    }
}

/// A project as this call names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectRef {
    /// None for a repository that has no id yet: it gets one at the first write.
    pub(crate) key: Option<String>,
    /// What people call it; not unique.
    pub(crate) label: String,
    pub(crate) kind: KeyKind,
}

impl KeyKind {
    /// Whether a key is of this kind.
    pub(crate) fn is_of(self, key: &str) -> bool {
        key.starts_with(self.prefix())
    }
}

impl ProjectRef {
    fn new(kind: KeyKind, value: &str, label: String) -> ProjectRef {
        ProjectRef { key: Some(format!("{}{value}", kind.prefix())), label, kind }
    }

    /// A project by the name that somebody gave it.
    pub(crate) fn named(name: &str) -> Result<ProjectRef> {
        tenure_core::name::project(name)?;
        Ok(ProjectRef::new(KeyKind::Name, name, name.to_owned()))
    }

    /// A repository by its id file.
    pub(crate) fn by_id(checkout: &GitCheckout) -> Result<ProjectRef> {
        let label = label(&checkout.main);
        Ok(match pin::read_id(&checkout.common)? {
            Some(id) => ProjectRef::new(KeyKind::Id, &id, label),
            None => ProjectRef { key: None, label, kind: KeyKind::Id },
        })
    }

    /// A repository by the form of its URL that all clones share.
    pub(crate) fn by_url(url: &str) -> ProjectRef {
        ProjectRef::new(KeyKind::Url, url, url.to_owned())
    }

    /// A directory without git; on a store that several hosts share, with the host.
    pub(crate) fn by_dir(dir: &Path, host: Option<&str>) -> ProjectRef {
        let path = encode(dir);
        let value = host.map_or(path.clone(), |host| format!("{host}:{path}"));
        ProjectRef::new(KeyKind::Dir, &value, label(dir))
    }

    /// A repository by the key that is pinned for it.
    pub(crate) fn by_pin(key: &str, checkout: &GitCheckout) -> Result<ProjectRef> {
        let kind =
            KeyKind::ALL.into_iter().find(|kind| key.len() > kind.prefix().len() && key.starts_with(kind.prefix()));
        let Some(kind) = kind else {
            let file = pin::pin_file(&checkout.common).display().to_string();
            let message = format!("{file} contains an invalid key: `{}`", text::excerpt(key));
            return Err(Error::new(Code::ProjectFileCorrupt, message).at(Stage::Resolve).entity(file).hint(
                "Restore the file from a backup; without a backup, a person writes it again with `tenure project pin`.",
            ));
        };
        let value = &key[kind.prefix().len()..];
        let label = if matches!(kind, KeyKind::Name | KeyKind::Url) { value.to_owned() } else { label(&checkout.main) };
        Ok(ProjectRef::new(kind, value, label))
    }
}

/// The key of a repository with this id.
pub(crate) fn id_key(id: &str) -> String {
    format!("{}{id}", KeyKind::Id.prefix())
}

/// The place that a directory is now, as it is recorded for a project's common git directory.
pub(crate) fn place_of(dir: &Path) -> std::io::Result<RecordedPlace> {
    let meta = std::fs::metadata(dir)?;
    let (device, inode) = (meta.dev().cast_signed(), meta.ino().cast_signed());
    Ok(RecordedPlace { path: encode(dir), device, inode })
}

/// Whether `ours` is a copy of the repository at a recorded place: that place is still there, is another directory, and
/// still shows the id of `key`. If it is gone or shows another id, the repository has moved. Two directories that share
/// a name or URL are never copies: there, sharing is what was asked for.
///
/// The recorded device and inode play no part: they change over reboots and restores, so both are looked up now.
pub(crate) fn is_copy(recorded: &RecordedPlace, ours: &RecordedPlace, key: &str) -> Result<bool> {
    let Some(id) = key.strip_prefix(KeyKind::Id.prefix()) else { return Ok(false) };
    if recorded.path == ours.path {
        return Ok(false);
    }
    let there = decode(&recorded.path);
    match place_of(&there) {
        // The same directory by another name, such as a bind mount.
        Ok(place) if (place.device, place.inode) == (ours.device, ours.inode) => Ok(false),
        Ok(_) => Ok(pin::read_id(&there)?.as_deref() == Some(id)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        // Neither moved nor copied can be said, and a guess could make two repositories one.
        Err(error) => {
            let message =
                format!("{}, where this project was seen before, cannot be inspected: {error}", there.display());
            Err(Error::new(Code::PathUnreadable, message)
                .at(Stage::Resolve)
                .entity(recorded.path.clone())
                .hint("Check the permissions of the directories above it.")
                .cause(error))
        }
    }
}

fn label(dir: &Path) -> String {
    let Some(name) = dir.file_name() else { return dir.display().to_string() };
    let name = name.to_string_lossy();
    name.strip_suffix(".git").filter(|name| !name.is_empty()).unwrap_or(&name).to_owned()
}

/// A path as text that no other path has, the same in every terminal and log.
pub(crate) fn encode(path: &Path) -> String {
    path_text::place(path.as_os_str().as_bytes())
}

fn decode(text: &str) -> PathBuf {
    OsString::from_vec(path_text::bytes_of_place(text)).into()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use tenure_core::Kind;

    use super::super::fixture::Area;
    use super::*;

    #[test]
    fn inv_i1_project_names_are_checked_not_bent() {
        for good in ["a", "7", "web-shop_2.0", &"x".repeat(64)] {
            assert_eq!(ProjectRef::named(good).unwrap().key.unwrap(), format!("name:{good}"));
        }
        for bad in ["", "Shop", "-a", ".a", "a:b", "a/b", "a b", "ä", &"x".repeat(65)] {
            assert_eq!(tenure_core::name::project(bad).unwrap_err().kind(), Kind::Usage, "{bad:?}");
        }
    }

    #[test]
    fn inv_i5_no_two_paths_have_one_key() {
        let key = |bytes: &[u8]| ProjectRef::by_dir(Path::new(OsStr::from_bytes(bytes)), None).key.unwrap();
        assert_eq!(key(b"/a/\xff"), "dir:/a/%FF");
        assert_eq!(key(b"/a/%FF"), "dir:/a/%25FF");
        assert_eq!(key("/ä b".as_bytes()), "dir:/ä b");
        assert_eq!(key(b"/a\nb"), "dir:/a%0Ab");
        for bytes in [b"/a/\xff%25\n\xc3".as_slice(), "/ü/%".as_bytes(), b"/%4", b"/%zz"] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(decode(&encode(path)), path);
        }
        assert_eq!(ProjectRef::by_dir(Path::new("/p"), Some("box")).key.unwrap(), "dir:box:/p");
    }

    #[test]
    fn labels_are_for_people() {
        assert_eq!(label(Path::new("/srv/shop.git")), "shop");
        assert_eq!(label(Path::new("/srv/shop")), "shop");
        assert_eq!(label(Path::new("/")), "/");
        assert_eq!(label(Path::new(OsStr::from_bytes(b"/a/\xffx"))), "\u{fffd}x");
    }

    #[test]
    fn inv_i5_a_copy_is_told_from_a_move() {
        let area = Area::new();
        let (old, new) = (area.path("old"), area.path("new"));
        for dir in [&old, &new] {
            fs::create_dir_all(dir.join("tenure")).unwrap();
            fs::write(pin::id_file(dir), format!("{}\n", "7".repeat(26))).unwrap();
        }
        let key = id_key(&"7".repeat(26));
        let (recorded, ours) = (place_of(&old).unwrap(), place_of(&new).unwrap());
        assert!(is_copy(&recorded, &ours, &key).unwrap());
        assert!(!is_copy(&recorded, &ours, "name:shop").unwrap());
        assert!(!is_copy(&recorded, &recorded, &key).unwrap(), "itself");
        std::os::unix::fs::symlink(&new, area.path("alias")).unwrap();
        let alias = RecordedPlace { path: encode(&area.path("alias")), device: 0, inode: 0 };
        assert!(!is_copy(&alias, &ours, &key).unwrap(), "the same directory by another name");

        fs::write(pin::id_file(&old), format!("{}\n", "8".repeat(26))).unwrap();
        assert!(!is_copy(&recorded, &ours, &key).unwrap(), "the old place has become another project");
        fs::remove_dir_all(&old).unwrap();
        assert!(!is_copy(&recorded, &ours, &key).unwrap(), "the old place is gone");
    }
}
