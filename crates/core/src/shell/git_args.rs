//! The arguments of a git command, parsed as git would.

/// The arguments of a git command.
pub(super) struct GitArgs {
    pub(super) options: Vec<String>,
    pub(super) plain: Vec<String>,
    /// The words after `--`, if it is present.
    pub(super) paths: Option<Vec<String>>,
}

/// Per verb: the long options that take a value, their letters, and the letters whose value is a name that counts.
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
    /// Parses the arguments after a verb.
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
                    // The value of a letter follows in the same word or as the next one.
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

    /// Whether the command only prints help. Only `-h` alone counts: in `-Xtheirs`, the `h` is part of another option.
    pub(super) fn is_help(&self) -> bool {
        self.options.iter().any(|option| option == "-h") || self.has("", "--help", 6)
    }

    /// Every path, before and after `--`.
    pub(super) fn all(&self, from: usize) -> Vec<String> {
        self.plain.iter().skip(from).chain(self.paths.iter().flatten()).cloned().collect()
    }

    /// The first plain word: the verb of a command with subcommands of its own.
    pub(super) fn first(&self) -> &str {
        self.plain.first().map_or("", String::as_str)
    }

    /// Whether the paths come from a file.
    pub(super) fn is_listed(&self) -> bool {
        self.has("", "--pathspec-from-file", 12)
    }

    /// Whether a long option is present with its value after `=`.
    pub(super) fn is_inline(&self, word: &str, least: usize) -> bool {
        let name = |option: &String| option.split_once('=').map(|(name, _)| name.to_owned());
        self.options.iter().filter_map(name).any(|name| name.len() >= least && word.starts_with(&name))
    }

    /// Whether an option is present: as a letter, alone or combined, or as a word. Git accepts any unique prefix of a
    /// word; `least` is the shortest one.
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
