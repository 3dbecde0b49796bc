//! Command lines that put the work of other agents at risk.

use super::super::cwd;
use super::*;

fn found(line: &str) -> Vec<String> {
    let aliases = |name: &str| match name {
        "co" => Some("checkout".to_owned()),
        "nuke" => Some("!cd sub && git reset --hard".to_owned()),
        "undo" => Some("nuke2".to_owned()),
        "nuke2" => Some("reset --hard HEAD~1".to_owned()),
        "loop" => Some("loop".to_owned()),
        "st" => Some("status".to_owned()),
        "stash" | "status" => Some("reset --hard".to_owned()),
        _ => None,
    };
    let show = |threat: Threat| {
        let dirs: String = threat.dirs.iter().map(|dir| format!("[{}]", cwd::shown(dir))).collect();
        let unless = threat.unless_file.map_or_else(String::new, |file| format!(" unless {file}"));
        let paths = threat.paths.map_or_else(String::new, |paths| format!(" of {}", paths.join(" ")));
        format!("{dirs}{}{unless}{paths}", threat.what)
    };
    threats(line, &aliases).into_iter().map(show).collect()
}

#[test]
fn inv_r13_whole_tree_verbs_are_recognised_by_words() {
    for (line, expected) in [
        ("git reset --hard", "git reset --hard"),
        ("git reset --har HEAD~3", "git reset --hard"),
        ("git reset -q --merge", "git reset --merge"),
        ("git reset --keep x", "git reset --keep"),
        ("git checkout .", "git checkout . of ."),
        ("git checkout -- .", "git checkout . of ."),
        ("git checkout HEAD -- :/", "git checkout :/"),
        ("git checkout HEAD ./", "git checkout HEAD of HEAD ./"),
        ("git checkout -f", "git checkout -f"),
        ("git checkout -qf main", "git checkout -f"),
        ("git checkout main", "git checkout main unless main"),
        ("git checkout -", "git checkout - unless -"),
        ("git checkout -b new origin/main", "git checkout -b"),
        ("git checkout -bfix origin/main", "git checkout -b"),
        ("git switch main", "git switch main"),
        ("git switch -", "git switch -"),
        ("git switch -c new main", "git switch main"),
        ("git switch -f main", "git switch main"),
        ("git restore .", "git restore . of ."),
        ("git restore --source HEAD~1 -- :/", "git restore :/"),
        ("git restore -s HEAD .", "git restore . of ."),
        ("git restore --staged --worktree .", "git restore . of ."),
        ("git clean -fd", "git clean"),
        ("git clean -fdx -e keep", "git clean"),
        ("git stash", "git stash"),
        ("git stash -u", "git stash"),
        ("git stash push -m 'my work'", "git stash"),
        ("git stash pop", "git stash pop"),
        ("git stash apply stash@{1}", "git stash apply"),
        ("git stash drop", "git stash drop"),
        ("git rebase main", "git rebase"),
        ("git rebase --abort", "git rebase"),
        ("git pull", "git pull"),
        ("git pull --rebase origin main", "git pull"),
        ("git merge main", "git merge"),
        ("git bisect start", "git bisect start"),
        ("git read-tree -u -m HEAD", "git read-tree"),
        ("git -C ../x reset --hard", "[../x]git reset --hard"),
        ("git -C a -C b stash", "[a][b]git stash"),
        ("git --git-dir=.git --work-tree=/w reset --hard", "[/w]git reset --hard"),
        ("git --git-dir .git --work-tree /w reset --hard", "[/w]git reset --hard"),
        ("git -c a.b=c -c x=y --no-pager stash", "git stash"),
        ("GIT_WORK_TREE=/w git stash", "[/w]git stash"),
        ("A=1 sudo -u x env B=2 command time git stash", "git stash"),
        ("/usr/bin/git stash", "git stash"),
        ("cd sub && git stash", "[sub]git stash"),
        ("git add . && git stash || true", "git stash"),
        ("true; git stash", "git stash"),
        ("yes | git clean -f", "git clean"),
        ("ls\ngit stash", "git stash"),
        ("(git stash)", "git stash"),
        ("echo \"$(git stash)\"", "git stash"),
        ("bash -c 'git stash'", "git stash"),
        ("'git' \"stash\"", "git stash"),
        ("g\\it sta\\sh", "git stash"),
        ("git co main", "git checkout main unless main"),
        ("git -C x nuke", "[x][sub]git reset --hard"),
        ("git undo", "git reset --hard"),
        ("git -c alias.q='reset --hard' q", "git reset --hard"),
        ("gh pr checkout 7", "gh pr checkout"),
        ("git switch --orphan x", "git switch x"),
        ("git switch --orphan=x", "git switch --orphan"),
        ("git switch --create=x main", "git switch main"),
        ("git checkout --orphan x main", "git checkout --orphan"),
        ("git checkout --orphan=x main", "git checkout --orphan"),
        ("git merge -Xtheirs main", "git merge"),
        ("git cherry-pick -n main", "git cherry-pick"),
        ("git cherry-pick --abort", "git cherry-pick"),
        ("git revert --no-edit HEAD", "git revert"),
        ("git am < x.patch", "git am"),
        ("git apply x.patch", "git apply"),
        ("git apply --stat --apply x.patch", "git apply"),
        ("git diff a | git apply -R", "git apply"),
        ("time -p git stash", "git stash"),
        ("env -S \"git stash\"", "git stash"),
        ("env -i -S'git stash' -u", "git stash"),
        ("env -uSHELL git stash", "git stash"),
        ("env -C sub --split-string='A=1 git' stash", "[sub]git stash"),
        ("$'git' stash", "git stash"),
        ("$'g\\x69t' $\"stash\"", "git stash"),
        ("git ls-files | xargs git restore", "git restore …"),
        ("git ls-files -z | xargs -0 git checkout --", "git checkout …"),
        ("ls | xargs git checkout HEAD -- a", "git checkout a"),
        ("ls | xargs -n 1 git rm -f", "git rm …"),
        ("ls | xargs -I % git restore %", "git restore %"),
    ] {
        assert_eq!(found(line), [expected], "{line}");
    }
}

