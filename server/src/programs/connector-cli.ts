/**
 * `npm run connector -- check <file> | try <file> <verb> …`: checks a connector file, and runs its verbs against the
 * live system. The exit code is 1 if the file is wrong or the verb failed, 2 for wrong usage.
 */
import fs from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { parseDocument, stringify } from 'yaml';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import { loadConnector } from '../features/connectors/format/load.ts';
import type { ConnectorFile } from '../features/connectors/format/load.ts';
import { playPairs, recordStep } from '../features/connectors/format/pairs.ts';
import type { TracedExchange } from '../features/connectors/format/requests.ts';
import { openConnector } from '../features/connectors/format/session.ts';
import { readSettings } from '../features/connectors/format/settings.ts';
import { STEPS, runStep } from '../features/connectors/format/verbs.ts';
import type { Step } from '../features/connectors/format/verbs.ts';
import { createGuard } from '../outbound/address-guard.ts';
import { Transport, createResolve } from '../outbound/transport.ts';

const USAGE = `Usage:
  npm run connector -- check <file>                   schema, expressions, and the recorded pairs beside it
  npm run connector -- try <file> check               is the system there, and the sign-in accepted?
  npm run connector -- try <file> lookup +4930901820  customers of a number
  npm run connector -- try <file> text "anna"         customers of a text
  npm run connector -- try <file> create +49… "Anna"  creates a customer
  npm run connector -- try <file> entry               creates, finds, updates and removes an entry of a sample call,
                                                      and attaches a sample recording
  npm run connector -- try <file> users | sync | push.ringing | pop.show | entry.create …

Options of try:
  --allow <host>    an address that is not public, e.g. 127.0.0.1; can be repeated
  --customer <id>   customer of the entry;  --user <id> their user;  --id <id> the entry
  --attached <id>   the attached recording;  --pushed <id> the live call there
  --cursor <text>   where a sync goes on
  --record          adds the requests and answers to <name>.test.yaml beside the file

Each setting is read from CONNECTOR_<SETTING> in the environment. Requests and answers are printed without secrets.`;
const SHOWN = 2_000;
/** Steps of `try … entry`, in their order. */
const ENTRY_STEPS = ['create', 'find', 'update', 'attach', 'attach.find', 'attach.remove', 'remove'] as const;

export interface ConnectorIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  write(line: string): void;
}
class WrongUse extends Error {}

const pairsFile = (file: string): string => file.replace(/\.ya?ml$/, '.test.yaml');
const readIfThere = (file: string): Promise<string | null> => fs.readFile(file, 'utf8').catch(() => null);

async function load(name: string, io: ConnectorIo): Promise<ConnectorFile | null> {
  const { file, findings } = loadConnector(await fs.readFile(name, 'utf8'));
  for (const { path, line, rule, reason } of findings)
    io.write(
      `${name}${line === null ? '' : `:${line}`}: ${path === '' ? '' : `${path}: `}${reason} [${rule}]`,
    );
  return file;
}
const verbsOf = (file: ConnectorFile): string =>
  [
    'check',
    file.lookup && 'lookup',
    file.lookup_text && 'text',
    file.create && 'create',
    file.users && 'users',
    file.entry && `entry (once: ${file.document.entry?.once})`,
    file.entry?.attach && `entry.attach (once: ${file.document.entry?.attach?.once})`,
    ...Object.keys(file.push ?? {}).map((kind) => `push.${kind}`),
    file.server_pop && 'pop.show',
    file.sync && 'sync',
  ]
    .filter((verb) => verb !== undefined)
    .join(', ');

async function check(name: string, io: ConnectorIo): Promise<number> {
  const file = await load(name, io);
  if (file === null) return 1;
  const pairs = await readIfThere(pairsFile(name));
  const wrong = pairs === null ? [] : await playPairs(file, pairs, systemClock);
  for (const line of wrong) io.write(`${pairsFile(name)}: ${line}`);
  if (wrong.length > 0) return 1;
  io.write(`${file.document.name}: ${verbsOf(file)}`);
  io.write(
    pairs === null ? 'No recorded pairs: try … --record writes them' : 'The recorded pairs are as they were',
  );
  if (file.document.tried === 'documentation')
    io.write('Written after the documentation, not tried against the real system');
  return 0;
}

/** Settings of a file from the environment. */
function settingsOf(file: ConnectorFile, env: ConnectorIo['env']): Record<string, string> {
  const variable = (name: string): string => `CONNECTOR_${name.toUpperCase()}`;
  const given = Object.keys(file.document.settings).flatMap((name) => {
    const value = env[variable(name)];
    return value === undefined ? [] : [[name, value] as const];
  });
  const { findings } = readSettings(file.document, Object.fromEntries(given));
  const reasons = findings.map(({ setting, reason }) => `${variable(setting)} ${reason}`);
  if (reasons.length > 0) throw new WrongUse(reasons.join('\n'));
  return Object.fromEntries(given);
}
const cut = (text: string): string =>
  text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text;
function print(
  { method, url, body, status, answer, reason, latency_ms }: TracedExchange,
  io: ConnectorIo,
): void {
  io.write(`→ ${method} ${url}`);
  if (body !== null) io.write(`  ${cut(body)}`);
  io.write(`← ${status ?? 'no answer'}${reason === null ? '' : `: ${reason}`} (${latency_ms} ms)`);
  if (answer !== '') io.write(`  ${cut(answer)}`);
}

