//! The table of programs that run another program, by name.

use super::{OperandForm, Runner};

const CONDA: &str = "-n --name -p --prefix -r --root-prefix -a --attach -e --env";
/// Options of PowerShell that take a value, in lower case.
const POWERSHELL: &str = "-executionpolicy -ep -ex -workingdirectory -wd -outputformat -of -o -inputformat -if -version -v \
                          -configurationname -config -custompipename -settingsfile -psconsolefile -windowstyle -w";
const BWRAP_PAIRS: &str = "--bind --bind-try --ro-bind --ro-bind-try --dev-bind --dev-bind-try --symlink --setenv --file \
                           --bind-data --ro-bind-data --chmod --overlay --bind-fd --ro-bind-fd";
const BWRAP: &str = "--proc --dev --tmpfs --mqueue --dir --remount-ro --unsetenv --hostname --uid --gid --lock-file --sync-fd \
                     --block-fd --info-fd --seccomp --add-seccomp-fd --exec-label --file-label --perms --size --args --argv0 \
                     --cap-add --cap-drop --userns --userns2 --pidns --overlay-src --tmp-overlay --ro-overlay --json-status-fd";
const SUDO: &str = "-u -g -h -p -C -r -t -T -U --user --group --host --prompt --role --type";

/// Every known program that runs another one on the same files: it changes the user, the limits, the environment, the
/// terminal or the time, but not what the command does. Containers and other machines (`docker exec`, `ssh`) are
/// excluded, because commands there have files of their own. Task runners (`make`, `npm run`) are excluded too, because
/// they name a script.
pub const RUNNERS: &[Runner] = &[
    Runner::new("aa-exec").valued("-p --profile -n --namespace"),
    Runner::new("aarch64"),
    Runner::new("abduco").valued("-A -a -c -n -e"),
    Runner::new("alacritty")
        .valued("-o --option -t --title --config-file --class")
        .form(OperandForm::Behind("-e --command")),
    Runner::new("annotate-output"),
    Runner::new("arch").valued("-arch -d -e"),
    Runner::new("asdf exec"),
    Runner::new("aws-vault exec").before(1),
    Runner::new("builtin"),
    Runner::new("bun x").dir("--cwd"),
    Runner::new("bundle exec").valued("--gemfile"),
    Runner::new("bunx"),
    Runner::new("busybox"),
    Runner::new("bwrap").valued(BWRAP).pairs(BWRAP_PAIRS).dir("--chdir"),
    Runner::new("cabal exec").valued("--project-file --project-dir -w --with-compiler"),
    Runner::new("caffeinate").valued("-t -w"),
    Runner::new("capsh").line("-c").form(OperandForm::Nothing),
    Runner::new("cargo watch")
        .valued("-w --watch -i --ignore -x --exec -d --delay")
        .line("-s --shell")
        .dir("-C --workdir")
        .form(OperandForm::Dashes),
    Runner::new("catchsegv"),
    Runner::new("cgexec").valued("-g"),
    Runner::new("chamber exec").form(OperandForm::Dashes),
    Runner::new("chokidar")
        .valued("-i --ignore -d --debounce -t --throttle")
        .line("-c --command")
        .form(OperandForm::Nothing),
    Runner::new("choom").valued("-n --adjust -p --pid"),
    Runner::new("chpst").valued("-u -U -b -e -/ -n -l -L -m -d -o -p -f -c -r -t"),
    Runner::new("chronic"),
    Runner::new("chroot").before(1),
    Runner::new("chrt").valued("-T -P -D").before(1),
    Runner::new("chruby-exec").form(OperandForm::Dashes),
    Runner::new("cmd").form(OperandForm::JoinedBehind("/c /C /k /K //c //C")),
    Runner::new("command"),
    Runner::new("composer exec").dir("-d --working-dir"),
    Runner::new("concurrently").valued("-n --names -c --prefix-colors -m --max-processes").form(OperandForm::Lines),
    Runner::new("conda run").valued(CONDA).dir("--cwd"),
    Runner::new("cpulimit").valued("-l -e -p -P --limit"),
    Runner::new("cronic"),
    Runner::new("daemon").valued("-n --name -u --user -F --pidfile -D --chdir -o --output -O --stdout -E --stderr"),
    Runner::new("daemonize").valued("-a -c -e -o -p -l -u -E"),
    Runner::new("dbus-launch"),
    Runner::new("dbus-run-session").valued("--config-file --dbus-daemon"),
    Runner::new("devbox run").valued("-c --config -e --env --env-file --environment"),
    Runner::new("devenv shell"),
    Runner::new("direnv exec").before(1),
    Runner::new("doas").valued("-u -C"),
    Runner::new("doppler run")
        .valued("-p --project -c --config -t --token")
        .line("--command")
        .form(OperandForm::Dashes),
    Runner::new("dotenv").valued("-e -f -c -v").form(OperandForm::Dashes),
    Runner::new("dotenvx run").valued("-f --env-file -e --env -fk --env-keys-file").form(OperandForm::Dashes),
    Runner::new("dtach").valued("-A -c -n -N -e -r"),
    Runner::new("dune exec").valued("--root --profile -p -w"),
    Runner::new("dzdo").valued(SUDO),
    Runner::new("eatmydata"),
    Runner::new("entr").form(OperandForm::Joined).unknown(),
    Runner::new("env").valued("-u -S --unset --split-string").dir("-C --chdir"),
    Runner::new("envdir").before(1),
    Runner::new("envuidgid").before(1),
    Runner::new("exec").valued("-a"),
    Runner::new("expect").line("-c").form(OperandForm::Nothing),
    Runner::new("fakechroot").valued("-c -d -e -b -l --config-dir --elfloader --environment --bindir --lib"),
    Runner::new("fakeroot").valued("-l -s -i -b --lib --faked"),
    Runner::new("faketime").before(1),
    Runner::new("fd").form(OperandForm::Behind("-x --exec -X --exec-batch")).unknown(),
    Runner::new("fdfind").form(OperandForm::Behind("-x --exec -X --exec-batch")).unknown(),
    Runner::new("firejail"),
    Runner::new("flock").valued("-w --timeout --wait -E --conflict-exit-code").line("-c --command").before(1),
    Runner::new("flox activate").valued("-d --dir -r --remote").line("-c --command").form(OperandForm::Dashes),
    Runner::new("fnm exec").valued("--using"),
    Runner::new("foot").valued("-c -t -T -a -f -w -W -o").dir("-D --working-directory"),
    Runner::new("gdb").form(OperandForm::Behind("--args -args")),
    Runner::new("genv").valued("-u --unset").dir("-C --chdir"),
    Runner::new("gnice").valued("-n --adjustment"),
    Runner::new("gnohup"),
    Runner::new("gnome-terminal").dir("--working-directory").form(OperandForm::Dashes),
    Runner::new("gosu").before(1),
    Runner::new("gstdbuf").valued("-i -o -e --input --output --error"),
    Runner::new("gtime").valued("-f -o --format --output"),
    Runner::new("gtimeout").valued("-k -s --kill-after --signal").before(1),
    Runner::new("guix environment").form(OperandForm::Dashes),
    Runner::new("guix shell").form(OperandForm::Dashes),
    Runner::new("gxargs")
        .valued("-I -n -P -L -d -s -a -E --max-args --max-procs --max-lines --replace --delimiter --arg-file")
        .unknown(),
    Runner::new("hatch run"),
    Runner::new("hyperfine")
        .valued(
            "-w --warmup -m --min-runs -M --max-runs -r --runs -P -D -L -S --shell -N --export-json -n --command-name",
        )
        .line("-p --prepare -s --setup -c --cleanup -C --conclude")
        .form(OperandForm::Lines),
    Runner::new("i386"),
    Runner::new("i686"),
    Runner::new("ifne"),
    Runner::new("infisical run").valued("--env --path --projectId").line("--command").form(OperandForm::Dashes),
    Runner::new("ionice").valued("-c -n -p --class --classdata"),
    Runner::new("jenv exec"),
    Runner::new("kitty").valued("-o -c -T --title --class").dir("-d --directory"),
    Runner::new("konsole").dir("--workdir").form(OperandForm::Behind("-e")),
    Runner::new("lckdo").valued("-W -s").before(1),
    Runner::new("lerna exec").valued("--scope --ignore --concurrency").form(OperandForm::Dashes),
    Runner::new("linux32"),
    Runner::new("linux64"),
    Runner::new("logsave").before(1),
    Runner::new("ltrace").valued("-o -e -p -s -u -a -l -n -x"),
    Runner::new("mamba run").valued(CONDA).dir("--cwd"),
    Runner::new("micromamba run").valued(CONDA).dir("--cwd"),
    Runner::new("mise exec").line("-c --command").dir("-C --cd").form(OperandForm::Dashes),
    Runner::new("mise x").line("-c --command").dir("-C --cd").form(OperandForm::Dashes),
    Runner::new("mix cmd").valued("--app").dir("--cd"),
    Runner::new("n exec").before(1),
    Runner::new("nice").valued("-n --adjustment"),
    Runner::new("nix develop").form(OperandForm::Behind("-c --command")),
    Runner::new("nix shell").form(OperandForm::Behind("-c --command")),
    Runner::new("nix-shell").line("--run --command").form(OperandForm::Nothing),
    Runner::new("nocache").valued("-n"),
    Runner::new("nodemon").line("-x --exec").form(OperandForm::Nothing),
    Runner::new("nodenv exec"),
    Runner::new("nohup"),
    Runner::new("npm exec").valued("-p --package -w --workspace --prefix").line("-c --call"),
    Runner::new("npm x").valued("-p --package -w --workspace --prefix").line("-c --call"),
    Runner::new("npx").valued("-p --package -w --workspace --registry --cache").line("-c --call"),
    Runner::new("nsenter").valued("-t --target -S --setuid -G --setgid"),
    Runner::new("numactl").valued("-i -m -N -C -p -P -s -L -o -l -f -M"),
    Runner::new("nvm exec").before(1),
    Runner::new("nx exec").valued("-p --projects -t --targets").form(OperandForm::Dashes),
    Runner::new("onchange").form(OperandForm::Dashes),
    Runner::new("op run").valued("--env-file --account").form(OperandForm::Dashes),
    Runner::new("opam exec").valued("--switch --root").form(OperandForm::Dashes),
    Runner::new("pdm run").valued("-p --project"),
    Runner::new("perf record").valued("-e -o -F -c -C -p -t -g --event --output"),
    Runner::new("perf stat").valued("-e -o -r -I -C -p -t --event --output"),
    Runner::new("perf trace").valued("-e -o -p -t -F -m --event --output"),
    Runner::new("pfexec").valued("-P"),
    Runner::new("pipenv run"),
    Runner::new("pipx run").valued("--spec --python --index-url"),
    Runner::new("pixi exec").valued("-s --spec -c --channel -p --platform"),
    Runner::new("pixi run").valued("-e --environment --manifest-path -p --platform"),
    Runner::new("pkexec").valued("--user"),
    Runner::new("please").valued("-u --user -g --group -t --target -r --reason").dir("-d --dir"),
    Runner::new("pnpm dlx").valued("--package --filter -F").dir("-C --dir"),
    Runner::new("pnpm exec").valued("--filter -F").line("-c --shell-mode").dir("-C --dir"),
    Runner::new("poetry run").valued("-P --project").dir("-C --directory"),
    Runner::new("powershell").valued(POWERSHELL).form(OperandForm::PowerShell { bare: true }),
    Runner::new("ppc64le"),
    Runner::new("prlimit").valued("-p --pid -o"),
    Runner::new("proot")
        .valued("-r --rootfs -b --bind -m --mount -q --qemu -v --verbose -k --kernel-release -p --port")
        .dir("-w --cwd --pwd"),
    Runner::new("proxychains").valued("-f"),
    Runner::new("proxychains4").valued("-f"),
    Runner::new("pwsh").valued(POWERSHELL).form(OperandForm::PowerShell { bare: false }),
    Runner::new("pyenv exec"),
    Runner::new("rbenv exec"),
    Runner::new("reflex").valued("-r --regex -g --glob -R --inverse-regex -G --inverse-glob").form(OperandForm::Dashes),
    Runner::new("retry").valued("-t --tries --times -s --sleep -d --delay -m --min -x --max"),
    Runner::new("rlwrap").valued("-a -b -f -H -l -s -w -D -C -S"),
    Runner::new("rtx exec").line("-c --command").dir("-C --cd").form(OperandForm::Dashes),
    Runner::new("run0")
        .valued("-u --user -g --group -p --property --unit --slice --setenv --nice --background --description")
        .dir("-D --chdir"),
    Runner::new("runcon").valued("-t -u -r -l --type --user --role --range").perhaps(1),
    Runner::new("runuser").valued("-u -g -G -s --user --group --shell").line("-c --command"),
    Runner::new("rustup run").before(1),
    Runner::new("rvm").form(OperandForm::Behind("do")),
    Runner::new("rye run").valued("--pyproject"),
    Runner::new("s390x"),
    Runner::new("s6-envdir").before(1),
    Runner::new("s6-setuidgid").before(1),
    Runner::new("schedtool").form(OperandForm::Behind("-e")),
    Runner::new("screen").valued("-S -T -h -c -e -s -p -t"),
    Runner::new("script").valued("-E -I -O -B -T -o -m -t").line("-c --command").before(1),
    Runner::new("setarch").perhaps(1),
    Runner::new("setlock").before(1),
    Runner::new("setpriv").valued("--reuid --regid --groups --securebits --selinux-label"),
    Runner::new("setsid"),
    Runner::new("setuidgid").before(1),
    Runner::new("setuser").before(1),
    Runner::new("softlimit").valued("-a -c -d -f -l -m -o -p -r -s -t"),
    Runner::new("spawn"),
    Runner::new("ssh-agent").valued("-a -E -P -t"),
    Runner::new("stack exec").valued("--package --stack-yaml"),
    Runner::new("stdbuf").valued("-i -o -e --input --output --error"),
    Runner::new("strace").valued("-o -e -p -s -u -E -P -a -I -O -S -U -X -b --output --trace --string-limit"),
    Runner::new("su")
        .valued("-s -g -G -w --shell --group")
        .line("-c --command --session-command")
        .form(OperandForm::Nothing),
    Runner::new("su-exec").before(1),
    Runner::new("sudo").valued(SUDO).dir("-D --chdir"),
    Runner::new("systemd-cat").valued("-t -p --identifier --priority --stderr-priority --level-prefix"),
    Runner::new("systemd-inhibit").valued("--what --who --why --mode"),
    Runner::new("systemd-run")
        .valued("-p -u -E -M -H --property --unit --setenv --uid --gid --slice --description --machine --host")
        .dir("--working-directory"),
    Runner::new("taskset").before(1),
    Runner::new("tenure lock").valued("--project --agent --store --request-id").form(OperandForm::Dashes),
    Runner::new("time").valued("-f -o --format --output"),
    Runner::new("timelimit").valued("-S -s -T -t"),
    Runner::new("timeout").valued("-k -s --kill-after --signal").before(1),
    Runner::new("tmux display-popup").valued("-b -B -c -e -h -s -S -t -T -w -x -y").dir("-d").form(OperandForm::Joined),
    Runner::new("tmux new").valued("-s -n -x -y -t -F -e -f").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux new-session").valued("-s -n -x -y -t -F -e -f").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux new-window").valued("-n -t -F -e").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux neww").valued("-n -t -F -e").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux popup").valued("-b -B -c -e -h -s -S -t -T -w -x -y").dir("-d").form(OperandForm::Joined),
    Runner::new("tmux respawn-pane").valued("-t -e").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux respawn-window").valued("-t -e").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux run").valued("-d -t").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux run-shell").valued("-d -t").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux send").valued("-t -N").form(OperandForm::Joined),
    Runner::new("tmux send-keys").valued("-t -N").form(OperandForm::Joined),
    Runner::new("tmux split-window").valued("-l -p -t -F -e").dir("-c").form(OperandForm::Joined),
    Runner::new("tmux splitw").valued("-l -p -t -F -e").dir("-c").form(OperandForm::Joined),
    Runner::new("torify"),
    Runner::new("torsocks").valued("-a --address -P --port -u --user -p --pass"),
    Runner::new("tox exec").valued("-e -c --conf").form(OperandForm::Dashes),
    Runner::new("toybox"),
    Runner::new("trickle").valued("-d -u -w -t -l -n -p -P"),
    Runner::new("tsocks"),
    Runner::new("uname26"),
    Runner::new("unbuffer"),
    Runner::new("unshare").valued("-S -G -R -w --setuid --setgid --root --wd"),
    Runner::new("uv run")
        .valued("--with --extra --group --python -p --project --package --env-file")
        .dir("--directory"),
    Runner::new("uv tool").valued("--with --from --python -p").before(1).dir("--directory"),
    Runner::new("uvx").valued("--with --from --python -p").dir("--directory"),
    Runner::new("valgrind"),
    Runner::new("volta run").valued("--node --npm --yarn"),
    Runner::new("watch").valued("-n --interval -q --equexit").form(OperandForm::Joined),
    Runner::new("watchexec")
        .valued("-w --watch -e --exts -i --ignore -f --filter -d --debounce")
        .form(OperandForm::Joined),
    Runner::new("watchman-make")
        .valued("-p --pattern -t --target -s --settle")
        .line("-r --run")
        .form(OperandForm::Nothing),
    Runner::new("with-contenv"),
    Runner::new("x-terminal-emulator").form(OperandForm::Behind("-e")),
    Runner::new("x86_64"),
    Runner::new("xargs")
        .valued("-I -n -P -L -d -s -a -E --max-args --max-procs --max-lines --replace --delimiter --arg-file")
        .unknown(),
    Runner::new("xterm").form(OperandForm::Behind("-e")),
    Runner::new("xvfb-run").valued("-e -f -n -p -s -w --error-file --auth-file --server-num --server-args --wait"),
    Runner::new("yarn dlx").valued("-p --package").dir("--cwd"),
    Runner::new("yarn exec").dir("--cwd"),
    Runner::new("zellij run").valued("-d --direction -n --name").dir("--cwd").form(OperandForm::Dashes),
];
