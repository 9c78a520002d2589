/**
 * The OpenAPI and AsyncAPI documents as the service serves them, and the compact form in which the contract of the last release is
 * kept. Neither document is in the repository: both follow from the sources.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Document } from './contract-breaks.ts';

export const CONTRACTS = ['openapi', 'asyncapi'] as const;
export type Contract = (typeof CONTRACTS)[number];

const REPOSITORY = path.resolve(import.meta.dirname, '..');
const CACHE = path.join(REPOSITORY, 'node_modules/.cache/offhook-contract');

/** Both documents, indented by two; starts the service once without an engine in a temporary folder. */
async function served(): Promise<Readonly<Record<Contract, string>>> {
  // Loading the service takes half a second, which a cached document avoids.
  const { readConfig } = await import('../server/src/boot/config.ts');
  const { startService } = await import('../server/src/boot/service.ts');
  const data = await fs.mkdtemp(path.join(os.tmpdir(), 'offhook-docs-'));
  const stop = new AbortController();
  try {
    await using service = await startService(
      readConfig({
        OFFHOOK_DATA: data,
        OFFHOOK_LISTEN: '127.0.0.1:0',
        OFFHOOK_ASTERISK: path.join(data, 'none'),
        OFFHOOK_LOG_LEVEL: 'silent',
      }),
      stop.signal,
      () => undefined,
    );
    const get = async (name: Contract): Promise<string> => {
      const reply = await fetch(`http://127.0.0.1:${service.address.port}/api/v1/${name}.json`);
      return `${JSON.stringify(await reply.json(), null, 2)}\n`;
    };
    return { openapi: await get('openapi'), asyncapi: await get('asyncapi') };
  } finally {
    stop.abort();
    await fs.rm(data, { recursive: true, force: true });
  }
}

/** Hash of every file the documents follow from. */
async function sourcesHash(): Promise<string> {
  const folders = ['contract', 'server/src'];
  const names = await Promise.all(
    folders.map(async (folder) =>
      (await fs.readdir(path.join(REPOSITORY, folder), { recursive: true }))
        .filter(
          (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('node_modules'),
        )
        .map((name) => path.join(folder, name)),
    ),
  );
  const hash = createHash('sha256');
  for (const name of [...names.flat().toSorted(), 'package-lock.json']) {
    hash.update(`${name}\0`).update(await fs.readFile(path.join(REPOSITORY, name)));
  }
  return hash.digest('hex').slice(0, 32);
}

let made: Promise<string> | undefined;
/** Folder with `openapi.json` and `asyncapi.json` of the current sources; generated once per state of the sources. */
export const contractFolder = (): Promise<string> => (made ??= makeFolder());
async function makeFolder(): Promise<string> {
  const folder = path.join(CACHE, await sourcesHash());
  const there = await fs.stat(folder).catch(() => null);
  if (there !== null) return folder;
  const documents = await served();
  await fs.mkdir(CACHE, { recursive: true });
  const fresh = await fs.mkdtemp(path.join(CACHE, 'new-'));
  for (const name of CONTRACTS) await fs.writeFile(path.join(fresh, `${name}.json`), documents[name]);
  try {
    await fs.rename(fresh, folder);
  } catch (error) {
    // Another process may have generated the same folder meanwhile.
    await fs.rm(fresh, { recursive: true, force: true });
    await fs.access(folder).catch(() => {
      throw error;
    });
  }
  return folder;
}
/** One of the two documents, parsed. */
export async function contractDocument<T>(name: Contract): Promise<T> {
  return JSON.parse(await fs.readFile(path.join(await contractFolder(), `${name}.json`), 'utf8')) as T;
}

const isObject = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parts a program does not see: texts, examples, and the form of error replies. */
const TEXTS = new Set([
  'default',
  'deprecated',
  'description',
  'example',
  'examples',
  'externalDocs',
  'headers',
  'info',
  'operationId',
  'security',
  'securitySchemes',
  'servers',
  'summary',
  'tags',
  'title',
]);
/** Keys whose value maps names of the contract, so that none of them is a keyword. */
const NAMED = new Set(['properties', 'schemas', 'messages', 'paths', 'parameters', 'channels', 'operations']);

/** Baseline of a release: its version and everything `contract-breaks.ts` compares. */
export function baselineOf(document: Document): string {
  const { version } = document.info as { version: string };
  return `${compact({ info: { version }, ...(pruned(document) as Document) })}\n`;
}
/** `document` without what `contract-breaks.ts` ignores. */
function pruned(document: unknown, names = false): unknown {
  if (Array.isArray(document)) return document.map((one) => pruned(one));
  if (!isObject(document)) return document;
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(document)) {
    if (!names && TEXTS.has(key)) continue;
    if (!names && key === 'responses')
      kept[key] = Object.fromEntries(
        Object.entries(isObject(value) ? value : {})
          .filter(([status]) => status.startsWith('2'))
          .map(([status, reply]) => [status, pruned(reply)]),
      );
    else kept[key] = pruned(value, !names && NAMED.has(key) && !Array.isArray(value));
  }
  return kept;
}

/** JSON with one line per field and list of values, so that the difference of two releases reads as a list of fields. */
function compact(value: unknown, indent = ''): string {
  const whole = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || whole.length + indent.length <= 120) return whole;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return whole;
  const inner = `${indent} `;
  const lines = Array.isArray(value)
    ? value.map((one) => inner + compact(one, inner))
    : Object.entries(value).map(([key, one]) => `${inner}${JSON.stringify(key)}: ${compact(one, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}
