import { useEffect, useState } from 'react';

export function isTodoToolName(name) {
  return /todo/i.test(String(name).split(/__|[./:]/).pop());
}

export function handleTodoSSEEvent(data, setTodosProgress) {
  if (data.type === 'content_block_start' && data.content_block?.type === 'tool_use') {
    if (isTodoToolName(data.content_block.name) && !data.content_block.parent_tool_use_id) {
      const todos = data.content_block.input?.todos;
      if (todos && Array.isArray(todos)) {
        setTodosProgress(todos);
      }
    }
  }
}

export function useTodos(base, list = '') {
  const [todos, setTodos] = useState(null);
  useEffect(() => {
    const query = `?list=${encodeURIComponent(list)}`;
    const source = new EventSource(`${base}/api/stream${query}`);
    let changes = 0;
    source.onopen = async () => { // also after a break, in which calls were missed
      const before = changes;
      const state = await (await fetch(`${base}/api/workspace${query}`)).json();
      if (changes === before) setTodos(state.workspace.todos);
    };
    source.onmessage = (event) => handleTodoSSEEvent(JSON.parse(event.data), (todos) => {
      changes++;
      setTodos(todos);
    });
    return () => {
      changes++;
      source.close();
    };
  }, [base, list]);
  return todos;
}

export function TodoList({ base, list }) {
  const todos = useTodos(base, list);
  return todos && <TodoListBlock todos={todos} />;
}

export function TodoListBlock({ todos }) {
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

// A chat as it was: the answers that /api/workspace has of all its plans, oldest first.
export async function loadHistory(base, list = '') {
  const answers = [];
  for (let query = `?list=${encodeURIComponent(list)}`; query;) {
    const page = await fetch(`${base}/api/workspace${query}`);
    answers.unshift(...(await page.json()).history);
    query = page.headers.get('Link')?.match(/^<(.*)>; rel="prev"$/)?.[1];
  }
  return answers;
}

export function History({ answers }) {
  return answers.map((answer) => (
    <section key={answer.id}>{answer.blocks.map((block) => <Block key={block.id} block={block} />)}</section>
  ));
}

function Block({ block }) {
  const isTodos = isTodoToolName(block.name) && Array.isArray(block.input?.todos);
  return isTodos ? <TodoListBlock todos={block.input.todos} /> : <ToolCallBlock block={block} />;
}

function ToolCallBlock({ block }) {
  return (
    <details>
      <summary>{block.tool_content_message ?? block.name}</summary>
      <pre>{JSON.stringify(block.input, null, 2)}</pre>
    </details>
  );
}

function StatusIcon({ status }) {
  if (status === 'completed') return <span className="text-green-500">✓</span>;
  if (status === 'in_progress') return <span className="w-2 h-2 rounded-full bg-blue-500" />;
  return <span className="w-2 h-2 rounded-full border border-gray-400" />;
}
