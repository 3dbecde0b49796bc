//! The table of git subcommands and their effects on files of other agents.

use super::super::git_args::GitArgs;
use super::Trees;
use super::rules::{self, FileEffect};

/// The effect of a subcommand on the files of a working tree.
#[derive(Clone, Copy)]
pub(super) enum SubcommandRule {
    /// It changes no existing file.
    Never,
    /// It changes files, depending on its arguments.
    Changes(fn(&GitArgs) -> Option<FileEffect>),
    /// It runs a command line, depending on its words; otherwise like `Changes`.
    Runs(fn(&[String]) -> Option<(String, Trees)>, fn(&GitArgs) -> Option<FileEffect>),
}

/// A subcommand: one of git itself, one shipped with it, or one widely installed beside it. An alias cannot redefine
/// git's own subcommands.
#[derive(Clone, Copy)]
pub struct Subcommand {
    /// The subcommand's name.
    pub name: &'static str,
    /// The effect on files.
    pub(super) rule: SubcommandRule,
    /// The reason and the condition, in a few words.
    pub why: &'static str,
}

impl Subcommand {
    /// Whether it can change files, by itself or through a command that it runs.
    pub fn changes_files(&self) -> bool {
        !matches!(self.rule, SubcommandRule::Never)
    }
}

const fn is(name: &'static str, rule: SubcommandRule, why: &'static str) -> Subcommand {
    Subcommand { name, rule, why }
}

/// Looks up a subcommand.
pub(super) fn find(name: &str) -> Option<&'static Subcommand> {
    SUBCOMMANDS.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &SUBCOMMANDS[at])
}

