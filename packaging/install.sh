#!/bin/sh
# Installs Tenure from an unpacked release, or removes it. Uses no network.
#   ./install.sh [--prefix DIR]
#   ./install.sh --uninstall [--prefix DIR]

set -eu
LC_ALL=C
export LC_ALL
unset CDPATH || true
umask 022

# Below the prefix: the files that were installed, with their checksums, and the directories that were made.
RECORD=share/doc/tenure/installed

usage() {
    cat <<'TEXT'
Usage: install.sh [--prefix DIR] [--uninstall]

  --prefix DIR  install to DIR/bin and DIR/share (default: /usr/local for root, else ~/.local)
  --uninstall   remove the installed files; stores and settings stay

The script never replaces or removes a file that it did not install or that was changed since then.
TEXT
}

main() {
    prefix=
    uninstall=
    while [ $# -gt 0 ]; do
        case $1 in
        --prefix)
            [ $# -gt 1 ] || die "--prefix needs a directory"
            prefix=$2
            shift
            ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --uninstall) uninstall=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            die "unknown option: $1"
            ;;
        esac
        shift
    done
    here=$(cd "$(dirname "$0")" && pwd)
    need_checksums
    choose_prefix
    if [ -n "$uninstall" ]; then
        remove_all
    else
        check_release
        check_places
        install_all
    fi
}

# The prefix as an absolute path. The copy that is installed beside the record knows its own.
choose_prefix() {
    if [ -z "$prefix" ] && [ -f "$here/${RECORD##*/}" ]; then
        prefix=${here%/"${RECORD%/*}"}
    elif [ -z "$prefix" ] && [ "$(id -u)" = 0 ]; then
        prefix=/usr/local
    elif [ -z "$prefix" ]; then
        [ -n "${HOME-}" ] || die "HOME is not set: choose a directory with --prefix"
        prefix=$HOME/.local
    fi
    case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
    esac
    while [ "$prefix" != / ] && [ "${prefix%/}" != "$prefix" ]; do
        prefix=${prefix%/}
    done
    case $prefix in
    *'
'*) die "a prefix cannot contain a line break" ;;
    esac
}

need_checksums() {
    if command -v sha256sum >/dev/null 2>&1; then
        checksum='sha256sum'
    elif command -v shasum >/dev/null 2>&1; then
        checksum='shasum -a 256'
    else
        die "sha256sum or shasum is required to verify the files; neither was found"
    fi
}

# --- The release ----------------------------------------------------------------------------------------------------

check_release() {
    [ -f "$here/SHA256SUMS" ] && [ -f "$here/TARGET" ] || die "run install.sh from the directory of an unpacked release"
    (cd "$here" && $checksum -c SHA256SUMS >/dev/null 2>&1) ||
        die "the files differ from SHA256SUMS: the download is damaged or was modified. Nothing was installed."
    target=$(cat "$here/TARGET")
    machine=$(uname -m)
    system=$(uname -s)
    case $target in
    x86_64-*) machines="x86_64 amd64" ;;
    aarch64-*) machines="aarch64 arm64" ;;
    *) machines=${target%%-*} ;;
    esac
    case $target in
    *-linux-*) systems=Linux ;;
    *-apple-darwin) systems=Darwin ;;
    *) systems=unknown ;;
    esac
    case " $machines " in
    *" $machine "*) ;;
    *) die "this release is for $target, but this machine is $system $machine. Nothing was installed." ;;
    esac
    [ "$systems" = "$system" ] ||
        die "this release is for $target, but this machine is $system $machine. Nothing was installed."
}

# The files below the prefix: what the release has in bin and share, and this script itself.
release_files() {
    sed -n 's,^[0-9a-f]*  \(bin/.*\),\1,p; s,^[0-9a-f]*  \(share/.*\),\1,p' "$here/SHA256SUMS"
    echo share/doc/tenure/install.sh
}

source_of() {
    case $1 in
    share/doc/tenure/install.sh) echo "$here/install.sh" ;;
    *) echo "$here/$1" ;;
    esac
}

# --- The prefix -----------------------------------------------------------------------------------------------------

# Whether a name in the record is that of a file that a release can have. The record is a file like any other: what it
# says is checked before anything is removed.
is_below() {
    case /$1/ in
    *//* | */./* | */../*) return 1 ;;
    /bin/?* | /share/?*) return 0 ;;
    *) return 1 ;;
    esac
}

# Whether a file is as it was installed.
is_ours() {
    is_below "$1" || return 1
    [ -f "$prefix/$RECORD" ] && [ -f "$prefix/$1" ] && [ ! -L "$prefix/$1" ] || return 1
    grep -qxF "$(sum_of "$prefix/$1")  $1" "$prefix/$RECORD"
}

sum_of() {
    $checksum <"$1" | cut -d ' ' -f 1
}

