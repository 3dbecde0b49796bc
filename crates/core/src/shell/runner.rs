//! Programs that run another: which of their words are the command.

use super::lexer::UNKNOWN;

/// What a program takes the words behind its options for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A program and its arguments.
    Words,
    /// The same, behind `--` alone.
    Dashes,
    /// A program and its arguments behind this option.
    Behind(&'static str),
    /// Words that are joined into a line for a shell.
    Joined,
    /// Lines for a shell, one a word.
    Lines,
    /// Nothing: what it runs is given by an option.
    Nothing,
}

/// A program that runs another.
#[derive(Clone, Copy, Debug)]
pub struct Runner {
    /// The program, with the word behind it that makes it run something: `npm exec`.
    pub name: &'static str,
    /// Options that take the next word as their value.
    valued: &'static str,
    /// How many words come before the command.
    before: usize,
    /// Options whose value is a line for a shell.
    line: &'static str,
    /// Options that name the directory.
    dir: &'static str,
    form: Form,
    /// Whether words that only run time knows are added, or put in the place of some.
    has_unknown: bool,
}

impl Runner {
    const fn new(name: &'static str) -> Runner {
        Runner { name, valued: "", before: 0, line: "", dir: "", form: Form::Words, has_unknown: false }
    }

    const fn valued(self, valued: &'static str) -> Runner {
        Runner { valued, ..self }
    }

    const fn before(self, before: usize) -> Runner {
        Runner { before, ..self }
    }

    const fn line(self, line: &'static str) -> Runner {
        Runner { line, ..self }
    }

    const fn dir(self, dir: &'static str) -> Runner {
        Runner { dir, ..self }
    }

    const fn form(self, form: Form) -> Runner {
        Runner { form, ..self }
    }

    const fn unknown(self) -> Runner {
        Runner { has_unknown: true, ..self }
    }

