import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CrmEntry {
  readonly id: string;
  readonly call: string;
  readonly customer: string | null;
  readonly text: string;
  readonly user: string | null;
}
/** An uploaded file. */
export interface CrmFile {
  readonly id: string;
  readonly entry: string;
  readonly name: string;
  readonly bytes: Buffer;
}
export interface CrmChange {
  readonly id: string;
  readonly name: string;
  readonly phone: string;
  readonly rev: string;
  readonly gone: boolean;
}
/** Customer `n` below 10 with a number of its own. */
export const crmCustomer = (n: number): CrmChange => ({
  id: `${n}`,
  rev: `a${n}`,
  name: `Name ${n}`,
  phone: `030555500${n}`,
  gone: false,
});
/**
 * Fault of a CRM's reply: `lost` processes the request and closes the connection, `away` closes it first, `silent`
 * processes it and never answers, `lies` does nothing and answers 200 with an error in it; a number is that status
 * without processing.
 */
export type Mood = 'works' | 'lost' | 'away' | 'silent' | 'lies' | number;
export interface Crm extends AsyncDisposable {
  readonly url: string;
  readonly entries: Map<string, CrmEntry>;
  readonly files: Map<string, CrmFile>;
  /** Ids of customers by number in E.164. */
  readonly customers: Map<string, string>;
  /** Names of customers by id; the default is Anna Müller. */
  readonly names: Map<string, string>;
  /** Languages of customers by id; the default is none. */
  readonly languages: Map<string, string>;
  /** Changes listed by `/changes`, two on a page. */
  readonly changes: CrmChange[];
  /** Users assigned to created customers. */
  readonly owners: (string | null)[];
  /** `POST /entries` and so on, in order. */
  readonly requests: string[];
  /** Called before a request is processed. */
  mood: (request: string, query: URLSearchParams) => Mood;
  retryAfter: string | null;
  /** Text of a reply with an error status. */
  words: string;
  of(call: string): CrmEntry[];
  /** Resolves once no request is on its way or being answered; those that get no answer do not count. */
  idle(): Promise<void>;
}
/** Turns of the event loop within which a request arrives that was already sent: client and server are in one process. */
const TURNS = 10;