check_places() {
    foreign=$(release_files | while IFS= read -r file; do
        if [ -e "$prefix/$file" ] || [ -L "$prefix/$file" ]; then
            is_ours "$file" || echo "  $prefix/$file"
        fi
    done)
    [ -z "$foreign" ] || die "these files exist, but this script did not install them, or they were changed since then:
$foreign
Move them away, or choose another --prefix. \`tenure completions --uninstall\` removes what \`tenure completions --install\`
wrote. Nothing was installed."
}

install_all() {
    # The record is complete before the first file is placed, so that an interrupted installation can be removed or repeated.
    make_directory "$(dirname "$RECORD")"
    suffix=.new.$$
    work=$prefix/$RECORD$suffix
    trap clean_up EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    if [ -f "$prefix/$RECORD" ]; then
        cat "$prefix/$RECORD"
    fi >"$work"
    release_files | while IFS= read -r file; do
        missing_directories "$(dirname "$file")"
        echo "$(sum_of "$(source_of "$file")")  $file"
    done >>"$work"
    printf '%s\n' "${made-}" | sed '/^$/d; s/^/directory  /' >>"$work"
    sort -u -o "$work" "$work"
    mv -f "$work" "$prefix/$RECORD"

    release_files | while IFS= read -r file; do
        mkdir -p "$prefix/$(dirname "$file")"
        # Renamed into place: a program that runs can be replaced, not overwritten.
        new=$prefix/$file$suffix
        cp "$(source_of "$file")" "$new"
        chmod "$(case $file in bin/* | *.sh) echo 755 ;; *) echo 644 ;; esac)" "$new"
        mv -f "$new" "$prefix/$file"
    done
    remove_old
    say_installed
}

# Removes drafts that an interrupted installation leaves.
clean_up() {
    rm -f "$work"
    release_files | while IFS= read -r file; do
        rm -f "$prefix/$file$suffix"
    done
}

# Directories that are missing, outermost first.
missing_directories() {
    if [ ! -d "$prefix/$1" ]; then
        case $1 in */*) missing_directories "$(dirname "$1")" ;; esac
        echo "directory  $1"
    fi
}

# Makes the directory of the record, and notes what was missing: also the prefix itself and what is above it.
make_directory() {
    made=$(missing_directories "$1" | sed 's/^directory  //')
    above=$prefix
    while [ ! -d "$above" ]; do
        made="$above
$made"
        above=$(dirname "$above")
    done
    mkdir -p "$prefix/$1"
}

# Removes the files of an earlier version that this one does not have, and their lines from the record.
remove_old() {
    release_files | while IFS= read -r file; do
        echo "$(sum_of "$prefix/$file")  $file"
    done | sort >"$work"
    grep -v '^directory  ' "$prefix/$RECORD" | while IFS= read -r line; do
        file=${line#*  }
        if ! sed 's/^[0-9a-f]*  //' "$work" | grep -qxF "$file" && is_ours "$file"; then
            rm -f "$prefix/$file"
        fi
    done
    grep '^directory  ' "$prefix/$RECORD" >>"$work" || true
    mv -f "$work" "$prefix/$RECORD"
}

remove_all() {
    [ -f "$prefix/$RECORD" ] && [ ! -L "$prefix/$RECORD" ] || die "nothing is installed in $prefix: $prefix/$RECORD is missing"
    lines=$(cat "$prefix/$RECORD")
    kept=$(printf '%s\n' "$lines" | grep -v '^directory  ' | sed 's/^[0-9a-f]*  //' | sort -u | while IFS= read -r file; do
        if is_ours "$file"; then
            rm -f "$prefix/$file"
        elif is_below "$file" && [ -e "$prefix/$file" ]; then
            echo "  $prefix/$file"
        fi
    done)
    rm -f "$prefix/$RECORD"
    # Innermost first; those that others use by now are not empty and stay.
    printf '%s\n' "$lines" | sed -n 's/^directory  //p' | sort -r | while IFS= read -r directory; do
        case $directory in
        /*)
            # The prefix, or a directory above it.
            case $prefix/ in
            "$directory"/*) rmdir "$directory" 2>/dev/null || true ;;
            esac
            ;;
        bin | share) rmdir "$prefix/$directory" 2>/dev/null || true ;;
        *) ! is_below "$directory" || rmdir "$prefix/$directory" 2>/dev/null || true ;;
        esac
    done
    echo "Removed Tenure from $prefix. Stores and settings stay."
    [ -z "$kept" ] || printf 'Kept, because they were changed:\n%s\n' "$kept"
}

say_installed() {
    version=$("$prefix/bin/tenure" --version) || die "the files are installed in $prefix, but $prefix/bin/tenure does not run"
    echo "Installed $version in $prefix."
    case ":${PATH-}:" in
    *":$prefix/bin:"*) ;;
    *) echo "Add it to your PATH: export PATH=$(quoted "$prefix/bin"):\"\$PATH\"" ;;
    esac
    case $prefix in
    /usr | /usr/local) ;;
    *) echo "For completions in zsh, put fpath=($(quoted "$prefix/share/zsh/site-functions") \$fpath) into ~/.zshrc, before compinit." ;;
    esac
    echo "Remove it with: sh $(quoted "$prefix/share/doc/tenure/install.sh") --uninstall"
}

# A word as a shell reads it.
quoted() {
    case $1 in
    *[!A-Za-z0-9/._+-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

die() {
    echo "install.sh: $*" >&2
    exit 1
}

main "$@"
