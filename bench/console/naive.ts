/**
 * The peer: a page that renders its tables anew with every event, as without a live layer. `?draw=no` only receives
 * events, the least possible work of a live page.
 */
export const NAIVE_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>peer</title>
<body><table id="queues"></table><table id="agents"></table><script type="module" src="/bench/naive.js"></script></body></html>`;
export const NAIVE_SCRIPT = `
  const draws = !location.search.includes('draw=no');
  const queues = new Map(), agents = new Map();
  function fill(id, rows) {
    const table = document.createElement('table');
    table.id = id;
    for (const row of rows) {
      const line = table.insertRow();
      for (const text of row) line.insertCell().textContent = text;
    }
    document.querySelector('#' + id).replaceWith(table);
  }
  function draw() {
    if (!draws) return;
    fill('queues', [...queues.values()].map((q) => [q.name, (q.callers ?? []).length, q.stats?.longest_wait_seconds ?? '', q.stats?.service_level ?? '', q.stats?.abandon_rate ?? '', q.stats?.sums.answered ?? '']));
    fill('agents', [...agents.values()].map((a) => [a.extension, a.name ?? '', a.state, a.reason ?? '', a.since, a.call_id ?? '']));
  }
  const answer = await fetch('/api/v1/stream/ticket', { method: 'POST' });
  const { ticket } = await answer.json();
  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/api/v1/stream?ticket=' + ticket, 'offhook.v1');
  socket.onmessage = ({ data }) => {
    const frame = JSON.parse(data);
    if (frame.op === 'hello') socket.send(JSON.stringify({ op: 'subscribe', id: '1', topics: ['queues', 'agents', 'calls'], snapshot: true }));
    if (frame.op === 'ping') socket.send('{"op":"pong"}');
    if (frame.op === 'snapshot') {
      for (const q of frame.data.queues ?? []) queues.set(q.name, q);
      for (const a of frame.data.agents ?? []) agents.set(a.extension, a);
      draw();
      if (agents.size > 0) document.body.dataset.live = 'yes';
    }
    if (frame.op === 'event') {
      const { type, data: said } = frame.event;
      if (type === 'queue.stats') queues.set(said.queue, { ...queues.get(said.queue), stats: said });
      if (said.agent) agents.set(said.agent.extension, said.agent);
      draw();
    }
  };
`;
