//! The arguments of a git command, as far as git itself would read them.

/// Arguments of a git command.
pub(super) struct GitArgs {
    pub(super) options: Vec<String>,
    pub(super) plain: Vec<String>,
    /// What stands behind `--`, if that is there.
    pub(super) paths: Option<Vec<String>>,
}

/// Options of a verb that take a word of their own; the letters among them; those whose word is a name that counts.
const VALUED: [(&str, &str, &str, &str); 16] = [
    ("checkout", "--conflict --pathspec-from-file", "", "bB"),
    ("switch", "--conflict", "", "cC"),
    ("restore", "--source --conflict --pathspec-from-file", "s", ""),
    ("clean", "--exclude", "e", ""),
    ("stash", "--message --pathspec-from-file", "m", ""),
    ("rm", "--pathspec-from-file", "", ""),
    ("checkout-index", "--stage", "", ""),
    ("merge-file", "--marker-size --diff-algorithm", "L", ""),
    ("mergetool", "--tool", "tO", ""),
    ("submodule", "--reference --depth --jobs --branch --name", "jb", ""),
    ("subtree", "--prefix --message --annotate --branch --onto", "Pmb", ""),
    ("for-each-repo", "--config", "", ""),
    ("lfs", "--include --exclude --to", "IX", ""),
    ("worktree", "--reason", "bB", ""),
    ("svn", "--revision --username --commit-url", "r", ""),
    ("flow", "--message", "m", ""),
];

impl GitArgs {
    /// The arguments behind a verb.
    pub(super) fn read(verb: &str, args: &[String]) -> GitArgs {
        let found = VALUED.iter().find(|(of, ..)| *of == verb);
        let (words, letters, names) =
            found.map_or(("", "", ""), |(_, words, letters, names)| (*words, *letters, *names));
        let mut read = GitArgs { options: Vec::new(), plain: Vec::new(), paths: None };
        let mut args = args.iter();
        while let Some(word) = args.next() {
            match word.as_str() {
                "--" => {
                    read.paths = Some(args.cloned().collect());
                    break;
                }
                "-" => read.plain.push(word.clone()),
                _ if word.starts_with("--") => {
                    if words.split(' ').any(|option| option == word) {
                        args.next();
                    }
                    read.options.push(word.clone());
                }
                _ if word.starts_with('-') => {
                    // Behind a letter that takes a value stands the value, at once or as the next word.
                    let valued = |c: char| letters.contains(c) || names.contains(c);
                    let (option, value) = match word.find(valued) {
                        Some(at) => word.split_at(at + 1),
                        None => (word.as_str(), ""),
                    };
                    if option.ends_with(|c| names.contains(c)) && !value.is_empty() {
                        read.plain.push(value.to_owned());
                    } else if option.ends_with(|c| letters.contains(c)) && value.is_empty() && option.len() > 1 {
                        args.next();
                    }
                    read.options.push(option.to_owned());
                }
                _ => read.plain.push(word.clone()),
            }
        }
        read
    }

    /// Whether the command only explains itself. `-h` alone: in `-Xtheirs` it is a letter of something else.
    pub(super) fn is_help(&self) -> bool {
        self.options.iter().any(|option| option == "-h") || self.has("", "--help", 6)
    }

    /// Every path, before `--` and behind it.
    pub(super) fn all(&self, from: usize) -> Vec<String> {
        self.plain.iter().skip(from).chain(self.paths.iter().flatten()).cloned().collect()
    }

    /// The first plain word: what a command with verbs of its own is to do.
    pub(super) fn first(&self) -> &str {
        self.plain.first().map_or("", String::as_str)
    }

    /// Whether the paths come from a file.
    pub(super) fn is_listed(&self) -> bool {
        self.has("", "--pathspec-from-file", 12)
    }

    /// Whether a word is there with its value behind a `=`.
    pub(super) fn is_inline(&self, word: &str, least: usize) -> bool {
        let name = |option: &String| option.split_once('=').map(|(name, _)| name.to_owned());
        self.options.iter().filter_map(name).any(|name| name.len() >= least && word.starts_with(&name))
    }

    /// Whether an option is there: a letter, alone or among others, or a word, of which git takes any beginning that no
    /// other option has; `least` is how long that must be.
    pub(super) fn has(&self, letter: &str, word: &str, least: usize) -> bool {
        let letter = letter.strip_prefix('-');
        self.options.iter().any(|option| match option.strip_prefix("--") {
            Some(_) => {
                let name = option.split('=').next().unwrap_or(option);
                !word.is_empty() && name.len() >= least && word.starts_with(name)
            }
            None => letter.is_some_and(|letter| option[1..].contains(letter)),
        })
    }
}
