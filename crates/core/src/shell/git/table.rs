//! Every subcommand of git, and what it does to files of others.

use super::super::git_args::Args;
use super::Trees;
use super::rules::{self, Risk};

/// What a subcommand does to the files of a working tree.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Nothing that is there is changed.
    Never,
    /// Files are changed, as its arguments say.
    Changes(fn(&Args) -> Option<Risk>),
    /// It runs a line, as its words say; else as above.
    Runs(fn(&[String]) -> Option<(String, Trees)>, fn(&Args) -> Option<Risk>),
}

/// A subcommand: git's own, one that comes with it, or one that is widely installed beside it. No alias can change what
/// git's own mean.
#[derive(Clone, Copy)]
pub struct Subcommand {
    /// Its name.
    pub name: &'static str,
    /// What it does to files.
    pub(super) rule: Rule,
    /// Why, and when, in a few words.
    pub why: &'static str,
}

impl Subcommand {
    /// Whether it may change files, by itself or by what it runs.
    pub fn changes_files(&self) -> bool {
        !matches!(self.rule, Rule::Never)
    }
}

const fn is(name: &'static str, rule: Rule, why: &'static str) -> Subcommand {
    Subcommand { name, rule, why }
}

/// The entry of a subcommand.
pub(super) fn find(name: &str) -> Option<&'static Subcommand> {
    SUBCOMMANDS.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &SUBCOMMANDS[at])
}

