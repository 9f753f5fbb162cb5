// A front end of system 1 around its own functions, which the test puts in the
// place of the comment below. It follows the stream it is given, draws every
// state that the functions set, then reloads from history.
import { renderToStaticMarkup } from 'react-dom/server';

const isTodoToolName = (name) => name.toLowerCase().includes('todo');

/* FUNCTIONS */

function restore(historyData, setTodosProgress) {
/* RESTORE */
}

const [base, list, states] = process.argv.slice(2);
const show = (todos) => console.log(JSON.stringify({ todos, html: todos && renderToStaticMarkup(<TodoListBlock todos={todos} />) }));

const stream = await fetch(`${base}/api/stream?list=${list}`);
console.log('ready');
let buffered = '', seen = 0, open = null;
reading: for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
  buffered += chunk;
  for (let end; (end = buffered.indexOf('\n\n')) >= 0; buffered = buffered.slice(end + 2)) {
    const field = buffered.slice(0, end);
    if (!field.startsWith('data: ')) continue;
    const data = JSON.parse(field.slice(6));
    if (data.type === 'content_block_delta') throw new Error('a delta on the stream');
    if (data.type === 'content_block_start') open = data.index;
    if (data.type === 'content_block_stop' && data.index !== open) throw new Error('a stop without its start');
    handleTodoSSEEvent(data, (todos) => { show(todos); seen++; });
    if (seen >= Number(states) && data.type === 'content_block_stop') break reading;
  }
}
restore(await (await fetch(`${base}/api/workspace?list=${list}`)).json(), show);
process.exit(0);
