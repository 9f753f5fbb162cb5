// Tells todo-mcp of the host's own todo lists, which stand on its board then like
// those of other agents (docs/hooks.md). It never makes the host wait or fail.
import { spawn } from "node:child_process"

const command = "todo-mcp hook"
const kinds = []
const host = "opencode" // which has the same events as Kilo Code

// Tells of an event, and returns what the agent is to be told; nothing if that is nothing.
// With --wake the command waits, and says it on its standard error with status 2.
const tell = (event, flag = "") =>
  new Promise((resolve) => {
    const child = spawn(command + flag, { shell: true, stdio: ["pipe", "pipe", flag ? "pipe" : "ignore"], windowsHide: true })
    let out = ""
    const from = flag ? child.stderr : child.stdout
    from.setEncoding("utf8")
    from.on("data", (text) => {
      if (out.length < 1 << 16) out += text
    })
    if (flag) for (const part of [child, child.stdin, child.stdout, child.stderr]) part.unref?.() // the host may end
    child.on("error", () => resolve())
    child.on("close", (status) => {
      if (flag) return resolve(status === 2 ? out.trim() : undefined)
      try {
        resolve(JSON.parse(out).hookSpecificOutput?.additionalContext)
      } catch {
        resolve()
      }
    })
    child.stdin.on("error", () => resolve())
    child.stdin.end(JSON.stringify(event))
  })

export const TodoMCP = async ({ directory, client }) => {
  const sessions = new Map() // what is known of each, by its id
  const reminders = new Map() // what the agent of each is told with every request
  const busy = new Set() // whose turn is known to run
  const failures = new Map() // why the turn of each ends that has failed
  let told = Promise.resolve()
  // A sub-agent has a session of its own, whose parent is that of the main agent.
  const say = (id, event) => {
    const { parentID, agent } = sessions.get(id) ?? {}
    const who = parentID ? { session_id: parentID, agent_id: id, agent_type: agent } : { session_id: id }
    told = told.then(() => tell({ ...who, host, cwd: directory, ...event }))
    return told
  }
  const end = (id) => say(id, { hook_event_name: sessions.get(id)?.parentID ? "SubagentStop" : "SessionEnd" })
  const mirror = {
    "todo.updated": (p) => say(p.sessionID, { hook_event_name: "PostToolUse", tool_name: "todowrite", tool_input: { todos: p.todos } }),
    "session.idle": (p) => sessions.get(p.sessionID)?.parentID && end(p.sessionID),
    "session.deleted": (p) => end(p.info.id),
  }
  const remind = {
    "session.compacted": (p) => reminders.set(p.sessionID, say(p.sessionID, { hook_event_name: "SessionStart", source: "compact" })),
    "todo.updated": (p) => reminders.delete(p.sessionID), // it knows its list again
    "session.deleted": (p) => reminders.delete(p.info.id),
  }
  const asks = (p, questions) => say(p.sessionID, { hook_event_name: "PermissionRequest", tool_input: { questions } })
  const goesOn = (p) => say(p.sessionID, { hook_event_name: "PermissionDenied" })
  const waiting = {
    "permission.asked": (p) =>
      say(p.sessionID, { hook_event_name: "PermissionRequest", tool_name: p.permission, tool_input: { command: p.metadata?.command ?? p.patterns?.[0] } }),
    "permission.replied": (p) => goesOn(p), // whatever was said
    "question.asked": (p) => asks(p, p.questions),
    "question.replied": (p) => goesOn(p),
    "question.rejected": (p) => goesOn(p),
    "session.error": ({ sessionID, error }) => error?.name === "MessageAbortedError" || failures.set(sessionID, error?.data?.message ?? error?.name),
    "session.created": ({ info }) => info.parentID || say(info.id, { hook_event_name: "SessionStart", source: "startup" }),
    "session.status": (p) => {
      if (sessions.get(p.sessionID)?.parentID) return
      if (p.status?.type === "retry") { // it tries again by itself: a person may know better
        busy.delete(p.sessionID)
        asks(p, [{ question: `${p.status.message}; next try ${new Date(p.status.next).toTimeString().slice(0, 5)}` }])
      }
      if (p.status?.type !== "busy" || busy.has(p.sessionID)) return
      busy.add(p.sessionID)
      failures.delete(p.sessionID)
      goesOn(p)
    },
    "session.idle": (p) => {
      busy.delete(p.sessionID)
      if (sessions.get(p.sessionID)?.parentID) return
      const failure = failures.get(p.sessionID)
      failures.delete(p.sessionID)
      const stop = failure ? { hook_event_name: "StopFailure", error_message: failure } : { hook_event_name: "Stop" }
      say(p.sessionID, stop).then((text) => {
        if (text || !kinds.includes("wake")) return goOn(p.sessionID, text)
        return tell({ session_id: p.sessionID, host, cwd: directory, ...stop }, " --wake").then((text) => goOn(p.sessionID, text))
      })
    },
  }
  // A prompt keeps the turn from ending: the text is told once, whatever becomes of it.
  const goOn = (id, text) => text && client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text }] } }).catch(() => {})
  // Which list a call of one of our tools wrote: the server is not told whose it is.
  const wrote = (id, result) => {
    const list = result?.metadata?._meta?.["todo-mcp/list"]?.id ?? result?._meta?.["todo-mcp/list"]?.id
    if (list) say(id, { hook_event_name: "PostToolUse", list })
    return list
  }
  const chosen = Object.entries({ mirror, remind, waiting }).flatMap(([kind, on]) => (kinds.includes(kind) ? [on] : []))
  return {
    event: async ({ event: { type, properties: p } }) => {
      if (type === "session.created" || type === "session.updated") sessions.set(p.info.id, p.info)
      for (const on of chosen) on[type]?.(p)
    },
    "tool.execute.after": async ({ sessionID }, result) => {
      if (wrote(sessionID, result) || !kinds.includes("edits")) return
      const text = await say(sessionID, { hook_event_name: "PostToolBatch" })
      if (text && typeof result?.output === "string") result.output += "\n\n" + text
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      const text = await reminders.get(sessionID)
      if (text) system.push(text)
    },
  }
}