#[test]
fn inv_r13_what_leaves_the_files_of_others_alone_is_let_through() {
    for line in [
        "git status",
        "git reset",
        "git reset --soft HEAD~1",
        "git reset HEAD file.rs",
        "git checkout -b new",
        "git checkout -B new",
        "git checkout -bfix",
        "git checkout --orphan new",
        "git switch -c new",
        "git switch --create=new",
        "git checkout --orphan=new",
        "git cherry-pick --quit",
        "git revert --quit",
        "git am --show-current-patch",
        "git apply --check x.patch",
        "git apply --stat x.patch",
        "git apply --cached x.patch",
        "git mv -n a b",
        "ls | xargs git add",
        "echo $'it\\'s' git stash",
        "time -p git status",
        "git switch --create new",
        "git restore --staged .",
        "git restore -S .",
        "git clean -n",
        "git clean -fdn",
        "git clean --dry-run -x",
        "git stash list",
        "git stash show -p",
        "git rebase --show-current-patch",
        "git commit -m 'git stash'",
        "echo git stash",
        "echo 'git reset --hard'",
        "grep -r \"git stash\" .",
        "cat <<EOF\ngit stash\nEOF",
        "# git stash",
        "git stash --help",
        "git --help stash",
        "git log --grep='reset --hard'",
        "git st",
        "git loop",
        "git rm --cached src/a.rs",
        "git rm -n src",
        "git worktree remove ../side",
        "git worktree list",
        "git restore -S src",
        "cat > x.sh <<EOF\ngit stash\nEOF\nbash x.sh",
        "git",
        "git -C x",
        "digit stash",
    ] {
        assert_eq!(found(line), [""; 0], "{line}");
    }
}