    /// What of its words is read as a command, for the reference.
    pub fn reads(&self) -> String {
        let words = match (self.form, self.before) {
            (Form::Words, 0) => "the words behind its options".to_owned(),
            (Form::Words, 1) => "the words behind its options and one word".to_owned(),
            (Form::Words, before) => format!("the words behind its options and {before} words"),
            (Form::Dashes, _) => "the words behind `--`".to_owned(),
            (Form::Behind(option), _) => format!("the words behind {}", quoted(option)),
            (Form::Joined, _) => "the words behind its options, as a line".to_owned(),
            (Form::Lines, _) => "each word behind its options, as a line".to_owned(),
            (Form::Nothing, _) => String::new(),
        };
        let line = match self.line {
            "" => String::new(),
            line => format!("the value of {}, as a line", quoted(line)),
        };
        [words, line].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

fn quoted(options: &str) -> String {
    options.split(' ').map(|option| format!("`{option}`")).collect::<Vec<_>>().join(", ")
}

const CONDA: &str = "-n --name -p --prefix -r --root-prefix -a --attach -e --env";
const POWERSHELL: &str =
    "-ExecutionPolicy -ep -WorkingDirectory -wd -OutputFormat -of -InputFormat -File -f -v -Version";
const SUDO: &str = "-u -g -h -p -C -r -t -T -U --user --group --host --prompt --role --type";

/// Every program that is known to run another on the same files. Containers and other machines are not among them: what
/// runs there has files of its own.
pub const RUNNERS: &[Runner] = &[
    Runner::new("arch").valued("-arch -d -e"),
    Runner::new("aws-vault exec").before(1),
    Runner::new("asdf exec"),
    Runner::new("builtin"),
    Runner::new("bun x").dir("--cwd"),
    Runner::new("bundle exec").valued("--gemfile"),
    Runner::new("bunx"),
    Runner::new("busybox"),
    Runner::new("bwrap").form(Form::Dashes),
    Runner::new("caffeinate").valued("-t -w"),
    Runner::new("catchsegv"),
    Runner::new("chamber exec").form(Form::Dashes),
    Runner::new("chronic"),
    Runner::new("chroot").before(1),
    Runner::new("chrt").valued("-T -P -D").before(1),
    Runner::new("command"),
    Runner::new("composer exec").dir("-d --working-dir"),
    Runner::new("concurrently").valued("-n --names -c --prefix-colors -m --max-processes").form(Form::Lines),
    Runner::new("conda run").valued(CONDA).dir("--cwd"),
    Runner::new("cpulimit").valued("-l -e -p -P --limit"),
    Runner::new("dbus-run-session").valued("--config-file --dbus-daemon"),
    Runner::new("devbox run").valued("-c --config -e --env --env-file --environment"),
    Runner::new("direnv exec").before(1),
    Runner::new("doas").valued("-u -C"),
    Runner::new("doppler run").valued("-p --project -c --config -t --token").line("--command").form(Form::Dashes),
    Runner::new("dotenv").valued("-e -f -c -v").form(Form::Dashes),
    Runner::new("dotenvx run").valued("-f --env-file -e --env -fk --env-keys-file").form(Form::Dashes),
    Runner::new("eatmydata"),
    Runner::new("entr").form(Form::Joined).unknown(),
    Runner::new("env").valued("-u -S --unset --split-string").dir("-C --chdir"),
    Runner::new("exec").valued("-a"),
    Runner::new("fakeroot").valued("-l -s -i -b --lib --faked"),
    Runner::new("faketime").before(1),
    Runner::new("fd").form(Form::Behind("-x --exec -X --exec-batch")).unknown(),
    Runner::new("fdfind").form(Form::Behind("-x --exec -X --exec-batch")).unknown(),
    Runner::new("firejail"),
    Runner::new("flock").valued("-w --timeout --wait -E --conflict-exit-code").line("-c --command").before(1),
    Runner::new("fnm exec").valued("--using"),
    Runner::new("gdb").form(Form::Behind("--args -args")),
    Runner::new("hatch run"),
    Runner::new("hyperfine")
        .valued(
            "-w --warmup -m --min-runs -M --max-runs -r --runs -P -D -L -S --shell -N --export-json -n --command-name",
        )
        .line("-p --prepare -s --setup -c --cleanup -C --conclude")
        .form(Form::Lines),
    Runner::new("ifne"),
    Runner::new("infisical run").valued("--env --path --projectId").line("--command").form(Form::Dashes),
    Runner::new("ionice").valued("-c -n -p --class --classdata"),
    Runner::new("ltrace").valued("-o -e -p -s -u -a -l -n -x"),
    Runner::new("mamba run").valued(CONDA).dir("--cwd"),
    Runner::new("micromamba run").valued(CONDA).dir("--cwd"),
    Runner::new("mise exec").line("-c --command").dir("-C --cd").form(Form::Dashes),
    Runner::new("mise x").line("-c --command").dir("-C --cd").form(Form::Dashes),
    Runner::new("nice").valued("-n --adjustment"),
    Runner::new("nix develop").form(Form::Behind("-c --command")),
    Runner::new("nix shell").form(Form::Behind("-c --command")),
    Runner::new("nix-shell").line("--run --command").form(Form::Nothing),
    Runner::new("nodemon").line("-x --exec").form(Form::Nothing),
    Runner::new("nohup"),
    Runner::new("npm exec").valued("-p --package -w --workspace --prefix").line("-c --call"),
    Runner::new("npm x").valued("-p --package -w --workspace --prefix").line("-c --call"),
    Runner::new("npx").valued("-p --package -w --workspace --registry --cache").line("-c --call"),
    Runner::new("nsenter").valued("-t --target -S --setuid -G --setgid"),
    Runner::new("numactl").valued("-i -m -N -C -p -P -s -L -o -l -f -M"),
    Runner::new("nvm exec").before(1),
    Runner::new("op run").valued("--env-file --account").form(Form::Dashes),
    Runner::new("pdm run").valued("-p --project"),
    Runner::new("perf record").valued("-e -o -F -c -C -p -t -g --event --output"),
    Runner::new("perf stat").valued("-e -o -r -I -C -p -t --event --output"),
    Runner::new("pipenv run"),
    Runner::new("pipx run").valued("--spec --python --index-url"),
    Runner::new("pnpm dlx").valued("--package --filter -F").dir("-C --dir"),
    Runner::new("pnpm exec").valued("--filter -F").line("-c --shell-mode").dir("-C --dir"),
    Runner::new("poetry run").valued("-P --project").dir("-C --directory"),
    Runner::new("powershell").valued(POWERSHELL).line("-Command -command -c").form(Form::Nothing),
    Runner::new("prlimit").valued("-p --pid -o"),
    Runner::new("proxychains").valued("-f"),
    Runner::new("proxychains4").valued("-f"),
    Runner::new("pwsh").valued(POWERSHELL).line("-Command -command -c").form(Form::Nothing),
    Runner::new("pyenv exec"),
    Runner::new("rbenv exec"),
    Runner::new("retry").valued("-t --tries --times -s --sleep -d --delay -m --min -x --max"),
    Runner::new("rlwrap").valued("-a -b -f -H -l -s -w -D -C -S"),
    Runner::new("runuser").valued("-u -g -G -s --user --group --shell").line("-c --command"),
    Runner::new("rye run").valued("--pyproject"),
    Runner::new("screen").valued("-S -T -h -c -e -s -p -t"),
    Runner::new("script").valued("-E -I -O -B -T -o -m -t").line("-c --command").before(1),
    Runner::new("setpriv").valued("--reuid --regid --groups --securebits --selinux-label"),
    Runner::new("setsid"),
    Runner::new("ssh-agent").valued("-a -E -P -t"),
    Runner::new("stdbuf").valued("-i -o -e --input --output --error"),
    Runner::new("strace").valued("-o -e -p -s -u -E -P -a -I -O -S -U -X -b --output --trace --string-limit"),
    Runner::new("su").valued("-s -g -G -w --shell --group").line("-c --command --session-command").form(Form::Nothing),
    Runner::new("sudo").valued(SUDO).dir("-D --chdir"),
    Runner::new("systemd-inhibit").valued("--what --who --why --mode"),
    Runner::new("systemd-run")
        .valued("-p -u -E -M -H --property --unit --setenv --uid --gid --slice --description --machine --host")
        .dir("--working-directory"),
    Runner::new("taskset").before(1),
    Runner::new("tenure lock").valued("--project --agent --store --request-id").form(Form::Dashes),
    Runner::new("time").valued("-f -o --format --output"),
    Runner::new("timeout").valued("-k -s --kill-after --signal").before(1),
    Runner::new("tmux new").valued("-s -n -x -y -t -F -e -f").dir("-c").form(Form::Joined),
    Runner::new("tmux new-session").valued("-s -n -x -y -t -F -e -f").dir("-c").form(Form::Joined),
    Runner::new("tmux new-window").valued("-n -t -F -e").dir("-c").form(Form::Joined),
    Runner::new("tmux send-keys").valued("-t -N").form(Form::Joined),
    Runner::new("tmux split-window").valued("-l -p -t -F -e").dir("-c").form(Form::Joined),
    Runner::new("torsocks").valued("-a --address -P --port -u --user -p --pass"),
    Runner::new("tsocks"),
    Runner::new("unbuffer"),
    Runner::new("unshare").valued("-S -G -R -w --setuid --setgid --root --wd"),
    Runner::new("uv run")
        .valued("--with --extra --group --python -p --project --package --env-file")
        .dir("--directory"),
    Runner::new("uv tool").valued("--with --from --python -p").before(1).dir("--directory"),
    Runner::new("uvx").valued("--with --from --python -p").dir("--directory"),
    Runner::new("valgrind"),
    Runner::new("volta run").valued("--node --npm --yarn"),
    Runner::new("watch").valued("-n --interval -q --equexit").form(Form::Joined),
    Runner::new("watchexec").valued("-w --watch -e --exts -i --ignore -f --filter -d --debounce").form(Form::Joined),
    Runner::new("with-contenv"),
    Runner::new("xargs")
        .valued("-I -n -P -L -d -s -a -E --max-args --max-procs --max-lines --replace --delimiter --arg-file")
        .unknown(),
    Runner::new("xvfb-run").valued("-e -f -n -p -s -w --error-file --auth-file --server-num --server-args --wait"),
    Runner::new("yarn dlx").valued("-p --package").dir("--cwd"),
    Runner::new("yarn exec").dir("--cwd"),
];

/// What a program would run.
#[derive(Debug, Default)]
pub(super) struct Run<'a> {
    /// A program and its arguments.
    pub(super) words: &'a [String],
    /// Lines for a shell.
    pub(super) lines: Vec<String>,
    /// The directories it goes to first, each seen from the one before it.
    pub(super) dirs: Vec<&'a str>,
    pub(super) has_unknown: bool,
}

/// What a program runs if it is one that runs another. `rest` is what stands behind its name.
pub(super) fn run<'a>(program: &str, rest: &'a [String]) -> Option<Run<'a>> {
    RUNNERS.iter().find_map(|runner| {
        let (name, verb) = runner.name.split_once(' ').unwrap_or((runner.name, ""));
        if name != program {
            return None;
        }
        let mut run = Run { has_unknown: runner.has_unknown, ..Run::default() };
        let rest = match verb {
            "" => rest,
            // Options of the program itself may stand before the word.
            verb => {
                let at = options(runner, rest, &mut run)?;
                (rest.get(at)? == verb).then(|| &rest[at + 1..])?
            }
        };
        read(runner, rest, &mut run);
        Some(run)
    })
}