/** Whether the file has the request of a step of an entry. */
function hasStep({ entry }: ConnectorFile, step: string): boolean {
  const [, name, part] = step.split('.');
  const request = entry?.[name as 'attach'];
  return part === undefined ? request !== undefined : request?.[part as 'find'] !== undefined;
}
/** The steps of a verb of the command line; those of `entry` use the id that the entry got last. */
function stepsOf(verb: string, words: readonly string[], options: Partial<Step>): Step[] {
  const [first, second] = words;
  if (verb === 'lookup') return [{ do: verb, number: first }];
  if (verb === 'text') return [{ do: verb, text: first }];
  if (verb === 'create') return [{ do: verb, number: first, name: second, user: options.user }];
  if (verb === 'sync') return [{ do: verb, cursor: options.cursor }];
  if (verb === 'entry') return ENTRY_STEPS.map((part) => ({ do: `entry.${part}`, ...options }));
  if (!(STEPS as readonly string[]).includes(verb)) throw new WrongUse(`${verb}: not a verb`);
  return [{ do: verb, ...options }];
}

async function tryFile(
  name: string,
  verb: string,
  words: readonly string[],
  options: TryOptions,
  io: ConnectorIo,
): Promise<number> {
  const file = await load(name, io);
  if (file === null) return 1;
  const settings = settingsOf(file, io.env);
  const { customer, user, id, cursor, pushed } = options;
  const steps = stepsOf(verb, words, { customer, user, id, cursor, pushed });
  const traced: TracedExchange[] = [];
  const transport = new Transport({
    guard: createGuard(options.allow ?? []),
    clock: systemClock,
    resolve: createResolve(),
  });
  const session = openConnector(file, settings, {
    send: (request, signal) => transport.send(request, signal),
    clock: systemClock,
    trace: (exchange) => {
      traced.push(exchange);
      print(exchange, io);
    },
    missed: (reason) => io.write(`  no value: ${reason}`),
    warn: (words) => io.write(`  ${words}`),
  });
  const recorded: object[] = [];
  let entry = id;
  let { attached } = options;
  try {
    for (const step of steps) {
      const given: Step = {
        ...step,
        ...(step.do !== 'entry.create' && entry !== undefined && { id: entry }),
        ...(step.do === 'entry.attach.remove' && attached !== undefined && { attached }),
      };
      if (verb === 'entry' && !hasStep(file, step.do)) continue;
      traced.length = 0;
      io.write(`${step.do}:`);
      const result = await runStep(session, given, new AbortController().signal);
      io.write(`= ${cut(JSON.stringify(result))}`);
      recorded.push(recordStep(given, traced, result));
      if (result.kind !== 'done') {
        if (/is not a public address/.test(result.words)) io.write('Here --allow <host> allows it.');
        return 1;
      }
      if (step.do === 'entry.create' || step.do === 'entry.update')
        entry = (result.value as { readonly id: string }).id;
      if (step.do === 'entry.attach') attached = (result.value as { readonly id: string }).id;
    }
    return 0;
  } finally {
    transport.close();
    if (options.record) await record(pairsFile(name), file, settings, recorded, io);
  }
}

/** Adds steps to the pairs of a file, in place of earlier ones of the same verb. */
async function record(
  name: string,
  file: ConnectorFile,
  settings: Record<string, string>,
  steps: readonly object[],
  io: ConnectorIo,
): Promise<void> {
  const secret = (setting: string): boolean => file.document.settings[setting]?.secret === true;
  const shown = Object.entries(settings).map(([setting, value]) => [
    setting,
    secret(setting) ? `recorded-${setting}` : value,
  ]);
  const before = (parseDocument((await readIfThere(name)) ?? '').toJS() ?? {}) as {
    readonly steps?: readonly Step[];
  };
  const verbs = new Set(steps.map((step) => (step as Step).do));
  const kept = (before.steps ?? []).filter((step) => !verbs.has(step.do));
  const pairs = JSON.parse(
    JSON.stringify({ settings: Object.fromEntries(shown) as object, steps: [...kept, ...steps] }),
  ) as object;
  await fs.writeFile(name, stringify(pairs, { lineWidth: 0 }));
  io.write(`Recorded in ${name}: take out what names real people before it is published`);
}

interface TryOptions {
  readonly allow?: readonly string[] | undefined;
  readonly customer?: string | undefined;
  readonly user?: string | undefined;
  readonly id?: string | undefined;
  readonly attached?: string | undefined;
  readonly pushed?: string | undefined;
  readonly cursor?: string | undefined;
  readonly record?: boolean | undefined;
}
export async function runConnectorCommand(args: readonly string[], io: ConnectorIo): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        allow: { type: 'string', multiple: true },
        customer: { type: 'string' },
        user: { type: 'string' },
        id: { type: 'string' },
        attached: { type: 'string' },
        pushed: { type: 'string' },
        cursor: { type: 'string' },
        record: { type: 'boolean' },
      },
    });
    const [command, file, verb, ...words] = positionals;
    if (command === 'check' && file !== undefined && verb === undefined) return await check(file, io);
    if (command === 'try' && file !== undefined && verb !== undefined)
      return await tryFile(file, verb, words, values, io);
    throw new WrongUse(USAGE);
  } catch (error) {
    io.write(messageOf(error));
    const { code = '' } = error as NodeJS.ErrnoException;
    return error instanceof WrongUse || code.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
  }
}

if (import.meta.main)
  process.exitCode = await runConnectorCommand(process.argv.slice(2), {
    env: process.env,
    write: (line) => console.log(line),
  });
