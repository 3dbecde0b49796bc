//! The scripts that shells load. Those of bash, zsh and fish ask `tenure complete-words` for candidates, so that they know
//! tasks, agents, labels and projects; the other shells know the commands and flags of the version that wrote the script.

use clap_complete::Shell;

use crate::args::whole;

const BASH: &str = r#"# bash completion for tenure
_tenure() {
    local IFS=$'\n' current="${COMP_WORDS[COMP_CWORD]}" found
    found=($(tenure complete-words bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    COMPREPLY=("${found[@]}")
    # What stands alone is inserted, without its description.
    if [ "${#COMPREPLY[@]}" -eq 1 ]; then
        COMPREPLY=("${COMPREPLY[0]%%$'\t'*}")
    else
        COMPREPLY=("${COMPREPLY[@]//$'\t'/  -- }")
    fi
}
complete -o nosort -o bashdefault -o default -F _tenure tenure 2>/dev/null || complete -o bashdefault -o default -F _tenure tenure
"#;

const ZSH: &str = r#"#compdef tenure
_tenure() {
    local -a found
    found=("${(@f)$(tenure complete-words zsh -- "${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)}")
    found=("${found[@]:#}")
    if (( ${#found} )); then
        _describe -V 'tenure' found
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_tenure" ]; then
    _tenure "$@"
else
    compdef _tenure tenure
fi
"#;

const FISH: &str = r#"# fish completion for tenure
function __tenure_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (tenure complete-words fish -- $words[2..] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c tenure -f -k -a '(__tenure_complete)'
"#;

/// The script of a shell.
pub(super) fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => BASH.to_owned(),
        Shell::Zsh => ZSH.to_owned(),
        Shell::Fish => FISH.to_owned(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut whole(), "tenure", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    }
}
