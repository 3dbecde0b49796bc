//! Commands that create a directory which later commands on the line may enter.

use super::Make;

/// The directories that a command creates.
pub(super) fn of(words: &[String]) -> Vec<Make> {
    let [program, rest @ ..] = words else { return Vec::new() };
    let tree = |path: Option<String>, exists: bool| {
        path.map(|path| Make { path, exists, is_tree: true, is_sure: true }).into_iter().collect()
    };
    match program.rsplit('/').next().unwrap_or(program) {
        "mkdir" => plain(rest, "-m --mode")
            .into_iter()
            .map(|path| Make { path: path.to_owned(), exists: true, is_tree: false, is_sure: true })
            .collect(),
        "git" => {
            let (dir, verb, args) = match rest {
                [flag, dir, verb, args @ ..] if flag == "-C" => (Some(dir), verb, args),
                [verb, args @ ..] => (None, verb, args),
                [] => return Vec::new(),
            };
            let below = |path: String| match dir {
                Some(dir) if !path.starts_with('/') => format!("{dir}/{path}"),
                _ => path,
            };
            match verb.as_str() {
                "clone" => tree(cloned(args).map(below), false),
                "init" if !has(args, "--bare") => {
                    let to = plain(args, "-b --initial-branch --template --object-format --ref-format");
                    tree(Some(below(to.first().copied().unwrap_or(".").to_owned())), true)
                }
                "worktree" if args.first().is_some_and(|word| word == "add") => {
                    let to = plain(&args[1..], "-b -B --reason");
                    tree(to.first().map(|to| below((*to).to_owned())), false)
                }
                _ => Vec::new(),
            }
        }
        "gh" => match rest {
            [repo, clone, args @ ..] if repo == "repo" && clone == "clone" => tree(cloned(args), false),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn has(args: &[String], option: &str) -> bool {
    args.iter().any(|word| word == option)
}

/// The words that are neither options nor values of options.
fn plain<'a>(args: &'a [String], valued: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.starts_with('-') && word.len() > 1 {
            true if valued.split(' ').any(|option| option == word) => _ = args.next(),
            true => {}
            false => found.push(word.as_str()),
        }
    }
    found
}

/// The target of a clone: the directory argument, otherwise the last part of the URL. A bare clone has no working tree.
fn cloned(args: &[String]) -> Option<String> {
    const VALUED: &str = "-b -o -u -c -j --branch --origin --upload-pack --upstream-remote-name --config --jobs --depth \
                          --reference --template --separate-git-dir --filter --shallow-since --shallow-exclude \
                          --server-option --bundle-uri --ref-format --revision";
    if has(args, "--bare") || has(args, "--mirror") {
        return None;
    }
    let end = args.iter().position(|word| word == "--").unwrap_or(args.len());
    let words = plain(&args[..end], VALUED);
    let words = if words.is_empty() { plain(args, VALUED) } else { words };
    match words.as_slice() {
        [_, to, ..] => Some((*to).to_owned()),
        [from] => {
            let from = from.trim_end_matches('/');
            let from = from.strip_suffix("/.git").or_else(|| from.strip_suffix(".git")).unwrap_or(from);
            from.rsplit(['/', ':']).next().filter(|name| !name.is_empty()).map(str::to_owned)
        }
        [] => None,
    }
}

/// Whether a command creates a new temporary directory and prints its name: `mktemp -d`. With an explicit location, the
/// directory can be anywhere.
pub(super) fn is_temporary(words: &[String]) -> bool {
    let [program, rest @ ..] = words else { return false };
    let is_short = |word: &str, letter: char| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
    let makes_directory = rest.iter().any(|word| word == "--directory" || is_short(word, 'd'));
    let is_elsewhere = rest.iter().any(|word| word == "-t" || word == "--tmpdir" || is_short(word, 't'));
    let is_told = rest.iter().any(|word| word.starts_with("--tmpdir=") || is_short(word, 'p'));
    let is_plain = |word: &&str| word.starts_with("/tmp/") || word.starts_with("/var/tmp/");
    let templates = plain(rest, "--suffix");
    program.rsplit('/').next() == Some("mktemp")
        && makes_directory
        && !is_told
        && (is_elsewhere || templates.iter().all(is_plain))
}
