/**
 * How two other systems answer, built again from what is known of them; none of their code is here. Each is leaner than its
 * original, so that its figures are a floor of what the approach costs: `reconstructions.ts <role> <options as JSON>` prints
 * its `{ port }`.
 *
 * daemons   Wazo: a daemon for each domain. Each request is checked by HTTP at the daemon of the tokens
 *           (wazo-platform/xivo-lib-python `xivo/auth_verifier.py` at b773b7b: `validate_token`). The list of presences is a
 *           select and two counts, made into JSON each time (wazo-platform/wazo-chatd `wazo_chatd/plugins/presences/http.py`
 *           at f0240ac). A pause is a lookup of the agent's state and an action by HTTP at the daemon of the manager, answered
 *           without the engine's event (wazo-platform/wazo-agentd `wazo_agentd/service/{handler,manager,action}/pause.py` at
 *           79bf874). Leaner: Node for Python, connections that stay, SQLite in the process for PostgreSQL.
 * cli       AiPBX: a process of the engine's command line for each request, whose text is parsed (issue 18; its source is not
 *           public). Leaner: the web server is one process that stays, and no rights are checked.
 */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import type net from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { request as ask } from './http-client.ts';
import { rawManager } from './raw-manager.ts';
import { TOKEN } from './reconstruct.ts';
import type { PauseBody, Reconstruction } from './reconstruct.ts';

const [role = '', json = '{}'] = process.argv.slice(2);
const options = JSON.parse(json) as Reconstruction;
type Answer = readonly [status: number, body: unknown];
type Handle = (request: http.IncomingMessage, body: string) => Promise<Answer> | Answer;

