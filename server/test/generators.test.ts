import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { TOOLS, installTools } from '../../tools/install.ts';
import type { OpenApiDocument } from '../src/http/openapi.ts';
import { useSite } from './support/use-site.ts';

/**
 * Three generators of clients read the served OpenAPI document; what they write compiles strictly and makes twenty
 * calls to a real service.
 */

/** The calls; `id` is the operationId, from which the generators derive names. */
interface Call {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
}
const get = (id: string, at: string, more: Partial<Call> = {}): Call => ({
  id,
  method: 'GET',
  path: at,
  status: 200,
  ...more,
});
const CALLS: readonly Call[] = [
  get('getHealthz', '/healthz'),
  get('getMobilePing', '/api/mobile/ping.php'),
  get('getMobileContacts', '/api/mobile/contacts.php', { query: { limit: '2' } }),
  get('getMobileHistory', '/api/mobile/history.php'),
  get('getSession', '/api/v1/session'),
  get('getSessions', '/api/v1/sessions'),
  get('getQueues', '/api/v1/queues'),
  get('getQueuesByName', '/api/v1/queues/{name}', { params: { name: 'none' }, status: 404 }),
  get('getAgents', '/api/v1/agents'),
  get('getCalls', '/api/v1/calls'),
  get('getTrunks', '/api/v1/trunks'),
  get('getBoards', '/api/v1/boards'),
  get('getConversations', '/api/v1/conversations', { query: { limit: '1' } }),
  get('getRecordings', '/api/v1/recordings'),
  get('getAudit', '/api/v1/audit', { query: { limit: '1' } }),
  get('getPeople', '/api/v1/people'),
  get('getConfigQueues', '/api/v1/config/queues'),
  get('getConfigExtensionsByKey', '/api/v1/config/extensions/{key}', { params: { key: '1001' } }),
  get('getConfigDraft', '/api/v1/config/draft'),
  {
    id: 'configValidate',
    method: 'POST',
    path: '/api/v1/config/validate',
    body: '{ changes: [] }',
    status: 200,
  },
];
const PROGRAM = `
const [base = '', token = ''] = process.argv.slice(2);
const headers = { authorization: 'Bearer ' + token };
const statuses: number[] = [];
`;
const quoted = (value: object): string => JSON.stringify(value);
const openapiFetch = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';
${PROGRAM}
const client = createClient<paths>({ baseUrl: base, headers });
${CALLS.map(({ method, path: at, params, query, body }) => {
  const parts = [
    ...(params === undefined ? [] : [`path: ${quoted(params)}`]),
    ...(query === undefined ? [] : [`query: ${quoted(query)}`]),
  ];
  const init = [
    ...(parts.length === 0 ? [] : [`params: { ${parts.join(', ')} }`]),
    ...(body === undefined ? [] : [`body: ${body}`]),
  ];
  return `statuses.push((await client.${method}('${at}', { ${init.join(', ')} })).response.status);`;
}).join('\n')}
console.log(statuses.join());
`;
const heyApi = `
import { client } from './client.gen.ts';
import * as sdk from './sdk.gen.ts';
${PROGRAM}
client.setConfig({ baseUrl: base, auth: token });
${CALLS.map(({ id, params, query, body }) => {
  const parts = [
    ...(params === undefined ? [] : [`path: ${quoted(params)}`]),
    ...(query === undefined ? [] : [`query: ${quoted(query)}`]),
    ...(body === undefined ? [] : [`body: ${body}`]),
  ];
  return `statuses.push((await sdk.${id}({ ${parts.join(', ')} })).response?.status ?? 0);`;
}).join('\n')}
console.log(statuses.join());
`;
const orval = (document: OpenApiDocument): string => `
import * as sdk from './api.ts';
${PROGRAM}
globalThis.base = base;
${CALLS.map(({ id, method, path: at, params, query, body }) => {
  const { parameters = [] } = document.paths[at]![method.toLowerCase()]!;
  const asks = parameters.some((one) => (one as { in?: string }).in === 'query');
  const words = [
    ...Object.values(params ?? {}).map((value) => `'${value}'`),
    ...(body === undefined ? [] : [body]),
    ...(query !== undefined ? [quoted(query)] : asks ? ['undefined'] : []),
    '{ headers }',
  ];
  return `statuses.push((await sdk.${id}(${words.join(', ')})).status);`;
}).join('\n')}
console.log(statuses.join());
`;

const run = promisify(execFile);
const site = useSite({ wait: 'answers' });
let folder = '';
async function prepare(): Promise<OpenApiDocument> {
  await installTools();
  // The folder lies below the tools, so that generated code finds their packages.
  folder = fs.mkdtempSync(path.join(TOOLS, 'node_modules', '.generated-'));
  const document = (await (await fetch(`${site().base}/api/v1/openapi.json`)).json()) as OpenApiDocument;
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    rewriteRelativeImportExtensions: true,
    rootDir: '.',
    outDir: 'out',
    types: [],
  };
  const write = (name: string, text: string): void => fs.writeFileSync(path.join(folder, name), text);
  write('package.json', JSON.stringify({ private: true, type: 'module' }));
  write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['**/*.ts'], exclude: ['out'] }));
  write(
    'globals.d.ts',
    'declare var base: string; declare const process: { readonly argv: readonly string[] };',
  );
  write('openapi.json', JSON.stringify(document));
  return document;
}
after(() => fs.rmSync(folder, { recursive: true, force: true }));
const tool = (name: string, ...args: string[]) =>
  run(process.execPath, [fs.realpathSync(path.join(TOOLS, 'node_modules', '.bin', name)), ...args], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout: string; stderr: string }) =>
    assert.fail(`${name}: ${error.stdout.slice(0, 2_000)}${error.stderr.slice(0, 2_000)}`),
  );

test('generators - openapi-typescript, hey-api and orval write clients that compile strictly and work', async () => {
  const document = await prepare();
  await tool('openapi-typescript', 'openapi.json', '-o', 'types/schema.ts');
  await tool('openapi-ts', '-i', 'openapi.json', '-o', 'hey', '--no-log-file');
  const output = {
    target: './orval/api.ts',
    client: 'fetch',
    mode: 'single',
    baseUrl: { runtime: 'globalThis.base' },
  };
  const config = { offhook: { input: './openapi.json', output } };
  fs.writeFileSync(path.join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(config)};`);
  await tool('orval', '--config', 'orval.config.mjs');
  const programs = { types: openapiFetch, hey: heyApi, orval: orval(document) };
  for (const [name, text] of Object.entries(programs))
    fs.writeFileSync(path.join(folder, name, 'program.ts'), text);
  await tool('tsc', '-p', '.');
  const { token } = await site().person('1001');
  for (const name of Object.keys(programs)) {
    const program = path.join(folder, 'out', name, 'program.js');
    const { stdout } = await run(process.execPath, [program, site().base, token]);
    assert.deepEqual(
      stdout.trim().split(',').map(Number),
      CALLS.map(({ status }) => status),
      name,
    );
  }
});