/** The body of a request; a file in a form as `name` and `bytes`. */
async function parsed(body: Buffer, type: string): Promise<object> {
  if (type.startsWith('multipart/')) {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
    const file = form.get('audio') as File;
    return { ...Object.fromEntries(form), name: file.name, bytes: Buffer.from(await file.arrayBuffer()) };
  }
  const text = body.toString('utf8');
  return text.startsWith('{') ? (JSON.parse(text) as object) : Object.fromEntries(new URLSearchParams(text));
}
/** A small CRM on the loopback address: customers by number, and entries found by their call. */
export async function startCrm(): Promise<Crm> {
  const entries = new Map<string, CrmEntry>();
  const files = new Map<string, CrmFile>();
  const customers = new Map([['+4930901820', 'c1']]);
  const names = new Map<string, string>();
  const languages = new Map<string, string>();
  const owners: (string | null)[] = [];
  const changes: CrmChange[] = [];
  const requests: string[] = [];
  let last = 0;
  let rotated = 0;
  function work(method: string, url: URL, body: Partial<CrmEntry>): [status: number, value: unknown] {
    const [, kind, id = ''] = url.pathname.split('/');
    if (kind === 'changes') {
      const page = Number(url.searchParams.get('page') ?? 0);
      const all = changes.filter(({ rev }) => rev > (url.searchParams.get('after') ?? ''));
      const next = all.length > (page + 1) * 2 ? { next: page + 1 } : {};
      return [200, { items: all.slice(page * 2, page * 2 + 2), ...next }];
    }
    if (kind === 'token') {
      const { refresh_token } = body as { refresh_token?: string };
      if (refresh_token !== `refresh-${rotated}`) return [400, { error: 'invalid_grant' }];
      rotated += 1;
      return [
        200,
        { access_token: `access-${rotated}`, refresh_token: `refresh-${rotated}`, expires_in: 600 },
      ];
    }
    if (kind === 'customers' && method === 'POST') {
      const { name, phone, owner } = body as { name: string; phone: string; owner?: string };
      const customer = `n${customers.size}`;
      customers.set(phone, customer);
      names.set(customer, name);
      owners.push(owner ?? null);
      return [201, { id: customer }];
    }
    if (kind === 'users') return [200, [{ id: 'u3', mail: 'Bea@Example.test' }]];
    if (kind === 'customers') {
      const found = customers.get(url.searchParams.get('phone') ?? '');
      if (found === undefined) return [200, []];
      return [
        200,
        [{ id: found, name: names.get(found) ?? 'Anna Müller', lang: languages.get(found) ?? null }],
      ];
    }
    if (kind === 'files') {
      const name = url.searchParams.get('name');
      if (method === 'GET') return [200, [...files.values()].filter((file) => file.name === name)];
      if (method === 'DELETE') return [files.delete(id) ? 200 : 404, {}];
      const { entry, name: given, bytes } = body as unknown as CrmFile;
      // A PUT replaces the file of that name.
      const file = { id: method === 'PUT' ? id : `f${(last += 1)}`, entry, name: given, bytes };
      files.set(file.id, file);
      return [201, { id: file.id }];
    }
    if (kind !== 'entries') return [200, { ok: true }];
    if (method === 'GET')
      return [200, [...entries.values()].filter(({ call }) => call === url.searchParams.get('call'))];
    if (method === 'POST') {
      const entry = { customer: null, user: null, text: '', call: '', ...body, id: `e${(last += 1)}` };
      entries.set(entry.id, entry);
      return [201, entry];
    }
    const before = entries.get(id);
    if (before === undefined) return [404, { message: 'no such entry' }];
    if (method === 'DELETE') entries.delete(id);
    else entries.set(id, { ...before, ...body });
    return [200, { id }];
  }
  const open = new Set<http.ServerResponse>();
  const server = http.createServer((request, response) => {
    response.on('error', () => undefined);
    open.add(response);
    response.on('close', () => open.delete(response));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    const answer = async (): Promise<void> => {
      const { method = '', url = '/' } = request;
      const at = new URL(url, 'http://crm');
      const name = `${method} ${at.pathname}`;
      requests.push(name);
      const mood = crm.mood(name, at.searchParams);
      const headers = {
        'content-type': 'application/json',
        ...(crm.retryAfter !== null && { 'retry-after': crm.retryAfter }),
      };
      if (mood === 'away') return void request.socket.destroy();
      if (typeof mood === 'number')
        return void response.writeHead(mood, headers).end(JSON.stringify({ message: crm.words }));
      if (mood === 'lies') return void response.writeHead(200, headers).end('{"error":"it is locked"}');
      const body = await parsed(Buffer.concat(chunks), request.headers['content-type'] ?? '');
      const [status, value] = work(method, at, body);
      if (mood === 'lost') return void request.socket.destroy();
      if (mood === 'works') response.writeHead(status, headers).end(JSON.stringify(value));
      else open.delete(response);
    };
    request.on('end', () => void answer());
  });
  server.on('connection', (socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const crm: Crm = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    entries,
    files,
    customers,
    names,
    languages,
    owners,
    changes,
    requests,
    mood: () => 'works',
    retryAfter: null,
    words: 'not now',
    of: (call) => [...entries.values()].filter((entry) => entry.call === call),
    async idle() {
      for (let quiet = 0; quiet < TURNS; quiet = open.size === 0 ? quiet + 1 : 0)
        await new Promise((resolve) => setImmediate(resolve));
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return crm;
}

/** Section of the connector file that lists the CRM's customers. */
export const CRM_SYNC = `
sync:
  get: /changes
  query: { after: '{{ cursor }}', page: '{{ page }}' }
  rows: '{{ answer.items }}'
  customer: { numbers: ['{{ row.phone }}'] }
  page: '{{ answer.next }}'
  cursor: '{{ row.rev }}'
  gone: '{{ row.gone }}'
`;
const ATTACH = {
  find: `
    find: { get: /files, query: { name: '{{ recording.name }}' }, id: '{{ answer[0].id }}' }
    post: /files`,
  ledger: `
    post: /files`,
  own_id: `
    put: '/files/{{ recording.id }}'`,
};
/** The connector file of that CRM; `attach` sends recordings too. */
export const crmFile = (
  once: 'find' | 'ledger' = 'find',
  attach: keyof typeof ATTACH | null = null,
): string => `
connector: 1
name: Small CRM
settings:
  address: { text: Address, url: true }
  token: { text: Token, secret: true }
base: '{{ set.address }}'
auth: { bearer: '{{ set.token }}' }
limits: { requests: 1000, per_seconds: 1, at_once: 4 }
fails: '{{ answer.error }}'
check: { get: /, holds: '{{ answer.ok }}' }
users: { get: /users, rows: '{{ answer }}', id: '{{ row.id }}', email: '{{ row.mail }}' }
customer: { id: '{{ row.id }}', name: '{{ row.name }}', language: '{{ row.lang }}', url: '{{ set.address }}/customers/{{ row.id }}' }
pop: '{{ set.address }}/calls?of={{ customer.id }}&call={{ call.id }}&number={{ call.number }}'
lookup:
  number: { get: /customers, query: { phone: '{{ number }}' }, formats: [e164], rows: '{{ answer }}' }
create:
  post: /customers
  body: { name: '{{ new.name }}', phone: '{{ new.e164 }}', owner: '{{ user.id }}' }
  row: '{{ answer }}'
entry:
  when: '{{ call.direction != "internal" }}'
  once: ${once}
  settle_seconds: 10
  create:
    post: /entries
    body: { call: '{{ call.id }}', customer: '{{ customer.id }}', user: '{{ user.id }}', text: '{{ call.text }}' }
    id: '{{ answer.id }}'
  update: { patch: '/entries/{{ entry.id }}', body: { text: '{{ call.text }}', customer: '{{ customer.id }}' } }
  remove: { delete: '/entries/{{ entry.id }}' }
${once === 'find' ? "  find: { get: /entries, query: { call: '{{ call.id }}' }, id: '{{ answer[0].id }}' }" : ''}
${
  attach === null
    ? ''
    : `  attach:
    once: ${attach}
    max_mb: 1
    when: '{{ recording.seconds > 2 }}'${ATTACH[attach]}
    file: audio
    form: { entry: '{{ entry.id }}', call: '{{ call.id }}' }
    id: '{{ answer.id }}'
    remove: { delete: '/files/{{ attached.id }}' }`
}
`;