/// All subcommands, sorted by name.
#[rustfmt::skip]
pub const SUBCOMMANDS: &[Subcommand] = &[
    is("add", SubcommandRule::Never, "only the index is written"),
    is("am", SubcommandRule::Changes(rules::am), "applies patches; not with `--quit` or `--show-current-patch`"),
    is("annex", SubcommandRule::Changes(rules::annex), "`sync`, `pull`, `merge`, `get`, `drop`, `adjust`, `unlock`, `view` and the like put other files in place"),
    is("annotate", SubcommandRule::Never, "only reads"),
    is("apply", SubcommandRule::Changes(rules::apply), "changes files; not with `--cached`, nor with the reporting options `--check`, `--stat`, `--numstat`, `--summary` without `--apply`"),
    is("archimport", SubcommandRule::Changes(rules::always), "checks out what it imports"),
    is("archive", SubcommandRule::Never, "writes new files only at the place that it is given, like any program"),
    is("backfill", SubcommandRule::Never, "only objects are written"),
    is("bisect", SubcommandRule::Changes(rules::bisect), "checks out commits; not `log`, `view`, `terms`"),
    is("blame", SubcommandRule::Never, "only reads"),
    is("branch", SubcommandRule::Never, "only refs are written"),
    is("bugreport", SubcommandRule::Never, "only reads"),
    is("bundle", SubcommandRule::Never, "only objects are written"),
    is("cat-file", SubcommandRule::Never, "only reads"),
    is("check-attr", SubcommandRule::Never, "only reads"),
    is("check-ignore", SubcommandRule::Never, "only reads"),
    is("check-mailmap", SubcommandRule::Never, "only reads"),
    is("check-ref-format", SubcommandRule::Never, "only reads"),
    is("checkout", SubcommandRule::Changes(rules::checkout), "of a branch or commit, with `-f`; `-b` and `--orphan` only with a start point; of paths that others hold, also with `-p`, because a pipe can answer its questions. A name of an existing file means that file"),
    is("checkout-index", SubcommandRule::Changes(rules::checkout_index), "with `-a` or `--stdin`; with `-f`, if others hold the paths; not with `--prefix` or `--temp`"),
    is("cherry", SubcommandRule::Never, "only reads"),
    is("cherry-pick", SubcommandRule::Changes(rules::unless_quit), "changes files, also with `--continue` and `--abort`; not with `--quit`"),
    is("citool", SubcommandRule::Never, "opens a window, in which a person acts"),
    is("clean", SubcommandRule::Changes(rules::clean), "removes files; with paths, if others hold those; not as a dry run"),
    is("clone", SubcommandRule::Never, "writes a separate tree elsewhere"),
    is("column", SubcommandRule::Never, "only reads"),
    is("commit", SubcommandRule::Never, "only commits, the index and refs are written"),
    is("commit-graph", SubcommandRule::Never, "only objects are written"),
    is("commit-tree", SubcommandRule::Never, "only commits, the index and refs are written"),
    is("config", SubcommandRule::Never, "only settings are written"),
    is("count-objects", SubcommandRule::Never, "only reads"),
    is("credential", SubcommandRule::Never, "only reads"),
    is("credential-cache", SubcommandRule::Never, "stores passwords"),
    is("credential-libsecret", SubcommandRule::Never, "stores passwords"),
    is("credential-netrc", SubcommandRule::Never, "stores passwords"),
    is("credential-osxkeychain", SubcommandRule::Never, "stores passwords"),
    is("credential-store", SubcommandRule::Never, "stores passwords"),
    is("credential-wincred", SubcommandRule::Never, "stores passwords"),
    is("crypt", SubcommandRule::Changes(rules::crypt), "`lock` and `unlock` rewrite the encrypted files"),
    is("cvsexportcommit", SubcommandRule::Never, "writes the tree of CVS only"),
    is("cvsimport", SubcommandRule::Changes(rules::cvsimport), "checks out what it imports; not with `-i`"),
    is("cvsserver", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("daemon", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("describe", SubcommandRule::Never, "only reads"),
    is("diagnose", SubcommandRule::Never, "only reads"),
    is("diff", SubcommandRule::Never, "only reads"),
    is("diff-files", SubcommandRule::Never, "only reads"),
    is("diff-index", SubcommandRule::Never, "only reads"),
    is("diff-pairs", SubcommandRule::Never, "only reads"),
    is("diff-tree", SubcommandRule::Never, "only reads"),
    is("difftool", SubcommandRule::Never, "only reads"),
    is("fast-export", SubcommandRule::Never, "writes new files only at the place that it is given, like any program"),
    is("fast-import", SubcommandRule::Never, "only commits, the index and refs are written"),
    is("fetch", SubcommandRule::Never, "only objects and refs are fetched"),
    is("fetch-pack", SubcommandRule::Never, "only objects and refs are fetched"),
    is("filter-branch", SubcommandRule::Changes(rules::always), "rewrites history and checks out the result"),
    is("filter-repo", SubcommandRule::Changes(rules::filter_repo), "rewrites history and resets the tree; not with `--analyze` or `--dry-run`"),
    is("flow", SubcommandRule::Changes(rules::flow), "`init`, and `start`, `finish`, `track`, `checkout`, `pull`, `rebase`, `delete` of any kind of branch, switch branches"),
    is("fmt-merge-msg", SubcommandRule::Never, "only reads"),
    is("for-each-ref", SubcommandRule::Never, "only reads"),
    is("for-each-repo", SubcommandRule::Runs(rules::in_each_repository, rules::nothing), "runs a git command, which is checked as if it ran directly"),
    is("format-patch", SubcommandRule::Never, "writes new files only at the place that it is given, like any program"),
    is("fsck", SubcommandRule::Never, "only reads"),
    is("fsck-objects", SubcommandRule::Never, "only reads"),
    is("gc", SubcommandRule::Never, "only objects are written"),
    is("get-tar-commit-id", SubcommandRule::Never, "only reads"),
    is("gitk", SubcommandRule::Never, "opens a window, in which a person acts"),
    is("gitweb", SubcommandRule::Never, "opens a window, in which a person acts"),
    is("grep", SubcommandRule::Never, "only reads"),
    is("gui", SubcommandRule::Never, "opens a window, in which a person acts"),
    is("hash-object", SubcommandRule::Never, "only objects are written"),
    is("help", SubcommandRule::Never, "only reads"),
    is("hook", SubcommandRule::Never, "only reads"),
    is("http-backend", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("http-fetch", SubcommandRule::Never, "only objects and refs are fetched"),
    is("http-push", SubcommandRule::Never, "writes the remote side only"),
    is("imap-send", SubcommandRule::Never, "writes the remote side only"),
    is("index-pack", SubcommandRule::Never, "only objects are written"),
    is("init", SubcommandRule::Never, "writes a separate tree elsewhere"),
    is("init-db", SubcommandRule::Never, "writes a separate tree elsewhere"),
    is("instaweb", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("interpret-trailers", SubcommandRule::Never, "only reads"),
    is("last-modified", SubcommandRule::Never, "only reads"),
    is("lfs", SubcommandRule::Changes(rules::lfs), "`pull` and `checkout` replace pointers by files; `migrate` rewrites history (not `migrate info`)"),
    is("log", SubcommandRule::Never, "only reads"),
    is("ls-files", SubcommandRule::Never, "only reads"),
    is("ls-remote", SubcommandRule::Never, "only reads"),
    is("ls-tree", SubcommandRule::Never, "only reads"),
    is("mailinfo", SubcommandRule::Never, "writes new files only at the place that it is given, like any program"),
    is("mailsplit", SubcommandRule::Never, "writes new files only at the place that it is given, like any program"),
    is("maintenance", SubcommandRule::Never, "only objects are written"),
    is("merge", SubcommandRule::Changes(rules::unless_quit), "changes files, also with `--continue` and `--abort`; not with `--quit`"),
    is("merge-base", SubcommandRule::Never, "only reads"),
    is("merge-file", SubcommandRule::Changes(rules::merge_file), "writes its first file, if others hold it; not with `-p`"),
    is("merge-index", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-octopus", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-one-file", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-ours", SubcommandRule::Never, "only reads"),
    is("merge-recursive", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-recursive-ours", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-recursive-theirs", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-resolve", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-subtree", SubcommandRule::Changes(rules::always), "merges into files"),
    is("merge-tree", SubcommandRule::Never, "only reads"),
    is("mergetool", SubcommandRule::Changes(rules::some_paths), "writes the files that are in conflict; with paths, if others hold those"),
    is("mktag", SubcommandRule::Never, "only objects are written"),
    is("mktree", SubcommandRule::Never, "only objects are written"),
    is("multi-pack-index", SubcommandRule::Never, "only objects are written"),
    is("mv", SubcommandRule::Changes(rules::mv), "of and to paths that others hold; not as a dry run"),
    is("name-rev", SubcommandRule::Never, "only reads"),
    is("notes", SubcommandRule::Never, "only commits, the index and refs are written"),
    is("p4", SubcommandRule::Changes(rules::p4), "`sync`, `rebase`, `submit` and `unshelve` check out or reset"),
    is("pack-objects", SubcommandRule::Never, "only objects are written"),
    is("pack-redundant", SubcommandRule::Never, "only objects are written"),
    is("pack-refs", SubcommandRule::Never, "only refs are written"),
    is("patch-id", SubcommandRule::Never, "only reads"),
    is("pickaxe", SubcommandRule::Never, "only reads"),
    is("prune", SubcommandRule::Never, "only objects are written"),
    is("prune-packed", SubcommandRule::Never, "only objects are written"),
    is("pull", SubcommandRule::Changes(rules::pull), "merges or rebases; not with `--dry-run`"),
    is("push", SubcommandRule::Never, "writes the remote side only"),
    is("quiltimport", SubcommandRule::Changes(rules::always), "applies patches"),
    is("range-diff", SubcommandRule::Never, "only reads"),
    is("read-tree", SubcommandRule::Changes(rules::read_tree), "with `-u` or `--reset`; not as a dry run"),
    is("rebase", SubcommandRule::Changes(rules::rebase), "changes files, also with `--continue`, `--abort` and `--exec`; not with `--quit`, `--edit-todo`, `--show-current-patch`"),
    is("receive-pack", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("reflog", SubcommandRule::Never, "only refs are written"),
    is("refs", SubcommandRule::Never, "only refs are written"),
    is("remote", SubcommandRule::Never, "only objects and refs are fetched"),
    is("remote-ext", SubcommandRule::Never, "only objects and refs are fetched"),
    is("remote-fd", SubcommandRule::Never, "only objects and refs are fetched"),
    is("remote-ftp", SubcommandRule::Never, "only objects and refs are fetched"),
    is("remote-ftps", SubcommandRule::Never, "only objects and refs are fetched"),
    is("remote-http", SubcommandRule::Never, "only objects and refs are fetched"),
    is("remote-https", SubcommandRule::Never, "only objects and refs are fetched"),
    is("repack", SubcommandRule::Never, "only objects are written"),
    is("replace", SubcommandRule::Never, "only commits, the index and refs are written"),
    is("replay", SubcommandRule::Never, "only commits, the index and refs are written"),
    is("repo", SubcommandRule::Never, "only reads"),
    is("request-pull", SubcommandRule::Never, "only reads"),
    is("rerere", SubcommandRule::Changes(rules::rerere), "without a verb it writes files that are in conflict"),
    is("reset", SubcommandRule::Changes(rules::reset), "with `--hard`, `--merge`, `--keep`"),
    is("restore", SubcommandRule::Changes(rules::restore), "of paths that others hold; with `-p` without paths, of any file; not with `--staged` alone"),
    is("rev-list", SubcommandRule::Never, "only reads"),
    is("rev-parse", SubcommandRule::Never, "only reads"),
    is("revert", SubcommandRule::Changes(rules::unless_quit), "changes files, also with `--continue` and `--abort`; not with `--quit`"),
    is("rm", SubcommandRule::Changes(rules::rm), "of paths that others hold; not with `--cached` or as a dry run"),
    is("send-email", SubcommandRule::Never, "writes the remote side only"),
    is("send-pack", SubcommandRule::Never, "writes the remote side only"),
    is("shell", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("shortlog", SubcommandRule::Never, "only reads"),
    is("show", SubcommandRule::Never, "only reads"),
    is("show-branch", SubcommandRule::Never, "only reads"),
    is("show-index", SubcommandRule::Never, "only reads"),
    is("show-ref", SubcommandRule::Never, "only reads"),
    is("sparse-checkout", SubcommandRule::Changes(rules::sparse_checkout), "`set`, `add`, `init`, `reapply`, `disable` remove and restore files; not `list`, `check-rules`"),
    is("stage", SubcommandRule::Never, "only the index is written"),
    is("stash", SubcommandRule::Changes(rules::stash), "removes, restores or drops changes, also those of other agents; `push` of paths that others hold; not `list`, `show`, `create`, `store`, `export`, `import`"),
    is("status", SubcommandRule::Never, "only reads"),
    is("stripspace", SubcommandRule::Never, "only reads"),
    is("submodule", SubcommandRule::Runs(rules::foreach, rules::submodule), "`foreach` runs a command line, which is checked here and in the submodules; `update` and `deinit` are checked here and there with `--force`, and only there without it"),
    is("subtree", SubcommandRule::Changes(rules::subtree), "`add`, `merge`, `pull`, and `split --rejoin`, merge into files"),
    is("svn", SubcommandRule::Changes(rules::svn), "`rebase`, `dcommit` and the like rebase or reset; not as a dry run"),
    is("switch", SubcommandRule::Changes(rules::switch), "always, except `-c NAME` without a start point"),
    is("symbolic-ref", SubcommandRule::Never, "only refs are written"),
    is("tag", SubcommandRule::Never, "only refs are written"),
    is("town", SubcommandRule::Changes(rules::town), "`sync`, `hack`, `switch`, `ship` and the like switch branches and merge; not `branch`, `config`, `diff-parent`, `offline`, `repo`, `status`"),
    is("unpack-file", SubcommandRule::Never, "only objects are written"),
    is("unpack-objects", SubcommandRule::Never, "only objects are written"),
    is("update-index", SubcommandRule::Never, "only the index is written"),
    is("update-ref", SubcommandRule::Never, "only refs are written"),
    is("update-server-info", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("upload-archive", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("upload-pack", SubcommandRule::Never, "serves other processes; the guard does not see what they push"),
    is("var", SubcommandRule::Never, "only reads"),
    is("verify-commit", SubcommandRule::Never, "only reads"),
    is("verify-pack", SubcommandRule::Never, "only reads"),
    is("verify-tag", SubcommandRule::Never, "only reads"),
    is("version", SubcommandRule::Never, "only reads"),
    is("whatchanged", SubcommandRule::Never, "only reads"),
    is("worktree", SubcommandRule::Changes(rules::worktree), "`remove --force` and `move`, while others hold paths in that worktree"),
    is("write-tree", SubcommandRule::Never, "only commits, the index and refs are written"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once_and_in_order() {
        assert!(SUBCOMMANDS.is_sorted_by(|one, next| one.name < next.name));
        assert!(SUBCOMMANDS.iter().all(|known| !known.why.is_empty()));
    }

    /// Queries the installed git, and fails if it has a subcommand that is missing from the table.
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