/// Where an option stands in a list of them, and its value: behind it as a word of its own, behind `=` or at once.
fn value<'a>(list: &str, word: &'a str, next: Option<&'a String>) -> Option<(&'a str, usize)> {
    if list.is_empty() {
        return None;
    }
    let (name, inline) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let is_long = word.starts_with("--");
    list.split(' ').find_map(|option| match (is_long || !option.starts_with("--"), inline) {
        (false, _) => None,
        (_, None) if option == word => Some((next.map_or("", String::as_str), 2)),
        (_, Some(value)) if option == name && is_long => Some((value, 1)),
        _ if is_long || option.len() != 2 => None,
        _ if word.starts_with(option) => Some((&word[2..], 1)),
        // `-qc LINE`: the last of several letters has the value.
        _ if word[1..].chars().all(|c| c.is_ascii_alphabetic()) && word.ends_with(&option[1..]) => {
            Some((next.map_or("", String::as_str), 2))
        }
        _ => None,
    })
}

/// Goes past options and takes in those that count. Returns where the first other word stands, if there is one.
fn options<'a>(runner: &Runner, words: &'a [String], run: &mut Run<'a>) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        if !word.starts_with('-') || word.len() == 1 || word == "--" {
            return Some(at);
        }
        let next = words.get(at + 1);
        if let Some((line, taken)) = value(runner.line, word, next) {
            run.lines.push(line.to_owned());
            at += taken;
        } else if let Some((dir, taken)) = value(runner.dir, word, next) {
            run.dirs.push(dir);
            at += taken;
        } else {
            at += if runner.valued.split(' ').any(|option| option == word) { 2 } else { 1 };
        }
    }
}

