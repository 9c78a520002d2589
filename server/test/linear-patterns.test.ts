import assert from 'node:assert/strict';
import { stripTypeScriptTypes } from 'node:module';
import { before, test } from 'node:test';
import { tool } from '../../tools/install.ts';
import { lineOf, readSources } from './support/sources.ts';
import type { Source } from './support/sources.ts';
import { CONTRACTS, contractDocument } from '../../tools/contract-documents.ts';

/**
 * Every regular expression takes time that grows no faster than its input: one that backtracks is how a single request
 * without a password stops the service for everybody. Proven by analysis, not by measuring.
 */

/** Allowed expressions that are not linear, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  [String.raw`/\/+$/`]: 'provision/machine.ts: the addresses of apt sources, files of root',
  [String.raw`/^([A-Za-z-]+):\s*(.*)$/`]: 'provision/machine.ts: the lines of apt sources, files of root',
  [String.raw`/NO_PUBKEY|not signed|BADSIG|EXPKEYSIG|REVKEYSIG|couldn.t be verified|could not be verified|invalid signature|not valid yet|missing key|Sub-process .*(?:gpgv|sqv)/i`]:
    "provision/apt.ts: the lines apt prints, which are the machine's own",
  [String.raw`/(?:object of type '(\w+)' with id '([^']+)'|^(?:.*)\b(endpoint|aor|auth|queue|extension|context|registration|identify) '([^']+)')/`]:
    'apply/log-words.ts: the log of the engine on trial; too many words to be analysed, one repetition that is anchored',
};
/** Files that build an expression at run time, each with the reason why it is linear. */
const BUILT: Readonly<Record<string, string>> = {
  'contract/stream.ts':
    'anchored; alternatives of fixed words with one repetition each, and proven as a pattern of the contract',
  'server/src/http/openapi-examples.ts': 'patterns of the contract, over examples we write',
  'server/src/http/route-table.ts': 'anchored; each parameter is [^/]+ between two slashes',
  'server/src/core/spreadsheet.ts': 'one class of characters',
  'server/src/features/exports/cells.ts': 'one class of characters',
  'server/src/numbers/subject.ts': 'alternatives of digits without repetition, over stored records',
  'server/src/routing/dial-pattern.ts':
    'anchored; one class for each character and at most one repetition at the end',
  'server/src/adapters/asterisk/apply/shadow.ts': 'fixed names of modules',
  'server/src/adapters/asterisk/events/names.ts': 'anchored; fixed words around one repetition',
  'server/src/adapters/asterisk/actions/customers.ts': 'anchored; bounded repetition',
  'server/src/adapters/asterisk/actions/features-store.ts': 'anchored; bounded repetitions',
};

interface Found {
  readonly source: string;
  readonly flags: string;
  readonly at: string;
}
type Parse = (text: string, options: object) => object;
type Check = (
  source: string,
  flags: string,
  options: object,
) => Promise<{ status: string; complexity?: { summary?: string; type: string }; error?: { kind: string } }>;
let parse: Parse;
let check: Check;
let files: ReturnType<typeof expressionsOf>[];
before(async () => {
  ({ parse } = (await tool('acorn')) as { parse: Parse });
  ({ check } = (await tool('recheck')) as { check: Check });
  files = (await readSources(['server/src', 'contract', 'client'], /(?<!\.test)\.ts$/)).map(expressionsOf);
});

/** Regular expression literals of a file, and the places that build one. */
function expressionsOf({ path: file, text }: Source): { literals: Found[]; built: string[] } {
  const literals: Found[] = [];
  const built: string[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) return node.forEach(walk);
    const {
      type,
      start = 0,
      regex,
      callee,
    } = node as {
      type?: string;
      start?: number;
      regex?: { pattern: string; flags: string };
      callee?: { name?: string };
    };
    const at = `${file}:${lineOf(text, start)}`;
    if (regex !== undefined && regex !== null)
      literals.push({ source: regex.pattern, flags: regex.flags, at });
    if ((type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp') built.push(at);
    Object.values(node).forEach(walk);
  };
  walk(parse(stripTypeScriptTypes(text), { ecmaVersion: 'latest', sourceType: 'module' }));
  return { literals, built };
}
/** Patterns that check requests, including those of zod. */
async function contractPatterns(): Promise<Found[]> {
  const found: Found[] = [];
  const walk = (node: unknown, at: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === 'pattern' && typeof value === 'string') found.push({ source: value, flags: 'u', at });
      walk(value, at);
    }
  };
  for (const name of CONTRACTS) walk(await contractDocument(name), name);
  return found;
}
/** One class or character, with the count behind it. */
const ATOM =
  /(\\[pPu]\{[^}]*\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^()[\]{}|*+?^$\\])(?:\{(\d+)(?:,\d*)?\})?/g;