async function bodyOf(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
const interfaceOf = (agent: string): string => `Local/${agent}@queue-agent`;

/** Daemon of the tokens. */
const auth: Handle = ({ url }) => [url?.endsWith(`/${TOKEN}`) === true ? 204 : 401, null];
async function checkToken(request: http.IncomingMessage): Promise<boolean> {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  return (await ask(`http://127.0.0.1:${options.auth}/0.1/token/${token}`)).status === 204;
}

/** Daemon of the manager: one action of the engine for each request. */
async function amid(): Promise<Handle> {
  const { port, ...account } = options.ami!;
  const manager = await rawManager(port, account, 'off');
  return async (_request, body) => {
    const { action, fields } = JSON.parse(body) as { action: string; fields: Record<string, string> };
    return [200, { response: await manager.action(action, fields) }];
  };
}
/** Daemon of the agents. */
function agentd(): Handle {
  const db = new DatabaseSync(':memory:');
  db.exec('create table agents (number text primary key, interface text, logged integer)');
  const insert = db.prepare('insert into agents values (?, ?, 1)');
  for (const agent of options.agents ?? []) insert.run(agent, interfaceOf(agent));
  const find = db.prepare('select * from agents where number = ?');
  return async (request, body) => {
    if (!(await checkToken(request))) return [401, null];
    const { agent, paused, queue } = JSON.parse(body) as PauseBody;
    const status = find.get(agent) as { interface: string; logged: number } | undefined;
    if (status?.logged !== 1) return [404, null];
    const fields = {
      Interface: status.interface,
      Paused: paused ? '1' : '0',
      ...(queue === null ? {} : { Queue: queue }),
      ...(paused ? { Reason: 'break' } : {}),
    };
    const done = await ask(`http://127.0.0.1:${options.amid}/1.0/action`, {
      method: 'POST',
      json: { action: 'QueuePause', fields },
    });
    return done.status === 200 ? [204, null] : [502, null];
  };
}

type Contact = Readonly<Record<string, unknown>>;
const contactsOf = (): readonly Contact[] =>
  (JSON.parse(fs.readFileSync(options.contacts!, 'utf8')) as { contacts: Contact[] }).contacts;
const isText = (value: unknown): boolean => value === null || typeof value === 'string';
/** Daemon of the presences: the rows have the columns of ours, objects as JSON. */
function chatd(): Handle {
  const all = contactsOf();
  const columns = [...new Set(all.flatMap((contact) => Object.keys(contact)))];
  const nested = columns.filter((name) => !all.every((contact) => isText(contact[name] ?? null)));
  const db = new DatabaseSync(':memory:');
  db.exec(`create table contacts (${columns.map((name) => `"${name}" text`).join(', ')})`);
  const insert = db.prepare(`insert into contacts values (${columns.map(() => '?').join(', ')})`);
  for (const contact of all) {
    insert.run(
      ...columns.map((name) => {
        const value = contact[name] ?? null;
        return nested.includes(name) ? JSON.stringify(value) : (value as string | null);
      }),
    );
  }
  const list = db.prepare('select * from contacts');
  const total = db.prepare('select count(*) as n from contacts');
  return async (request) => {
    if (!(await checkToken(request))) return [401, null];
    const items = (list.all() as Record<string, string | null>[]).map((row) => {
      const item: Record<string, unknown> = { ...row };
      for (const name of nested) item[name] = JSON.parse(row[name]!);
      return item;
    });
    return [200, { items, total: total.get()!['n'], filtered: total.get()!['n'] }];
  };
}

const run = promisify(execFile);
async function engineSays(words: string): Promise<string> {
  const [program = '', ...args] = options.engine!;
  const { stdout } = await run(program, [...args, '-rx', words], { maxBuffer: 1 << 26 });
  return stdout;
}
/** ` Endpoint:  100000/100000          Not in use    0 of inf` */
const ENDPOINT = /^ Endpoint: {2}([^\s/]+)(?:\/\S*)? {2,}(\S(?:.*?\S)?) {2,}\d+ of /gm;
function cli(): Handle {
  const contacts = options.contacts === undefined ? [] : contactsOf();
  return async ({ method }, body) => {
    if (method === 'GET') {
      const states = new Map<string, string>();
      for (const [, endpoint = '', state = ''] of (await engineSays('pjsip show endpoints')).matchAll(
        ENDPOINT,
      ))
        states.set(endpoint, state);
      if (states.size === 0) throw new Error('the engine named no endpoint');
      return [
        200,
        {
          contacts: contacts.map((contact) => ({
            ...contact,
            summary: states.get(String(contact['extension'])) ?? 'Unavailable',
          })),
        },
      ];
    }
    const { agent, paused, queue } = JSON.parse(body) as PauseBody;
    const said = await engineSays(
      `queue ${paused ? 'pause' : 'unpause'} member ${interfaceOf(agent)}${queue === null ? '' : ` queue ${queue}`}${paused && queue !== null ? ' reason break' : ''}`,
    );
    return /^(?:un)?paused interface/m.test(said) ? [200, { ok: true }] : [409, { said }];
  };
}

const ROLES: Readonly<Record<string, () => Handle | Promise<Handle>>> = {
  auth: () => auth,
  amid,
  agentd,
  chatd,
  cli,
};
const make = ROLES[role];
if (make === undefined) throw new Error(`no such role: ${role}`);
const handle = await make();
const server = http.createServer((request, response) => {
  void (async () => {
    let status: number;
    let body: unknown;
    try {
      [status, body] = await handle(request, await bodyOf(request));
    } catch (error) {
      [status, body] = [500, { error: String(error) }];
    }
    const text = body === null ? '' : JSON.stringify(body);
    response
      .writeHead(status, {
        'content-type': 'application/json',
        ...(status === 204 ? {} : { 'content-length': Buffer.byteLength(text) }),
      })
      .end(text);
  })();
});
// A request over a kept connection fails if the server closes it at that moment, as it would after five idle seconds.
server.keepAliveTimeout = 0;
server.listen({ host: '127.0.0.1', port: 0, backlog: 512 }, () =>
  console.log(JSON.stringify({ port: (server.address() as net.AddressInfo).port })),
);
process.on('SIGTERM', () => process.exit());