#[test]
fn inv_r13_what_is_limited_to_paths_is_told_with_them() {
    for (line, expected) in [
        ("git checkout -- file.rs", "git checkout file.rs of file.rs"),
        ("git checkout -f -- file.rs", "git checkout file.rs of file.rs"),
        ("git checkout HEAD -- src/a.rs b", "git checkout src/a.rs of src/a.rs b"),
        ("git checkout main src/a.rs", "git checkout main of main src/a.rs"),
        ("git checkout main --", "git checkout main"),
        ("git checkout -- /abs/top", "git checkout /abs/top of /abs/top"),
        ("git checkout -- \"$PWD\"", "git checkout $PWD"),
        ("git checkout -- ':(glob)**'", "git checkout :(glob)**"),
        ("git checkout --pathspec-from-file=x", "git checkout ."),
        ("git checkout --pathspec-from-file x", "git checkout ."),
        ("git restore file.rs", "git restore file.rs of file.rs"),
        ("git restore ../r", "git restore ../r of ../r"),
        ("git restore --pathspec-from-file=- --staged --worktree", "git restore ."),
        ("git restore *.rs", "git restore *.rs"),
        ("git clean -fd target", "git clean target of target"),
        ("git clean -fd -e keep -- src/ b", "git clean src/ of src/ b"),
        ("git stash push -m x -- a.rs", "git stash a.rs of a.rs"),
        ("git stash push a.rs", "git stash a.rs of a.rs"),
        ("git stash -- a.rs", "git stash a.rs of a.rs"),
        ("git stash push --pathspec-from-file=x", "git stash"),
        ("git rm -rf .", "git rm . of ."),
        ("git rm a.rs", "git rm a.rs of a.rs"),
        ("git mv a.rs b.rs", "git mv a.rs of a.rs b.rs"),
        ("git mv -f a.rs src/", "git mv a.rs of a.rs src/a.rs"),
        ("git mv x/a.rs b.rs src", "git mv x/a.rs of x/a.rs b.rs src/a.rs src/b.rs"),
        ("git mv *.rs src", "git mv *.rs"),
        ("git worktree remove --force ../x", "[../x]git worktree remove"),
        ("git worktree remove -f ../x", "[../x]git worktree remove"),
    ] {
        assert_eq!(found(line), [expected], "{line}");
    }
}

#[test]
fn inv_r13_a_directory_that_may_not_be_entered_leaves_the_one_before() {
    for (line, expected) in [
        ("cd /x; git stash", "[/x]git stash"),
        ("cd /x && git stash", "[/x]git stash"),
        ("false && cd /x; git stash", "[/x?]git stash"),
        ("if false; then cd /x; fi; git stash", "[/x?]git stash"),
        ("cd /x || git stash", "[/x?]git stash"),
        ("cd /x & git stash", "[/x?]git stash"),
        ("cd /x | git stash", "[/x?]git stash"),
        ("cd /x; cd -; git stash", "[/x][-]git stash"),
        ("cd /x && cd - && git stash", "[/x][-]git stash"),
        ("pushd /x; popd; git stash", "[/x][-]git stash"),
        ("cd \"$X\" && git stash", "[-]git stash"),
        ("f() { cd /x; }; git stash", "[/x?][/x?]git stash"),
        ("f() { git stash; }; cd /x && f", "[/x?]git stash"),
        ("function f { git stash; }; cd /x; f", "[/x?]git stash"),
        ("for d in a; do git stash; cd /x; done", "[/x?]git stash"),
        ("eval cd /x; git stash", "[/x?]git stash"),
        ("trap 'git stash' EXIT; cd /x", "[/x?]git stash"),
        ("cd /x && git -C y stash", "[/x][y]git stash"),
    ] {
        assert_eq!(found(line), [expected], "{line}");
    }
}

