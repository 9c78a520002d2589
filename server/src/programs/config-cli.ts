/**
 * `npm run config -- export [file] | plan <file> | apply <file>`: configuration as code, through the API of a running
 * service. The exit code is 1 if the configuration was rejected, failed or was rolled back, 2 for wrong usage.
 */
import fs from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@offhook/client/client.ts';
import type { Client } from '@offhook/client/client.ts';
import { OffhookError } from '@offhook/client/errors.ts';
import { documentField } from '@offhook/contract/config.ts';
import type { ConfigDifference, ConfigDocument, ConfigFinding } from '@offhook/contract/config.ts';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import { SETTINGS } from '../boot/settings.ts';
import { messageOf } from '../core/errors.ts';
import { readCredentials } from '../boot/credentials.ts';
import { readDocumentFile } from '../features/pbx-config/document-file.ts';
import { toYaml } from '../features/pbx-config/yaml-text.ts';

const USAGE = `Usage:
  npm run config -- export [<file>] [--draft]   what is applied (or the draft) as YAML
  npm run config -- plan <file>                 what applying the file would change
  npm run config -- apply <file> [--over-draft] make it so: tried, applied and checked, or rolled back

The service is OFFHOOK_URL, else the one of OFFHOOK_LISTEN on this machine. It is asked with OFFHOOK_API_KEY (scopes config:read
and config:write), else as the administrator of credentials.json in OFFHOOK_DATA.`;
const POLL_MS = 250;
const MAX_SHOWN = 100;
/** Number of new extensions that are listed one by one. */
const MAX_NAMED = 20;

class WrongUse extends Error {}
/** An expected failure: only its message is printed, without a stack trace. */
class Refusal extends Error {}

export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a line for people: progress and errors. */
  say(line: string): void;
  /** Prints the requested output. */
  write(text: string): void;
}
interface Session {
  readonly client: Client;
  readonly base: string;
}

function baseOf(env: CommandIo['env']): string {
  const url = env['OFFHOOK_URL'];
  if (url !== undefined && url !== '') {
    if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
    throw new WrongUse('OFFHOOK_URL: expected http(s)://host[:port]');
  }
  const { name, initial, expects } = SETTINGS.listen;
  const listen = SETTINGS.listen.parse(env[name] ?? initial);
  if (listen === undefined) throw new WrongUse(`${name}: expected ${expects}`);
  return `http://127.0.0.1:${listen.port}`;
}
async function signIn(env: CommandIo['env']): Promise<Session & AsyncDisposable> {
  const base = baseOf(env);
  const key = env['OFFHOOK_API_KEY'];
  if (key !== undefined && key !== '')
    return {
      base,
      client: createClient({ base, token: key, timeout_ms: 120_000 }),
      async [Symbol.asyncDispose]() {},
    };
  const { name, initial, expects } = SETTINGS.data;
  const data = SETTINGS.data.parse(env[name] ?? initial);
  if (data === undefined) throw new WrongUse(`${name}: expected ${expects}`);
  const admin = (await readCredentials(data)).find((c) => c.level === 'admin' && c.password !== undefined);
  if (admin?.password === undefined)
    throw new Refusal(
      `No administrator with a password is in ${data}/credentials.json: set OFFHOOK_API_KEY, or OFFHOOK_DATA`,
    );
  const client = createClient({ base, timeout_ms: 120_000 });
  await client.login({ username: admin.extension, password: admin.password, device_name: 'npm run config' });
  return { base, client, [Symbol.asyncDispose]: () => client.logout() };
}

const readDocument = async (file: string): Promise<ConfigDocument> =>
  (await readDocumentFile(file)) as ConfigDocument;

const shown = (value: unknown): string => {
  if (value === undefined) return '(default)';
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
};
const SIGN = { added: '+', changed: '~', removed: '-' } as const;
/** The differences: one line per object, with one line per field below it. */
export function* diffLines(
  differences: readonly ConfigDifference[],
  before: ConfigDocument,
  after: ConfigDocument,
): Generator<string> {
  const find = (document: ConfigDocument, { kind, key }: ConfigDifference): Record<string, unknown> => {
    const list = document[documentField(kind)];
    const objects = Array.isArray(list) ? (list as readonly Record<string, unknown>[]) : [];
    return objects.find((object) => object[CONFIG_KINDS[kind].key] === key) ?? {};
  };
  for (const difference of differences) {
    const { kind, key, pending, fields } = difference;
    yield `${SIGN[pending]} ${kind.replaceAll('_', ' ')} ${key}`;
    const [old, now] = [find(before, difference), find(after, difference)];
    for (const field of fields) yield `    ${field}: ${shown(old[field])} → ${shown(now[field])}`;
  }
}
interface Differs {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly named: readonly ConfigDifference[];
}
async function printDifferences(
  io: CommandIo,
  { client }: Session,
  differs: Differs,
  document: ConfigDocument,
): Promise<number> {
  const total = differs.added + differs.changed + differs.removed;
  if (total === 0) return 0;
  const before = await client.config.export('applied');
  for (const line of diffLines(differs.named, before, document)) io.write(`${line}\n`);
  if (differs.named.length < total) io.write(`  and ${total - differs.named.length} more\n`);
  io.say(`${differs.added} added, ${differs.changed} changed, ${differs.removed} removed.`);
  return total;
}

