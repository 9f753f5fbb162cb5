// Tells todo-mcp of opencode's own todo lists, which stand on its board then like
// those of other agents (docs/hooks.md). It never makes opencode wait or fail.
import { spawn } from "node:child_process"

const command = "todo-mcp hook"

const tell = (event) =>
  new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ["pipe", "ignore", "ignore"], windowsHide: true })
    child.on("error", resolve)
    child.on("close", resolve)
    child.stdin.on("error", resolve)
    child.stdin.end(JSON.stringify(event))
  })

export const TodoMCP = async ({ directory }) => {
  const sessions = new Map() // what is known of each, by its id
  let told = Promise.resolve()
  // A sub-agent has a session of its own, whose parent is that of the main agent.
  const say = (id, event) => {
    const { parentID, agent } = sessions.get(id) ?? {}
    const who = parentID ? { session_id: parentID, agent_id: id, agent_type: agent } : { session_id: id }
    told = told.then(() => tell({ ...who, cwd: directory, ...event }))
  }
  const end = (id) => say(id, { hook_event_name: sessions.get(id)?.parentID ? "SubagentStop" : "SessionEnd" })
  return {
    event: async ({ event: { type, properties: p } }) => {
      if (type === "session.created" || type === "session.updated") sessions.set(p.info.id, p.info)
      else if (type === "todo.updated") say(p.sessionID, { hook_event_name: "PostToolUse", tool_name: "todowrite", tool_input: { todos: p.todos } })
      else if (type === "session.idle" && sessions.get(p.sessionID)?.parentID) end(p.sessionID)
      else if (type === "session.deleted") end(p.info.id)
    },
  }
}
