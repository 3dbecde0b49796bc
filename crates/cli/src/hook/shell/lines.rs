//! Command lines of both kinds: those that put files of others at risk, and those that do not.

use std::path::{Path, PathBuf};

use super::*;
use crate::place::git::locate;

/// Lines that change files of the repository around, wherever that is decided.
const REFUSED: &[&str] = &[
    // Plain.
    "git stash",
    "git reset --hard",
    "git pull",
    "git pull --no-dry-run",
    "git merge main",
    "git checkout main",
    "git-stash",
    "/usr/lib/git-core/git-reset --hard",
    "hub pull",
    // Wrappers that take words.
    "tenure lock x -- git pull",
    "tenure --project p lock x --ttl 5m --wait -- git pull",
    "tenure lock x --reason 'a b' -- bash -c 'git stash'",
    "flock F git stash",
    "flock -n -w 5 F git stash",
    "flock -x F -c 'git stash'",
    "flock F --command 'git stash'",
    "sudo -u bob git stash",
    "doas git stash",
    "env -i A=1 git stash",
    "nice -n 5 git stash",
    "ionice -c 3 git stash",
    "time -p git stash",
    "timeout 5 git stash",
    "timeout --signal=KILL 5 git stash",
    "stdbuf -oL git stash",
    "setsid git stash",
    "nohup git stash &",
    "command git stash",
    "builtin command git stash",
    "exec git stash",
    "strace -f -o /tmp/x git stash",
    "ltrace git stash",
    "chrt -r 5 git stash",
    "taskset 0x1 git stash",
    "taskset -c 0,1 git stash",
    "numactl --cpunodebind=0 git stash",
    "unbuffer git stash",
    "unbuffer -p git stash",
    "chronic git stash",
    "fakeroot git stash",
    "faketime '2020-01-01' git stash",
    "xvfb-run -a git stash",
    "dbus-run-session -- git stash",
    "systemd-run --user --scope git stash",
    "systemd-inhibit git stash",
    "caffeinate -i git stash",
    "prlimit --nofile=10 git stash",
    "setpriv --no-new-privs git stash",
    "unshare -n git stash",
    "ssh-agent git stash",
    "rlwrap git stash",
    "cpulimit -l 50 -- git stash",
    "perf stat -e cycles git stash",
    "busybox timeout 5 git stash",
    // Wrappers that take a line.
    "su -c 'git stash'",
    "su bob -c 'git stash'",
    "su - bob --command='git stash'",
    "runuser -u bob -- git stash",
    "script -qc 'git stash' /dev/null",
    "script -c 'git stash'",
    "watch git stash",
    "watch -n 5 'git stash'",
    "watch -x git stash",
    "hyperfine 'git stash'",
    "hyperfine --prepare 'git stash' true",
    "entr -c git stash",
    "ls | entr -s 'git stash'",
    "nodemon --exec 'git stash'",
    "concurrently 'ls' 'git stash'",
    "tmux new-session -d 'git stash'",
    "screen -dm git stash",
    "bash -lc 'git stash'",
    "sh -c 'git stash'",
    "zsh -c 'git stash'",
    "bash -c \"bash -c 'git stash'\"",
    "echo 'git stash' | bash",
    "eval 'git stash'",
    // Tools of languages that run a program.
    "npx git stash",
    "npx --yes -p foo git stash",
    "npx -c 'git stash'",
    "npm exec -- git stash",
    "npm x -- git stash",
    "npm exec -c 'git stash'",
    "pnpm exec git stash",
    "pnpm -r exec git stash",
    "pnpm dlx git stash",
    "yarn exec git stash",
    "yarn dlx git stash",
    "bunx git stash",
    "bun x git stash",
    "poetry run git stash",
    "uv run git stash",
    "uv run --with x -- git stash",
    "uvx git stash",
    "pipx run git stash",
    "pipenv run git stash",
    "pdm run git stash",
    "hatch run git stash",
    "rye run git stash",
    "conda run -n e git stash",
    "bundle exec git stash",
    "mise exec -- git stash",
    "mise x node@20 -- git stash",
    "asdf exec git stash",
    "rbenv exec git stash",
    "pyenv exec git stash",
    "direnv exec . git stash",
    "nix-shell --run 'git stash'",
    "nix-shell -p git --command 'git stash'",
    "nix develop -c git stash",
    "nix develop .#x --command git stash",
    "nix shell nixpkgs#git -c git stash",
    "op run -- git stash",
    "doppler run -- git stash",
    "doppler run --command 'git stash'",
    "dotenv -- git stash",
    "dotenvx run -f .env -- git stash",
    "pnpm exec -c 'git pull'",
    "pnpm exec --shell-mode 'git pull'",
    "micromamba run -n e git stash",
    "mamba run -n e git stash",
    "devbox run -- git stash",
    "devbox run git stash",
    "proxychains -q git pull",
    "proxychains4 -f c git pull",
    "torsocks git pull",
    "tsocks git pull",
    "bwrap --bind / / -- git stash",
    "gdb --args git stash",
    "retry -t 3 -- git pull",
    "catchsegv git stash",
    "with-contenv git stash",
    "chroot / git stash",
    "nsenter -t 1 -m git stash",
    "arch -x86_64 git stash",
    "git.exe stash",
    "/mnt/c/git/git.exe stash",
    "pwsh -c 'git stash'",
    "pwsh -NoProfile -Command 'git stash'",
    "powershell.exe -ExecutionPolicy Bypass -Command 'git stash'",
    // Lists of names that only run time knows.
    "find . -name '*.rs' -exec git checkout {} +",
    "find . -name '*.rs' -exec git checkout -- {} \\;",
    "find . -type d -execdir git stash ';'",
    "find . -ok git stash ';'",
    "find . -exec true ';' -exec sh -c 'git stash' ';'",
    "fd -e rs -x git checkout --",
    "fd -e rs -X git restore",
    "ls | xargs git checkout --",
    "ls | xargs -P 4 -I{} sh -c 'git stash'",
    "ls | parallel git checkout {}",
    "parallel -j4 git checkout -- ::: a b",
    "parallel 'git stash' ::: 1",
    "parallel ::: 'git stash'",
    // Git running others, and what it does below the verbs.
    "git submodule update --force",
    "git submodule update --init --force --recursive",
    "git submodule foreach git reset --hard",
    "git submodule foreach 'git stash || true'",
    "git submodule foreach --recursive 'git clean -fd'",
    "git bisect run make",
    "git rebase --exec 'make' main",
    "git for-each-repo --config=r.list reset --hard",
    "git subtree pull --prefix=x U main",
    "git subtree add -P x U main",
    "git subtree merge --prefix x v1",
    "git sparse-checkout set src",
    "git sparse-checkout disable",
    "git sparse-checkout reapply",
    "git filter-repo --path x",
    "git filter-branch --tree-filter true HEAD",
    "git lfs pull",
    "git lfs checkout",
    "git lfs migrate import --everything",
    "git checkout-index -f -a",
    "git checkout-index -f src/f1",
    "git merge-recursive a -- b c",
    "git merge-file src/f1 base other",
    "git mergetool",
    "git quiltimport",
    "git rerere",
    "git svn rebase",
    "git svn dcommit",
    "git p4 sync",
    "git flow feature finish x",
    "git annex sync",
    "git town sync",
    "git town hack x",
    "git checkout -p",
    "git checkout --patch",
    "git checkout -p HEAD~1",
    "yes | git checkout -p -- src/f1",
    "git restore -p",
    "git restore -p .",
    "git restore --patch src/f1",
    "git crypt lock",
    "git worktree move . ../b",
    "git stash branch x",
    "gh pr checkout 7",
    "gh co 7",
    "gh pr merge 7 --squash --delete-branch",
    "gh pr merge -sd",
    "gh repo sync",
    "gh issue develop 7 --checkout",
    "glab mr checkout 7",
    // Directories.
    "cd /nonexistent; git stash",
    "mkdir b && cd b && git stash",
    "mkdir b && cd b && git merge main",
    "mkdir -p b/c; cd b/c; git stash",
    "cd src && git stash",
    "(cd src && git stash)",
    "env -C src git stash",
    "pushd ../side && popd && git stash",
    "cd ../side && cd - && git stash",
    "git -C ../side -C ../repo stash",
    "git --work-tree=. stash",
    "git --git-dir=.git stash",
    "GIT_DIR=.git git stash",
    "git init; git stash",
    "git init . && git reset --hard",
    "false && git init b && cd b; git stash",
    "git clone U ../y; git stash",
    // A clone may fail, and what follows `;` runs all the same.
    "git clone https://h/a/y.git; cd y; git checkout v1",
    "git clone U src | cat && cd src && git checkout v1",
    "git clone U ../y && cd ../y && cd ../repo && git stash",
    "git worktree add ../f -b f && git merge main",
    "git worktree add ../f -b f && (cd ../f && git merge main) && git merge f",
    "cd $(mktemp -d -p .) && git stash",
    "cd $(mktemp -d) ; cd - ; git stash",
    "d=$(mktemp -d); cd \"$d\"; cd -; git stash",
    "d=$(mktemp -d); d=.; cd $d && git stash",
    "make -C src && git stash",
];