fn read<'a>(runner: &Runner, words: &'a [String], run: &mut Run<'a>) {
    if let Form::Behind(options) = runner.form {
        let behind = words.iter().position(|word| options.split(' ').any(|option| option == word));
        run.words = behind.map_or(&[], |at| &words[at + 1..]);
        return;
    }
    let mut before = runner.before;
    let mut at = 0;
    while let Some(next) = options(runner, &words[at..], run) {
        at += next;
        let is_dashes = words[at] == "--";
        match runner.form {
            Form::Nothing => at += 1,
            Form::Dashes if !is_dashes => at += 1,
            _ if is_dashes => {
                at += 1;
                break;
            }
            _ if before > 0 => {
                before -= 1;
                at += 1;
            }
            _ => break,
        }
        if at >= words.len() {
            break;
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    match runner.form {
        // Behind options alone there is nothing left.
        _ if rest.first().is_some_and(|word| word.starts_with('-') && word.len() > 1) => {}
        Form::Joined if !rest.is_empty() => run.lines.push(rest.join(" ")),
        Form::Lines => run.lines.extend(rest.iter().cloned()),
        Form::Words | Form::Dashes => run.words = rest,
        _ => {}
    }
}

/// The commands of `find`, with what it would put in the place of `{}`, and where it begins.
pub(super) fn find(words: &[String]) -> (Vec<Vec<String>>, Vec<&str>) {
    let begins = words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).map(String::as_str).collect();
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut command: Vec<String> = Vec::new();
        for word in words.by_ref() {
            if word == ";" || (word == "+" && command.last().is_some_and(|last| last.contains(UNKNOWN))) {
                break;
            }
            command.push(word.replace("{}", &UNKNOWN.to_string()));
        }
        found.push(command);
    }
    (found, begins)
}

/// The lines of `parallel`: the command with a word that only run time knows, or what stands behind `:::` where there is
/// none.
pub(super) fn parallel(words: &[String]) -> Vec<String> {
    const VALUED: &str =
        "-j --jobs -P -a --arg-file -S --sshlogin -N -n -L -d -I -C --colsep --delay --timeout --results";
    let is_list = |word: &String| matches!(word.as_str(), ":::" | "::::" | ":::+" | "::::+");
    let end = words.iter().position(is_list).unwrap_or(words.len());
    let mut at = 0;
    while let Some(word) = words[..end].get(at).filter(|word| word.starts_with('-')) {
        at += if VALUED.split(' ').any(|option| option == word) { 2 } else { 1 };
    }
    let command = words[at.min(end)..end].join(" ");
    match command.is_empty() {
        true => words[end..].iter().filter(|word| !is_list(word)).cloned().collect(),
        false => vec![format!("{} {UNKNOWN}", command.replace("{}", &UNKNOWN.to_string()))],
    }
}
