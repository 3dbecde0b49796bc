// The plugin for OpenCode, called as both of its interfaces call it. The program is a stub that writes down what it is sent.
// Usage: node opencode_plugin.mjs PLUGIN.js
import assert from "node:assert/strict"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const dir = mkdtempSync(join(tmpdir(), "tenure-plugin-"))
const program = join(dir, "tenure")
const log = join(dir, "log")
writeFileSync(
  program,
  `#!/usr/bin/env node
const { appendFileSync, readFileSync } = require("node:fs")
const sent = JSON.parse(readFileSync(0, "utf8"))
appendFileSync(${JSON.stringify(log)}, JSON.stringify({ words: process.argv.slice(2), sent }) + "\\n")
const event = process.argv[4]
if (event === "session.created" || event === "session.compacted") {
  if (!sent.agent_id) console.log(JSON.stringify({ context: "brief " + sent.source }))
}
if (event === "tool.execute.before" && sent.tool_input.filePath === "held") console.log(JSON.stringify({ deny: "held by b" }))
`,
)
chmodSync(program, 0o755)
const plugin = join(dir, "plugin.mjs")
// The plugin ends a hook after 1 s or 5 s. The stub is a Node.js program, which takes longer than that to start on a loaded
// machine, so the copy under test has no limit.
const source = readFileSync(process.argv[2], "utf8")
assert.match(source, /timeout: limit,/)
writeFileSync(
  plugin,
  source.replace(/const PROGRAM = .*/, `const PROGRAM = ${JSON.stringify(program)}`).replace("timeout: limit,", ""),
)
const { default: tenure } = await import(pathToFileURL(plugin))

// What was sent since the last time.
function sent() {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line))
  rmSync(log)
  for (const { words, sent } of lines) {
    assert.deepEqual(words, ["hook", "opencode", sent.hook_event_name])
    assert.equal(sent.cwd, dir)
    const known = ["hook_event_name", "cwd", "session_id", "agent_id", "source", "reason", "tool_name", "tool_input", "tool_response", "error"]
    for (const field of Object.keys(sent)) assert.ok(known.includes(field), field)
  }
  return lines.map((line) => line.sent)
}

// Version 1.
{
  const client = { session: { get: async ({ path }) => ({ data: { id: path.id, parentID: path.id === "late" ? "A" : undefined } }) } }
  const hooks = await tenure.server({ directory: dir, client })
  const say = async (session) => {
    const output = { parts: [{ type: "file" }, { type: "text", text: "do it" }] }
    await hooks["chat.message"]({ sessionID: session }, output)
    return output.parts[1].text
  }
  const event = (type, properties) => hooks.event({ event: { type, properties } })
  // The event is not awaited by OpenCode: the message comes while the hook is still at work.
  const created = event("session.created", { info: { id: "A" } })
  assert.equal(await say("A"), "do it\n\nbrief startup")
  await created
  assert.equal(await say("A"), "do it")
  assert.deepEqual(sent().map((sent) => sent.hook_event_name), ["session.created", "chat.message", "chat.message"])
  // A session of an earlier run is registered with its first message.
  assert.equal(await say("R"), "do it\n\nbrief resume")
  sent()
  // After compaction it is told again.
  await hooks["experimental.session.compacting"]({ sessionID: "A" }, { context: [] })
  await event("session.compacted", { sessionID: "A" })
  assert.equal(await say("A"), "do it\n\nbrief compact")
  assert.deepEqual(sent().map((sent) => sent.hook_event_name), ["session.compacting", "session.compacted", "chat.message"])
  // How a command ended.
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "A", args: { command: "cargo test" } }, { output: "boom", metadata: { exit: 101 } })
  await hooks["tool.execute.after"]({ tool: "edit", sessionID: "A", args: { filePath: "x" } }, { output: "", metadata: {} })
  await hooks["tool.execute.after"]({ tool: "read", sessionID: "A", args: {} }, { output: "" })
  const [shell, edit, ...none] = sent()
  assert.deepEqual([shell.tool_name, shell.tool_input, shell.tool_response], ["bash", { command: "cargo test" }, { exit_code: 101, output: "boom" }])
  assert.deepEqual([edit.tool_name, edit.tool_response, none.length], ["edit", undefined, 0])
  // The shell and Tenure's own tools say whose they are; the tools of other servers are left alone.
  const shell1 = async (sessionID) => {
    const output = { env: {} }
    await hooks["shell.env"]({ cwd: dir, sessionID, callID: "c" }, output)
    return output.env
  }
  assert.deepEqual([await shell1("A"), await shell1("late"), await shell1(undefined)], [{ OPENCODE_SESSION_ID: "A" }, { OPENCODE_SESSION_ID: "A" }, {}])
  const args = { paths: ["x"] }
  await hooks["tool.execute.before"]({ tool: "tenure_reserve", sessionID: "late" }, { args })
  assert.deepEqual(args, { paths: ["x"], "tenure/session": { tool: "opencode", id: "A" } })
  await hooks["tool.execute.after"]({ tool: "tenure_reserve", sessionID: "late", args }, { output: "" })
  assert.deepEqual(args, { paths: ["x"] })
  const part = { type: "tool", tool: "tenure_add", state: { input: { title: "x", "tenure/session": {} } } }
  await hooks["experimental.chat.messages.transform"]({}, { messages: [{ info: {}, parts: [{ type: "text" }, part] }] })
  assert.deepEqual(part.state.input, { title: "x" })
  const other = {}
  await hooks["tool.execute.before"]({ tool: "tenure_x_resume", sessionID: "A" }, { args: other })
  assert.deepEqual([other, sent().length], [{}, 0])
  // A refusal is thrown.
  await assert.rejects(hooks["tool.execute.before"]({ tool: "edit", sessionID: "A" }, { args: { filePath: "held" } }), /held by b/)
  await hooks["tool.execute.before"]({ tool: "edit", sessionID: "A" }, { args: { filePath: "free" } })
  sent()
  // A session below another one is an agent of it, at any depth and even if it began before the plugin.
  await event("session.created", { info: { id: "sub", parentID: "A" } })
  await event("session.created", { info: { id: "deep", parentID: "sub" } })
  assert.equal(await say("deep"), "do it")
  await hooks["tool.execute.after"]({ tool: "write", sessionID: "late", args: { filePath: "x" } }, {})
  await event("session.deleted", { info: { id: "sub", parentID: "A" } })
  await event("session.deleted", { info: { id: "A" } })
  assert.deepEqual(
    sent().map((sent) => [sent.hook_event_name, sent.session_id, sent.agent_id]),
    [
      ["session.created", "A", "sub"],
      ["session.created", "A", "deep"],
      ["chat.message", "A", "deep"],
      ["tool.execute.after", "A", "late"],
      ["session.deleted", "A", "sub"],
      ["session.deleted", "A", undefined],
    ],
  )
}