/// All of them, by name.
#[rustfmt::skip]
pub const SUBCOMMANDS: &[Subcommand] = &[
    is("add", Rule::Never, "only the index is written"),
    is("am", Rule::Changes(rules::am), "applies patches; not with `--quit` or `--show-current-patch`"),
    is("annex", Rule::Changes(rules::annex), "`sync`, `pull`, `merge`, `get`, `drop`, `adjust`, `unlock`, `view` and the like put other files in place"),
    is("annotate", Rule::Never, "only reads"),
    is("apply", Rule::Changes(rules::apply), "changes files; not with `--cached`, nor where it only looks (`--check`, `--stat`, `--numstat`, `--summary` without `--apply`)"),
    is("archimport", Rule::Changes(rules::always), "checks out what it imports"),
    is("archive", Rule::Never, "writes new files where it is told to, as any program may"),
    is("backfill", Rule::Never, "only objects are written"),
    is("bisect", Rule::Changes(rules::bisect), "checks out commits; not `log`, `view`, `terms`"),
    is("blame", Rule::Never, "only reads"),
    is("branch", Rule::Never, "only refs are written"),
    is("bugreport", Rule::Never, "only reads"),
    is("bundle", Rule::Never, "only objects are written"),
    is("cat-file", Rule::Never, "only reads"),
    is("check-attr", Rule::Never, "only reads"),
    is("check-ignore", Rule::Never, "only reads"),
    is("check-mailmap", Rule::Never, "only reads"),
    is("check-ref-format", Rule::Never, "only reads"),
    is("checkout", Rule::Changes(rules::checkout), "of a branch or commit, with `-f`; `-b` and `--orphan` only with a place to begin at; of paths that others hold; with `-p` too, whose questions can be answered from a pipe. A name that is a file there means that file"),
    is("checkout-index", Rule::Changes(rules::checkout_index), "with `-a` or `--stdin`; with `-f`, if others hold the paths; not with `--prefix` or `--temp`"),
    is("cherry", Rule::Never, "only reads"),
    is("cherry-pick", Rule::Changes(rules::unless_quit), "changes files, also to go on or give up; not with `--quit`"),
    is("citool", Rule::Never, "a window: what is done there is done by a person"),
    is("clean", Rule::Changes(rules::clean), "removes files; with paths, if others hold those; not as a dry run"),
    is("clone", Rule::Never, "a tree of its own elsewhere"),
    is("column", Rule::Never, "only reads"),
    is("commit", Rule::Never, "only commits, the index and refs are written"),
    is("commit-graph", Rule::Never, "only objects are written"),
    is("commit-tree", Rule::Never, "only commits, the index and refs are written"),
    is("config", Rule::Never, "only settings are written"),
    is("count-objects", Rule::Never, "only reads"),
    is("credential", Rule::Never, "only reads"),
    is("credential-cache", Rule::Never, "keeps passwords"),
    is("credential-libsecret", Rule::Never, "keeps passwords"),
    is("credential-netrc", Rule::Never, "keeps passwords"),
    is("credential-osxkeychain", Rule::Never, "keeps passwords"),
    is("credential-store", Rule::Never, "keeps passwords"),
    is("credential-wincred", Rule::Never, "keeps passwords"),
    is("crypt", Rule::Changes(rules::crypt), "`lock` and `unlock` rewrite the encrypted files"),
    is("cvsexportcommit", Rule::Never, "writes the tree of CVS, not this one"),
    is("cvsimport", Rule::Changes(rules::cvsimport), "checks out what it imports; not with `-i`"),
    is("cvsserver", Rule::Never, "serves others; what they push is not seen"),
    is("daemon", Rule::Never, "serves others; what they push is not seen"),
    is("describe", Rule::Never, "only reads"),
    is("diagnose", Rule::Never, "only reads"),
    is("diff", Rule::Never, "only reads"),
    is("diff-files", Rule::Never, "only reads"),
    is("diff-index", Rule::Never, "only reads"),
    is("diff-pairs", Rule::Never, "only reads"),
    is("diff-tree", Rule::Never, "only reads"),
    is("difftool", Rule::Never, "only reads"),
    is("fast-export", Rule::Never, "writes new files where it is told to, as any program may"),
    is("fast-import", Rule::Never, "only commits, the index and refs are written"),
    is("fetch", Rule::Never, "only objects and refs are fetched"),
    is("fetch-pack", Rule::Never, "only objects and refs are fetched"),
    is("filter-branch", Rule::Changes(rules::always), "rewrites history and checks out the result"),
    is("filter-repo", Rule::Changes(rules::filter_repo), "rewrites history and resets the tree to it; not with `--analyze` or `--dry-run`"),
    is("flow", Rule::Changes(rules::flow), "`init`, and `start`, `finish`, `track`, `checkout`, `pull`, `rebase`, `delete` of any kind of branch, switch branches"),
    is("fmt-merge-msg", Rule::Never, "only reads"),
    is("for-each-ref", Rule::Never, "only reads"),
    is("for-each-repo", Rule::Runs(rules::in_each_repository, rules::nothing), "runs a git command, which is looked at as if it ran here"),
    is("format-patch", Rule::Never, "writes new files where it is told to, as any program may"),
    is("fsck", Rule::Never, "only reads"),
    is("fsck-objects", Rule::Never, "only reads"),
    is("gc", Rule::Never, "only objects are written"),
    is("get-tar-commit-id", Rule::Never, "only reads"),
    is("gitk", Rule::Never, "a window: what is done there is done by a person"),
    is("gitweb", Rule::Never, "a window: what is done there is done by a person"),
    is("grep", Rule::Never, "only reads"),
    is("gui", Rule::Never, "a window: what is done there is done by a person"),
    is("hash-object", Rule::Never, "only objects are written"),
    is("help", Rule::Never, "only reads"),
    is("hook", Rule::Never, "only reads"),
    is("http-backend", Rule::Never, "serves others; what they push is not seen"),
    is("http-fetch", Rule::Never, "only objects and refs are fetched"),
    is("http-push", Rule::Never, "only the other side is written"),
    is("imap-send", Rule::Never, "only the other side is written"),
    is("index-pack", Rule::Never, "only objects are written"),
    is("init", Rule::Never, "a tree of its own elsewhere"),
    is("init-db", Rule::Never, "a tree of its own elsewhere"),
    is("instaweb", Rule::Never, "serves others; what they push is not seen"),
    is("interpret-trailers", Rule::Never, "only reads"),
    is("last-modified", Rule::Never, "only reads"),
    is("lfs", Rule::Changes(rules::lfs), "`pull` and `checkout` replace pointers by files; `migrate` rewrites history (not `migrate info`)"),
    is("log", Rule::Never, "only reads"),
    is("ls-files", Rule::Never, "only reads"),
    is("ls-remote", Rule::Never, "only reads"),
    is("ls-tree", Rule::Never, "only reads"),
    is("mailinfo", Rule::Never, "writes new files where it is told to, as any program may"),
    is("mailsplit", Rule::Never, "writes new files where it is told to, as any program may"),
    is("maintenance", Rule::Never, "only objects are written"),
    is("merge", Rule::Changes(rules::unless_quit), "changes files, also to go on or give up; not with `--quit`"),
    is("merge-base", Rule::Never, "only reads"),
    is("merge-file", Rule::Changes(rules::merge_file), "writes its first file, if others hold it; not with `-p`"),
    is("merge-index", Rule::Changes(rules::always), "merges into files"),
    is("merge-octopus", Rule::Changes(rules::always), "merges into files"),
    is("merge-one-file", Rule::Changes(rules::always), "merges into files"),
    is("merge-ours", Rule::Never, "only reads"),
    is("merge-recursive", Rule::Changes(rules::always), "merges into files"),
    is("merge-recursive-ours", Rule::Changes(rules::always), "merges into files"),
    is("merge-recursive-theirs", Rule::Changes(rules::always), "merges into files"),
    is("merge-resolve", Rule::Changes(rules::always), "merges into files"),
    is("merge-subtree", Rule::Changes(rules::always), "merges into files"),
    is("merge-tree", Rule::Never, "only reads"),
    is("mergetool", Rule::Changes(rules::some_paths), "writes the files that are in conflict; with paths, if others hold those"),
    is("mktag", Rule::Never, "only objects are written"),
    is("mktree", Rule::Never, "only objects are written"),
    is("multi-pack-index", Rule::Never, "only objects are written"),
    is("mv", Rule::Changes(rules::mv), "of and to paths that others hold; not as a dry run"),
    is("name-rev", Rule::Never, "only reads"),
    is("notes", Rule::Never, "only commits, the index and refs are written"),
    is("p4", Rule::Changes(rules::p4), "`sync`, `rebase`, `submit` and `unshelve` check out or reset"),
    is("pack-objects", Rule::Never, "only objects are written"),
    is("pack-redundant", Rule::Never, "only objects are written"),
    is("pack-refs", Rule::Never, "only refs are written"),
    is("patch-id", Rule::Never, "only reads"),
    is("pickaxe", Rule::Never, "only reads"),
    is("prune", Rule::Never, "only objects are written"),
    is("prune-packed", Rule::Never, "only objects are written"),
    is("pull", Rule::Changes(rules::pull), "merges or rebases; not with `--dry-run`"),
    is("push", Rule::Never, "only the other side is written"),
    is("quiltimport", Rule::Changes(rules::always), "applies patches"),
    is("range-diff", Rule::Never, "only reads"),
    is("read-tree", Rule::Changes(rules::read_tree), "with `-u` or `--reset`; not as a dry run"),
    is("rebase", Rule::Changes(rules::rebase), "changes files, also to go on or give up, whatever `--exec` runs; not with `--quit`, `--edit-todo`, `--show-current-patch`"),
    is("receive-pack", Rule::Never, "serves others; what they push is not seen"),
    is("reflog", Rule::Never, "only refs are written"),
    is("refs", Rule::Never, "only refs are written"),
    is("remote", Rule::Never, "only objects and refs are fetched"),
    is("remote-ext", Rule::Never, "only objects and refs are fetched"),
    is("remote-fd", Rule::Never, "only objects and refs are fetched"),
    is("remote-ftp", Rule::Never, "only objects and refs are fetched"),
    is("remote-ftps", Rule::Never, "only objects and refs are fetched"),
    is("remote-http", Rule::Never, "only objects and refs are fetched"),
    is("remote-https", Rule::Never, "only objects and refs are fetched"),
    is("repack", Rule::Never, "only objects are written"),
    is("replace", Rule::Never, "only commits, the index and refs are written"),
    is("replay", Rule::Never, "only commits, the index and refs are written"),
    is("repo", Rule::Never, "only reads"),
    is("request-pull", Rule::Never, "only reads"),
    is("rerere", Rule::Changes(rules::rerere), "without a verb it writes files that are in conflict"),
    is("reset", Rule::Changes(rules::reset), "with `--hard`, `--merge`, `--keep`"),
    is("restore", Rule::Changes(rules::restore), "of paths that others hold; with `-p` without paths, of any file; not with `--staged` alone"),
    is("rev-list", Rule::Never, "only reads"),
    is("rev-parse", Rule::Never, "only reads"),
    is("revert", Rule::Changes(rules::unless_quit), "changes files, also to go on or give up; not with `--quit`"),
    is("rm", Rule::Changes(rules::rm), "of paths that others hold; not with `--cached` or as a dry run"),
    is("send-email", Rule::Never, "only the other side is written"),
    is("send-pack", Rule::Never, "only the other side is written"),
    is("shell", Rule::Never, "serves others; what they push is not seen"),
    is("shortlog", Rule::Never, "only reads"),
    is("show", Rule::Never, "only reads"),
    is("show-branch", Rule::Never, "only reads"),
    is("show-index", Rule::Never, "only reads"),
    is("show-ref", Rule::Never, "only reads"),
    is("sparse-checkout", Rule::Changes(rules::sparse_checkout), "`set`, `add`, `init`, `reapply`, `disable` remove and bring back files; not `list`, `check-rules`"),
    is("stage", Rule::Never, "only the index is written"),
    is("stash", Rule::Changes(rules::stash), "takes changes away or brings them back, or drops what others put there; `push` of paths, if others hold those; not `list`, `show`, `create`, `store`, `export`, `import`"),
    is("status", Rule::Never, "only reads"),
    is("stripspace", Rule::Never, "only reads"),
    is("submodule", Rule::Runs(rules::foreach, rules::submodule), "`foreach` runs a line, which is looked at here and in the submodules; `update` and `deinit` with `--force`, here and there; without it, there"),
    is("subtree", Rule::Changes(rules::subtree), "`add`, `merge`, `pull`, and `split --rejoin`, merge into files"),
    is("svn", Rule::Changes(rules::svn), "`rebase`, `dcommit` and the like rebase or reset; not as a dry run"),
    is("switch", Rule::Changes(rules::switch), "always, but for `-c NAME` without a place to begin at"),
    is("symbolic-ref", Rule::Never, "only refs are written"),
    is("tag", Rule::Never, "only refs are written"),
    is("town", Rule::Changes(rules::town), "`sync`, `hack`, `switch`, `ship` and the like switch branches and merge; not `branch`, `config`, `diff-parent`, `offline`, `repo`, `status`"),
    is("unpack-file", Rule::Never, "only objects are written"),
    is("unpack-objects", Rule::Never, "only objects are written"),
    is("update-index", Rule::Never, "only the index is written"),
    is("update-ref", Rule::Never, "only refs are written"),
    is("update-server-info", Rule::Never, "serves others; what they push is not seen"),
    is("upload-archive", Rule::Never, "serves others; what they push is not seen"),
    is("upload-pack", Rule::Never, "serves others; what they push is not seen"),
    is("var", Rule::Never, "only reads"),
    is("verify-commit", Rule::Never, "only reads"),
    is("verify-pack", Rule::Never, "only reads"),
    is("verify-tag", Rule::Never, "only reads"),
    is("version", Rule::Never, "only reads"),
    is("whatchanged", Rule::Never, "only reads"),
    is("worktree", Rule::Changes(rules::worktree), "`remove --force` and `move`, while others hold paths in that worktree"),
    is("write-tree", Rule::Never, "only commits, the index and refs are written"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once_and_in_order() {
        assert!(SUBCOMMANDS.is_sorted_by(|one, next| one.name < next.name));
        assert!(SUBCOMMANDS.iter().all(|known| !known.why.is_empty()));
    }

    /// Asks the git that is installed: one that has a subcommand which nobody has thought about fails here.
    #[test]
    fn inv_r13_every_subcommand_of_the_installed_git_is_named() {
        let asked = std::process::Command::new("git").arg("--list-cmds=main,nohelpers").output();
        let said = String::from_utf8(asked.expect("git is there").stdout).unwrap();
        let names: Vec<&str> = said.lines().filter(|name| !name.contains("--")).collect();
        assert!(names.len() > 100, "{said}");
        let unknown: Vec<&str> = names.into_iter().filter(|name| find(name).is_none()).collect();
        assert!(unknown.is_empty(), "not in the table: {unknown:?}");
    }
}