#[test]
fn inv_r13_what_is_too_long_or_too_deep_is_scanned_for_words() {
    let long = "x".repeat(2 << 20);
    let deep = "$(".repeat(40);
    for (line, expected) in [
        (format!(": {long}; git stash"), vec!["git stash"]),
        (format!(": {long}; git status"), vec![]),
        (format!(": {long}; digit stash"), vec![]),
        (format!("echo {deep} git stash"), vec!["git stash"]),
        (format!("{} git stash", "a;".repeat(10_000)), vec!["git stash"]),
        (format!(": {}; git stash", "x".repeat(100_000)), vec!["git stash"]),
    ] {
        assert_eq!(found(&line), expected, "{}", &line[line.len().saturating_sub(40)..]);
    }
    for line in
        ["bash <<EOF\ngit stash\nEOF", "sh <<< 'git stash'", "echo 'git stash' | sh", "cat <<E | bash\ngit stash\nE"]
    {
        assert_eq!(found(line), ["git stash"], "{line}");
    }
}

/// Contrived, expensive lines: none costs more than the bound, and none is let through for being long.
#[test]
fn inv_r11_a_contrived_line_costs_no_more_than_the_bound_and_hides_nothing() {
    let many = |unit: &str| unit.repeat(90_000 / unit.len());
    let numbered = |unit: &str, count: usize| (0..count).map(|n| unit.replace('#', &n.to_string())).collect::<String>();
    let aliases = |name: &str| match name {
        "a" | "b" => Some("!git a; git b; git a; git b; git a; git stash".to_owned()),
        _ => None,
    };
    for line in [
        format!("{}{}", numbered("x && cd d#; ", 60), many("git stash;")),
        format!("{}; {}", many("cd y/"), many("x;")) + "; git stash",
        format!("while x; do {}{} done", numbered("cd yyyyyyyyyy#; ", 60), many("git stash;")),
        many("pushd a; git stash; popd; "),
        many("cd $X; cd a; git stash; "),
        many("cd a && git stash; "),
        many("a=b; cd $a; git stash; "),
        format!("{}{}", "$(".repeat(14), many("git stash; ")),
        format!("{}{}", "$(".repeat(40), many("git stash; ")),
        format!("bash -c '{}'", many("git stash; ")),
        many("eval git stash; "),
        format!("bash {}\n{}", "<<A ".repeat(1_000), many("git stash\n")),
        format!("{}git stash", "watch ".repeat(15_000)),
        format!("{}git stash", "git submodule foreach ".repeat(3_000)),
        format!("find {}{}", "a ".repeat(20_000), "-exec git stash ';' ".repeat(2_000)),
        many("git a; "),
        // Quotes and numeric escapes do not hide a word in a long line.
        format!("{} g\\it 'sta'sh", "x;".repeat(10_000)),
        format!("{} $'\\x67it' stash", "x;".repeat(10_000)),
    ] {
        let begin: String = line.chars().take(60).collect();
        let found = read(&line);
        assert!(found.work <= super::super::WORK_MAX, "{}: {begin}", found.work);
        let threats = threats(&line, &aliases);
        assert!((1..=THREATS_MAX + 1).contains(&threats.len()), "{} threats: {begin}", threats.len());
    }
}

#[test]
fn inv_r13_a_submodule_is_a_tree_of_its_own() {
    let trees = |line: &str| threats(line, &|_| None).iter().map(|threat| threat.trees).collect::<Vec<_>>();
    assert_eq!(trees("git submodule update --init"), [Trees::Submodules]);
    assert_eq!(trees("git submodule update --force"), [Trees::All]);
    assert_eq!(trees("git submodule foreach 'git clean -fd; git status'"), [Trees::All]);
    assert_eq!(trees("git submodule foreach git status"), []);
    assert_eq!(trees("git stash"), [Trees::Own]);
}