/// Lines that leave the files of the repository alone.
const FREE: &[&str] = &[
    "git status",
    "git pull --dry-run",
    "git pull --dry-run origin main",
    "git fetch --all",
    "git push --force-with-lease",
    "git commit -am 'git stash'",
    "git log -p --follow src/f1",
    "git worktree add ../f -b f",
    "git worktree add ../f -b f && cd ../f && git merge main",
    "git worktree add -b f ../f main && cd ../f && git reset --hard HEAD~1",
    "git worktree add --detach ../f && git -C ../f checkout v1",
    "git worktree add ../f && (cd ../f && git merge main)",
    "git worktree add .worktrees/f -b f && cd .worktrees/f && git merge main",
    "git clone U ../y && cd ../y && git checkout v1",
    "git clone --depth 1 -b x https://h/a/y.git && cd y && git checkout v1",
    "git clone U y 2>&1 | tail -3 && cd y && git checkout v1",
    "git clone git@h:a/y && cd y/sub && git pull",
    "git clone U ../y && git -C ../y pull",
    "gh repo clone a/y && cd y && git checkout v1",
    "gh repo clone a/y z -- --depth 1 && cd z && git checkout v1",
    "mkdir b && cd b && git init && git checkout -b x",
    "mkdir b && cd b && git init && git pull U main",
    "mkdir -p b/c; cd b/c; git init; git merge x",
    "mkdir b && cd b && git clone U . && git checkout v1",
    "git init b && cd b && git pull U",
    "git init -q ../n && git -C ../n pull U",
    "cd $(mktemp -d) && git clone U x && cd x && git checkout v1",
    "cd $(mktemp -d) && git init && git stash",
    "cd \"$(mktemp -d)\" && git pull",
    "cd `mktemp -d` && git pull",
    "d=$(mktemp -d) && cd $d && git clone U . && git checkout v1",
    "tmp=$(mktemp -d); git clone U \"$tmp\"; cd \"$tmp\" && git checkout v1",
    "T=$(mktemp -d -t foo.XXXX); cd \"${T}/x\" && git pull",
    "git -C \"$(mktemp -d)\" pull",
    "cd ../side && git stash",
    "cd ../side; git stash",
    "cd ../side && git pull && cargo test",
    "pushd ../side && git stash",
    "pushd ../side; git stash; popd",
    "git -C ../side stash",
    "env -C ../side git stash",
    "sudo -D ../side git stash",
    "git --work-tree=../side --git-dir=../side/.git reset --hard",
    "(cd ../side && git pull); git status",
    "cd ../nonexistent && git stash",
    "pnpm -C ../side exec git stash",
    "direnv exec ../side git status",
    "uv run --directory ../side git stash",
    "watch git status",
    "watch -n 1 'git log --oneline | head'",
    "flock F git fetch",
    "flock F cargo build",
    "tenure lock x -- cargo test",
    "tenure lock x --reason 'git stash' -- cargo test",
    "tenure add 'git stash'",
    "tenure lock 'git pull'",
    "npx prettier --write .",
    "npx create-git-stash",
    "npm exec eslint .",
    "npm install git",
    "npm run git",
    "pnpm exec tsc",
    "yarn add git",
    "poetry run pytest -k 'git stash'",
    "uv run python -c 'print(\"git stash\")'",
    "uv pip install git",
    "bundle exec rake",
    "docker run x git stash",
    "docker compose exec web git pull",
    "podman exec c git pull",
    "ssh host git pull",
    "find . -name git -print",
    "find . -name '*.orig' -exec rm {} +",
    "find . -type f -exec git add {} +",
    "find . -exec git log --oneline {} ';'",
    "fd -e rs -x git blame",
    "ls | parallel git add {}",
    "parallel echo git stash ::: a",
    "xargs git add < list",
    "git submodule status",
    "git submodule init",
    "git submodule add U lib",
    "git submodule update --init --recursive",
    "git submodule foreach git status",
    "git submodule foreach 'git fetch --all'",
    "git subtree split --prefix=x",
    "git subtree push --prefix=x U main",
    "git sparse-checkout list",
    "git lfs ls-files",
    "git lfs fetch",
    "git lfs track '*.psd'",
    "git lfs migrate info",
    "git filter-repo --analyze",
    "git rerere status",
    "git merge-tree a b",
    "git merge-base a b",
    "git merge-file -p src/f1 b c",
    "git checkout-index --prefix=/tmp/x/ -a",
    "git worktree list",
    "git worktree prune",
    "git stash list",
    "git stash export --print",
    "git bisect log",
    "git for-each-repo --config=r.list fetch",
    "git notes merge x",
    "git flow feature list",
    "git town status",
    "git restore -p --staged",
    "git.exe status",
    "pwsh -File x.ps1",
    "pnpm exec -c 'git status'",
    "git svn fetch",
    "git help stash",
    "git branch -D x",
    "git symbolic-ref HEAD",
    "gh pr view 7",
    "gh pr merge 7 --squash",
    "gh pr merge 7 -d -R other/repo",
    "gh repo sync owner/fork",
    "gh issue develop 7",
    "gh pr create --title 'git stash'",
    "glab mr list",
    "su -c 'git status'",
    "script -qc 'cargo test' /dev/null",
    "strace -o git cargo test",
    "timeout 5 cargo test",
    "sudo apt install git",
    "apt-get install -y git && pip install x",
    "echo 'git stash' > notes",
    "grep -rn 'git reset --hard' docs",
    "rg 'git (stash|pull)'",
    "sed -i 's/git pull/git fetch/' x",
    "cat <<'EOF' > x.sh\ngit stash\nEOF",
    "cat <<EOF | tee x.sh\ngit stash\nEOF",
    "python3 - <<'EOF'\nprint('git stash')\nEOF",
    "python3 -c 'print(\"git stash\")'",
    "for f in *.rs; do git add \"$f\"; done",
    "if git diff --quiet; then echo clean; fi",
    "while ! git push; do sleep 1; done",
    "git config alias.x 'reset --hard'",
    "printf 'git stash\\n'",
    "man git-stash",
    "which git-stash",
    "ls .git/stash",
    "make git-pull",
    "just pull",
    "cargo test git_stash",
    "[ -d .git ] && echo stash",
    "test -f git && cat stash",
    "type git stash",
    "alias gs='git stash'",
];

