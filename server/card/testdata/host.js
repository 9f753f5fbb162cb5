// The host of chat_e2e_test.go: a chat client that implements MCP Apps with the
// official client and AppBridge. The test bundles it; it is never embedded.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri, isToolVisibilityAppOnly } from '@modelcontextprotocol/ext-apps/app-bridge';

// The policy that MCP Apps prescribes for a page that declares no domains.
const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";
// Records each request that the policy blocks.
const probe = '<script>window.stopped = []; addEventListener("securitypolicyviolation", (e) => stopped.push(e.blockedURI))</script>';

const host = { calls: [], reads: [], sizes: [], links: [], refuse: false, refuseTick: '', denyLinks: false, denyMode: false, contexts: [], messages: [], ready: 0, down: false, held: null };
window.host = host;
const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } };
let client;

// connect begins a session as a client with a name.
host.connect = async (name) => {
  client = new Client({ name, version: '1' }, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', location)));
  const { tools } = await client.listTools();
  host.appOnly = tools.filter(isToolVisibilityAppOnly).map((t) => t.name);
  host.uri = getToolUiResourceUri(tools.find((t) => t.name === 'TodoWrite'));
  host.page = (await client.readResource({ uri: host.uri })).contents[0];
  return true;
};

// mount replaces the frame of the last page by a new one, or adds it below.
host.mount = async (hostContext = {}, capabilities = { serverTools: {}, serverResources: {}, openLinks: {} }, below = false) => {
  if (!below) for (const frame of document.querySelectorAll('iframe')) frame.remove();
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  document.body.append(frame);
  Object.assign(host, { calls: [], reads: [], sizes: [], links: [], contexts: [], messages: [], ready: 0, down: false });
  const bridge = new AppBridge(null, { name: 'test host', version: '1' }, capabilities, { hostContext });
  host.bridge = bridge;
  bridge.oncalltool = async (params) => {
    host.calls.push(params.name);
    if (host.refuse) throw Error('tool is not listed');
    if (params.name === 'todo_list_tick') {
      if (host.refuseTick) throw Error(host.refuseTick);
      await host.held;
    }
    return client.callTool(params);
  };
  bridge.onreadresource = async (params) => { host.reads.push(params.uri); return client.readResource(params); };
  bridge.onopenlink = async ({ url }) => { host.links.push(url); return host.denyLinks ? { isError: true } : {}; };
  bridge.onupdatemodelcontext = async ({ content }) => { host.contexts.push(content.map((c) => c.text).join()); return {}; };
  bridge.onmessage = async ({ role, content }) => { host.messages.push(role + ': ' + content[0].text); return host.denyMessages ? { isError: true } : {}; };
  bridge.onrequestdisplaymode = async ({ mode }) => { if (!host.denyMode) host.context({ displayMode: mode }); return { mode: host.denyMode ? 'inline' : mode }; };
  bridge.onsizechange = ({ height }) => { host.sizes.push(height); frame.style.height = height + 'px'; };
  const ready = new Promise((resolve) => { bridge.oninitialized = () => { host.ready++; resolve(true); }; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = host.page.text.replace('<head>', '<head><meta http-equiv="Content-Security-Policy" content="' + policy + '">' + probe);
  return ready;
};

// hold keeps ticks from the server until release.
host.hold = () => { host.held = new Promise((resolve) => { host.release = () => { resolve(); host.held = null; return true; }; }); return true; };
host.input = (args) => host.bridge.sendToolInput({ arguments: args }).then(() => true);
host.call = async (name, args) => { host.last = await client.callTool({ name, arguments: args }); return true; };
host.result = (result = host.last) => host.bridge.sendToolResult(result).then(() => true);
host.cancel = () => host.bridge.sendToolCancelled({ reason: 'user' }).then(() => true);
host.context = (context) => { host.bridge.setHostContext(context); return true; };
host.teardown = async () => { await host.bridge.teardownResource({}); host.down = true; return true; };