async function exportTo(io: CommandIo, file: string | undefined, view: 'draft' | 'applied'): Promise<number> {
  await using session = await signIn(io.env);
  const text = toYaml(await session.client.config.export(view));
  if (file === undefined) io.write(text);
  else await fs.writeFile(file, text);
  return 0;
}
async function plan(io: CommandIo, file: string): Promise<number> {
  const document = await readDocument(file);
  await using session = await signIn(io.env);
  const { differs } = await session.client.config.import(document, { dry_run: 'true' });
  if ((await printDifferences(io, session, differs, document)) === 0)
    io.say('Nothing differs from what is applied.');
  return 0;
}
async function apply(io: CommandIo, file: string, overDraft: boolean): Promise<number> {
  const document = await readDocument(file);
  await using session = await signIn(io.env);
  const { config } = session.client;
  const draft = await config.draft({ limit: 1 });
  if (draft.total > 0 && !overDraft)
    throw new Refusal(
      `The draft has ${draft.total} changes that are not applied, the first by ${draft.changes[0]!.author}: apply or discard them first, or add --over-draft`,
    );
  const taken = await config.import(document, { if_match: draft.etag });
  if ((await printDifferences(io, session, taken.differs, document)) === 0) {
    io.say('Nothing differs from what is applied.');
    return 0;
  }
  for (const { kind, key, secrets } of taken.secrets)
    for (const [name, value] of Object.entries(secrets))
      io.say(`New ${name.replaceAll('_', ' ')} of ${kind} ${key}, shown this once: ${value}`);
  const begun = await config.apply({ draft: taken.etag }).catch(async (error: unknown) => {
    await giveUp(io, session);
    throw error;
  });
  const ended = await follow(io, session, begun.apply);
  if (ended.state === 'applied') {
    io.say(`Applied${ended.version === null ? '' : ` as version ${ended.version}`}.`);
    sayWhoCannotSignIn(io, taken.differs.named);
    return 0;
  }
  io.say(`The configuration was ${wordOf(ended)}. ${ended.detail ?? ''}`.trimEnd());
  for (const { object, file: of, words } of ended.problems)
    io.say(`  ${[object, of, words].filter(Boolean).join(': ')}`);
  // After a final failure the draft is kept for inspection.
  if (ended.state !== 'failed') await giveUp(io, session);
  return 1;
}
/** A configuration contains no passwords, so a new person cannot sign in yet. */
function sayWhoCannotSignIn(io: CommandIo, changes: readonly ConfigDifference[]): void {
  const added = changes.filter(({ kind, pending }) => kind === 'extension' && pending === 'added');
  if (added.length === 0) return;
  const names = added.slice(0, MAX_NAMED).map(({ key }) => key);
  const more = added.length > names.length ? ` and ${added.length - names.length} more` : '';
  io.say(
    `Extension ${names.join(', ')}${more}: give a sign-in password on its page of the console, or with POST /api/v1/config/extensions/<extension>/credentials. The next start of the service writes one to credentials.json for each person who has none.`,
  );
}
/** The draft was empty before the import, or `--over-draft` gave it up, so discarding it loses only the import. */
async function giveUp(io: CommandIo, { client }: Session): Promise<void> {
  await client.config.discard();
  io.say('The draft is discarded; what was applied before stays.');
}

const OVER = new Set(['applied', 'rejected', 'cancelled', 'rolled_back', 'failed']);
const wordOf = ({ state }: ConfigApply): string => state.replaceAll('_', ' ');
/** Waits until the apply is over, and prints each step. */
async function follow(io: CommandIo, session: Session, begun: ConfigApply): Promise<ConfigApply> {
  let now = begun;
  for (let printed = ''; !OVER.has(now.state);) {
    if (now.state !== printed) io.say(`${wordOf(now)} …`);
    printed = now.state;
    await sleep(POLL_MS);
    now = (await session.client.config.applyState(now.id)).apply;
  }
  return now;
}
/** Returns the exit code. Never throws. */
export async function runConfigCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const [command, ...rest] = args;
  const options = rest.filter((arg) => arg.startsWith('--'));
  const files = rest.filter((arg) => !arg.startsWith('--'));
  const [file] = files;
  const only = (...known: string[]): boolean => options.every((o) => known.includes(o)) && files.length < 2;
  try {
    if (command === 'export' && only('--draft'))
      return await exportTo(io, file, options.length > 0 ? 'draft' : 'applied');
    if (command === 'plan' && file !== undefined && only()) return await plan(io, file);
    if (command === 'apply' && file !== undefined && only('--over-draft'))
      return await apply(io, file, options.length > 0);
    io.say(USAGE);
    return 2;
  } catch (error) {
    if (error instanceof OffhookError && error.problem !== null) {
      const { findings = [], findings_total = 0 } = error.problem as {
        findings?: readonly ConfigFinding[];
        findings_total?: number;
      };
      io.say(findings.length === 0 ? error.message : `${error.problem.title}:`);
      for (const { kind, key, path, detail } of findings) io.say(`  ${kind} ${key} ${path}: ${detail}`);
      if (findings_total > findings.length) io.say(`  and ${findings_total - findings.length} more`);
    } else {
      io.say(sentence(error));
    }
    return error instanceof WrongUse ? 2 : 1;
  }
}
function sentence(error: unknown): string {
  const cause = error instanceof TypeError ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `The service cannot be reached: ${messageOf(cause)}`;
}

if (import.meta.main)
  process.exitCode = await runConfigCommand(process.argv.slice(2), {
    env: process.env,
    say: (line) => console.error(line),
    write: (text) => void process.stdout.write(text),
  });