/**
 * The expression with `+` or `*` for every count of one class or character. Each way in which the expression matches a text is
 * another way in which this one does, so it is linear where this one is; a proof with counts takes a state for each number.
 */
const withoutCounts = (source: string): string =>
  source.replaceAll(ATOM, (whole, one: string, least: string | undefined) =>
    least === undefined || /^\\[1-9k]/.test(one) ? whole : `${one}${Number(least) > 0 ? '+' : '*'}`,
  );
/**
 * The search for an attack string ends by counts of characters alone, because one that ran out of time on a busy machine named
 * expressions that it else did not. What it finds counts without being timed.
 */
const BY_COUNTS = {
  timeout: null,
  randomSeed: 1,
  seedingTimeout: null,
  incubationTimeout: null,
  mutationTimeout: null,
  attackTimeout: null,
  recallTimeout: -1,
};
/** The fault of an expression, or null. */
async function faultOf({ source, flags }: Found): Promise<string | null> {
  const with_ = (text: string, checker: 'automaton' | 'fuzz') =>
    check(text, flags, { checker, ...BY_COUNTS });
  const wider = withoutCounts(source);
  if (wider !== source && (await with_(wider, 'automaton')).status === 'safe') return null;
  const proof = await with_(source, 'automaton');
  // An expression with lookaround is no automaton, so the tool searches for an attack string.
  const { status, complexity, error } =
    proof.error?.kind === 'unsupported' ? await with_(source, 'fuzz') : proof;
  return status === 'safe' ? null : (complexity?.summary ?? complexity?.type ?? error?.kind ?? status);
}

test('patterns - every regular expression of server, contract and client is linear', async () => {
  const byText = new Map<string, Found>();
  for (const found of [...files.flatMap(({ literals }) => literals), ...(await contractPatterns())]) {
    const text = `/${found.source}/${found.flags}`;
    byText.set(text, byText.get(text) ?? found);
  }
  assert.ok(
    byText.size > 200,
    `only ${byText.size} expressions were found: the test looks in the wrong place`,
  );
  const left = [...byText];
  const faults: string[] = [];
  const work = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [text, found] = next;
      if (text in EXCEPTIONS) continue;
      const fault = await faultOf(found);
      if (fault !== null) faults.push(`${found.at} ${text}: ${fault}`);
    }
  };
  await Promise.all([work(), work()]);
  assert.deepEqual(faults, []);
  const gone = Object.keys(EXCEPTIONS).filter((text) => !byText.has(text));
  assert.deepEqual(gone, [], 'an exception is of no expression');
});

test('patterns - an expression is built only where the list says why it is linear', () => {
  const places = new Set(files.flatMap(({ built }) => built).map((at) => at.replace(/:\d+$/, '')));
  assert.deepEqual([...places].toSorted(), Object.keys(BUILT).toSorted());
});

test('patterns - counts are left out only where the expression stays as hard', async () => {
  assert.equal(
    withoutCounts(String.raw`^\d{2}[\w\]-]{0,8}(?:ab{1,3}){2,4}\p{L}{3}\1{2}\u0041{2}\x41{2}a\{2}[a{2}]$`),
    String.raw`^\d+[\w\]-]*(?:ab+){2,4}\p{L}+\1{2}\u0041+\x41+a\{2}[a{2}]$`,
  );
  const hard = { flags: '', at: 'x' };
  assert.notEqual(await faultOf({ ...hard, source: '^(?:a{1,3})*$' }), null);
  assert.equal(await faultOf({ ...hard, source: '^a{1,30}b{1,30}$' }), null);
});

test('patterns - the check sees what it forbids', async () => {
  const text =
    "const a = (x: string): RegExp => /\\[.*\\]$/g;\nexport const b = RegExp('x'); const c = /^a+$/;";
  const { literals, built } = expressionsOf({ path: 'a.ts', text });
  assert.deepEqual(
    literals.map(({ at }) => at),
    ['a.ts:1', 'a.ts:2'],
  );
  assert.deepEqual(built, ['a.ts:2']);
  assert.notEqual(await faultOf(literals[0]!), null);
  assert.equal(await faultOf(literals[1]!), null);
});
