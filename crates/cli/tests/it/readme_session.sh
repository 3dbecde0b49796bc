# A session of an agent tool, as the README tells it: it works on a task, edits a file, and is killed.
export CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=5f0c
event() {
    printf '{"session_id":"5f0c","cwd":"%s","hook_event_name":"%s",%s}' "$PWD" "$1" "$2" >../event.json
    sh -c "tenure hook claude $1" <../event.json >/dev/null
}
event SessionStart '"source":"startup"'
tenure resume
echo half >importer.py
edited="$PWD/importer.py"
event PostToolUse '"tool_name":"Edit","tool_response":{},"tool_input":{"file_path":"'"$edited"'"}'
tenure remember "the importer must accept Latin-1: sample 7 is not UTF-8" --key encoding --scope project
tenure note "the parser loads 31 of 40 samples"
kill -9 $$