// Version 2.
{
  const hooks = {}
  const register = async (name, run) => void (hooks[name] = run)
  const session = { hook: register, get: async ({ sessionID }) => ({ parentID: sessionID === "sub" ? "B" : undefined }) }
  await tenure.setup({ directory: dir, session, tool: { hook: register }, shell: { hook: register } })
  const context = async (sessionID) => {
    const system = []
    await hooks.context({ sessionID, system })
    return system.map((part) => part.text)
  }
  assert.deepEqual([await context("B"), await context("B")], [["brief startup"], ["brief startup"]])
  await hooks.compaction({ sessionID: "B", system: [] })
  assert.deepEqual(await context("B"), ["brief compact"])
  assert.deepEqual(sent().map((sent) => sent.hook_event_name), ["session.created", "chat.message", "chat.message", "session.compacting", "session.compacted", "chat.message"])
  await assert.rejects(hooks["execute.before"]({ tool: "write", sessionID: "B", input: { filePath: "held" } }), /held by b/)
  await hooks["execute.after"]({ tool: "shell", sessionID: "sub", input: { command: "make" }, status: "error", error: { message: "exit status 2" } })
  await hooks["execute.after"]({ tool: "shell", sessionID: "B", input: { command: "make" }, status: "completed", result: { output: "ok", metadata: { exit: 0 } } })
  const [, failed, fine] = sent()
  assert.deepEqual([failed.session_id, failed.agent_id, failed.error], ["B", "sub", "exit status 2"])
  assert.deepEqual([fine.error, fine.tool_response], [undefined, { exit_code: 0, output: "ok" }])
  assert.deepEqual(await context("sub"), [])
  // This version tells a shell its session, that of a sub-agent too.
  const env = { OPENCODE_SESSION_ID: "sub", PATH: "x" }
  await hooks["create.before"]({ command: "tenure note", env })
  assert.deepEqual(env, { OPENCODE_SESSION_ID: "B", PATH: "x" })
  const bare = {}
  await hooks["create.before"]({ command: "ls", env: bare })
  const own = { tool: "tenure_resume", sessionID: "sub", input: {} }
  await hooks["execute.before"](own)
  assert.deepEqual([own.input, bare], [{ "tenure/session": { tool: "opencode", id: "B" } }, {}])
  // One that has no hooks of shells is served as well.
  await tenure.setup({ directory: dir, session, tool: { hook: register } })
}
rmSync(dir, { recursive: true })
console.log("the plugin for OpenCode: both interfaces")
