// The front-end functions of system 1, as its document prints them.

function handleTodoSSEEvent(data, setTodosProgress) {
if (data.type === 'content_block_start' && data.content_block?.type === 'tool_use') {
if (isTodoToolName(data.content_block.name) && !data.content_block.parent_tool_use_id) {
const todos = data.content_block.input?.todos;
if (todos && Array.isArray(todos)) {
setTodosProgress(todos);
}
}
}
}

function TodoListBlock({ todos }) {
return (
<ul>
{todos.map((todo, i) => (
<li key={i} className={
todo.status === 'completed' ? 'line-through text-gray-400' :
todo.status === 'in_progress' ? 'font-medium text-gray-800' :
'text-gray-600'
}>
<StatusIcon status={todo.status} />
<span>
{todo.status === 'in_progress' ? todo.activeForm : todo.content}
</span>
</li>
))}
</ul>
);
}
function StatusIcon({ status }) {
if (status === 'completed') return <span className="text-green-500">✓</span>;
if (status === 'in_progress') return <span className="w-2 h-2 rounded-full bg-blue-500" />;
return <span className="w-2 h-2 rounded-full border border-gray-400" />;
}