struct Tree {
    _dir: tempfile::TempDir,
    root: PathBuf,
    env: Env,
}

impl Tree {
    /// A repository `repo` with `src/f1` beside a worktree `side`; a directory for temporary files elsewhere.
    fn new() -> Tree {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in
            ["repo/.git/worktrees/side", "repo/.git/objects", "repo/.git/refs", "repo/src", "side", "tmp", "home"]
        {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        for (file, text) in [
            ("repo/.git/HEAD", "ref: refs/heads/main\n".to_owned()),
            ("repo/.git/worktrees/side/HEAD", "ref: refs/heads/side\n".to_owned()),
            ("repo/.git/worktrees/side/commondir", "../..\n".to_owned()),
            ("repo/.git/worktrees/side/gitdir", format!("{}/side/.git\n", root.display())),
            ("side/.git", format!("gitdir: {}/repo/.git/worktrees/side\n", root.display())),
            ("repo/src/f1", String::new()),
        ] {
            std::fs::write(root.join(file), text).unwrap();
        }
        let env = Env::of(&root.join("repo"), []).with("HOME", root.join("home")).with("TMPDIR", root.join("tmp"));
        Tree { _dir: dir, root, env }
    }

    fn top(&self) -> PathBuf {
        self.root.join("repo")
    }

    /// What of a line would change files of the repository.
    fn at_risk(&self, line: &str) -> Vec<String> {
        let is_here = |dir: &Path| locate(dir).unwrap().is_some_and(|found| found.top == self.top());
        let found = risks(line, &self.top(), &self.env);
        found.into_iter().filter(|risk| is_here(&risk.dir)).map(|risk| risk.what).collect()
    }
}

#[test]
fn inv_r13_lines_that_change_files_of_others_are_seen() {
    let tree = Tree::new();
    let missed: Vec<&str> = REFUSED.iter().copied().filter(|line| tree.at_risk(line).is_empty()).collect();
    assert!(missed.is_empty(), "{} let through:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn inv_r13_lines_that_leave_the_files_of_others_alone_are_not_refused() {
    let tree = Tree::new();
    let seen = |line: &&str| {
        let found = tree.at_risk(line);
        (!found.is_empty()).then(|| format!("{line}   ({})", found.join(", ")))
    };
    let refused: Vec<String> = FREE.iter().filter_map(seen).collect();
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn inv_r11_a_line_that_leads_through_thousands_of_directories_is_followed_so_far_and_not_let_through() {
    let tree = Tree::new();
    let doubts: String = (0..60).map(|n| format!("x && cd d{n}; ")).collect();
    for line in [
        format!("{doubts}{}", "git stash; ".repeat(8_000)),
        "cd src && git stash; cd - ; ".repeat(3_000),
        "pushd src; git stash; popd; ".repeat(3_000),
        "cd $X; cd src; git stash; ".repeat(3_000),
    ] {
        let found = risks(&line, &tree.top(), &tree.env);
        assert!(found.len() <= PLACES && found.iter().any(|risk| risk.dir == tree.top()), "{}", found.len());
    }
    let mut places = Places::new(&tree.root, &tree.env);
    for n in 0..2_000 {
        let steps: Vec<_> = (0..60).map(|at| tenure_core::shell::Step::Maybe(format!("d{n}-{at}"))).collect();
        assert!(places.of(&steps).contains(&tree.root));
    }
    assert!(places.moves() < 32_768, "{}", places.moves());
}

#[test]
fn inv_r13_submodules_are_found_by_the_file_that_names_them() {
    let tree = Tree::new();
    std::fs::write(
        tree.top().join(".gitmodules"),
        "[submodule \"a\"]\n\tpath = libs/a\n\turl = u\n[submodule \"b\"]\n\tpath = ../out\n",
    )
    .unwrap();
    let dirs = |line: &str| risks(line, &tree.top(), &tree.env).into_iter().map(|risk| risk.dir).collect::<Vec<_>>();
    assert_eq!(dirs("git submodule update --init"), [tree.top().join("libs/a")]);
    assert_eq!(dirs("git submodule foreach git stash"), [tree.top(), tree.top().join("libs/a")]);
}
