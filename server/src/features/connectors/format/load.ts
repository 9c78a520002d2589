import { LineCounter, isNode, isScalar, parseDocument, visit } from 'yaml';
import type { ParsedNode } from 'yaml';
import type { z } from 'zod';
import { compileDocument } from './compile-document.ts';
import { Compiler } from './compile.ts';
import type { ConnectorFile, Path } from './compile.ts';
import { ConnectorDocument } from './file.ts';
import { hostRules } from './page.ts';

export { PUSH_KINDS } from './compile.ts';
export type { ConnectorFile, PushKind } from './compile.ts';

export const MAX_FILE_BYTES = 65_536;
/** Limit of findings, so that a hostile file costs no more than a page of them. */
const MAX_FINDINGS = 50;
/** Limits of a file with its aliases expanded; an alias may be inside its own anchor, which makes it endless. */
const MAX_ALIASES = 50;
const MAX_DEPTH = 32;
const MAX_VALUES = 5_000;
/** Limit of keys in the path of a finding. */
const MAX_PATH = 4;
const TOO_DEEP = `maps and lists are nested ${MAX_DEPTH} levels deep at most`;
const TOO_MANY = `a file has ${MAX_VALUES} values at most, counting those that an alias repeats`;

/** A fault in a file. */
export interface ConnectorFinding {
  /** Path of the fault, e.g. `entry.create.body.subject`; empty for the complete file. */
  readonly path: string;
  readonly line: number | null;
  readonly rule: string;
  readonly reason: string;
}
export type LoadedConnector =
  | { readonly file: ConnectorFile; readonly findings: readonly [] }
  | { readonly file: null; readonly findings: readonly ConnectorFinding[] };

const pathText = (path: Path): string => path.map(String).join('.');
/** Reasons why the schema refused a value; for a union those of its best member, because the union names no remedy. */
function* issuesOf(
  issues: readonly z.core.$ZodIssue[],
  above: Path = [],
): Generator<{ path: Path; reason: string }> {
  for (const issue of issues) {
    const path = [...above, ...issue.path.map((key) => (typeof key === 'number' ? key : String(key)))];
    if (issue.code === 'invalid_key') yield { path, reason: issue.issues[0]?.message ?? issue.message };
    else if (issue.code !== 'invalid_union') yield { path, reason: issue.message };
    else {
      // Most likely the author meant the member with the fewest issues, and among these the one with the deepest issue.
      const meant = issue.errors.toSorted((a, b) => a.length - b.length || depthOf(b) - depthOf(a))[0];
      if (meant && meant.length > 0) yield* issuesOf(meant, path);
      else yield { path, reason: issue.message };
    }
  }
}
const depthOf = (issues: readonly z.core.$ZodIssue[]): number =>
  Math.max(0, ...issues.map(({ path }) => path.length));

/** Faults in the address of an OAuth2 endpoint: its host must be a text of the file or come from checked settings. */
function* addressRules(
  address: string | undefined,
  settings: ConnectorDocument['settings'],
): Generator<{ setting: string | null; reason: string }> {
  if (address === undefined) return;
  const [host] = /^(?:https:\/\/[^/?#]+|\{\{\s*set\.[a-z0-9_]+\s*\}\})/.exec(address) ?? [];
  if (host === undefined) yield { setting: null, reason: 'must begin with https:// or a setting' };
  else yield* hostRules(host, settings);
}
/** Rules that the schema cannot express: settings in addresses, and members that need another member. */
function* houseRules(document: ConnectorDocument): Generator<{ path: Path; rule: string; reason: string }> {
  const { base, settings } = document;
  for (const { setting, reason } of hostRules(base, settings))
    yield { path: setting === null ? ['base'] : ['settings', setting], rule: 'base', reason };
  if (document.auth !== undefined && 'oauth2' in document.auth) {
    const { oauth2 } = document.auth;
    for (const name of ['token', 'authorize'] as const)
      for (const { setting, reason } of addressRules(oauth2[name], settings))
        yield {
          path: setting === null ? ['auth', 'oauth2', name] : ['settings', setting],
          rule: 'base',
          reason,
        };
    const needed = {
      code: 'authorize',
      refresh: 'refresh_token',
      client_credentials: 'client_secret',
    } as const;
    if (oauth2[needed[oauth2.grant]] === undefined)
      yield {
        path: ['auth', 'oauth2'],
        rule: 'schema',
        reason: `grant: ${oauth2.grant} needs ${needed[oauth2.grant]}`,
      };
  }
  for (const [n, on] of (document.inbox?.on ?? []).entries()) {
    const path = ['inbox', 'on', n];
    if (on.do === 'call' && (on.person === undefined) === (on.user === undefined))
      yield { path, rule: 'schema', reason: 'a call needs either person or user' };
    if (on.do === 'call' && on.user !== undefined && document.users === undefined)
      yield { path, rule: 'schema', reason: 'user needs `users`' };
  }
  if (document.entry?.attach !== undefined && document.entry.create.id === undefined)
    yield { path: ['entry', 'attach'], rule: 'schema', reason: 'needs `entry.create.id`' };
  if ((document.lookup ?? document.create ?? document.sync) !== undefined && document.customer === undefined)
    yield {
      path: ['customer'],
      rule: 'schema',
      reason: 'lookup, create and sync need the fields of a customer',
    };
  for (const [name, { pattern }] of Object.entries(settings))
    if (pattern !== undefined && !/^[A-Za-z0-9._-]+$/.test(pattern))
      yield {
        path: ['settings', name, 'pattern'],
        rule: 'schema',
        reason: 'must be a list of letters and ranges such as a-z0-9-',
      };
}

/** First duplicate key of a map, or the first alias beyond the limit, with its position; null if there is none. */
function structureMistake(
  contents: ParsedNode | null,
): { readonly reason: string; readonly at: number } | null {
  let mistake: { reason: string; at: number } | null = null;
  let aliases = 0;
  visit(contents, {
    // The parser looks for the anchor of each alias in the whole file.
    Alias(_key, { range }) {
      aliases += 1;
      if (aliases <= MAX_ALIASES) return undefined;
      mistake = { reason: `a file must have at most ${MAX_ALIASES} aliases`, at: range?.[0] ?? 0 };
      return visit.BREAK;
    },
    Map(_key, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name)) {
          mistake = { reason: `the key ${name} occurs twice`, at: key.range?.[0] ?? 0 };
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return mistake;
}

/**
 * First map or list that exceeds the limits of a file, with the beginning of its path. Each one is measured once, even
 * if several aliases repeat it.
 */
function excessOf(root: unknown): { readonly path: Path; readonly reason: string } | null {
  const known = new Map<object, { height: number; values: number }>();
  const path: string[] = [];
  let reason: string | null = null;
  const measure = (value: unknown): { height: number; values: number } => {
    if (typeof value !== 'object' || value === null) return { height: 0, values: 1 };
    const size = known.get(value) ?? { height: 1, values: 1 };
    if (!known.has(value) && path.length < MAX_DEPTH)
      for (const [key, below] of Object.entries(value)) {
        path.push(key);
        const { height, values } = measure(below);
        if (reason !== null) return size;
        size.height = Math.max(size.height, 1 + height);
        size.values += values;
        if (size.values > MAX_VALUES) reason = TOO_MANY;
        if (reason !== null) return size;
        path.pop();
      }
    if (path.length + size.height > MAX_DEPTH) reason = TOO_DEEP;
    known.set(value, size);
    return size;
  };
  measure(root);
  return reason === null ? null : { path: path.slice(0, MAX_PATH), reason };
}

/** Reads and compiles a connector file, or returns all findings about it. */
export function loadConnector(text: string): LoadedConnector {
  const findings: ConnectorFinding[] = [];
  const counter = new LineCounter();
  const refused = (reason: string, line: number | null = null): LoadedConnector => ({
    file: null,
    findings: [{ path: '', line, rule: 'yaml', reason }],
  });
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) return refused(`a file has ${MAX_FILE_BYTES} bytes at most`);
  const parsed = parseDocument(text, {
    schema: 'core',
    // The parser compares each key with all before it; `structureMistake` looks each up once.
    uniqueKeys: false,
    lineCounter: counter,
    // Pretty errors would read the whole file again for each error.
    prettyErrors: false,
    logLevel: 'error',
  });
  const [wrong] = parsed.errors;
  if (wrong) {
    const isDeep = wrong.code === 'RESOURCE_EXHAUSTION';
    return refused(isDeep ? TOO_DEEP : wrong.message, counter.linePos(wrong.pos[0]).line);
  }
  const mistake = structureMistake(parsed.contents);
  if (mistake) return refused(mistake.reason, counter.linePos(mistake.at).line);
  // `excessOf` counts what aliases repeat.
  const raw: unknown = parsed.toJS({ maxAliasCount: -1 });
  const found = (path: Path, rule: string, reason: string): void => {
    if (findings.length >= MAX_FINDINGS) return;
    let line: number | null = null;
    for (let depth = path.length; depth > 0 && line === null; depth--) {
      const node = parsed.getIn(path.slice(0, depth), true);
      const start = isNode(node) ? node.range?.[0] : undefined;
      if (start !== undefined) line = counter.linePos(start).line;
    }
    findings.push({ path: pathText(path), line, rule, reason });
  };
  const excess = excessOf(raw);
  if (excess) {
    found(excess.path, 'yaml', excess.reason);
    return { file: null, findings };
  }
  const checked = ConnectorDocument.safeParse(raw);
  if (!checked.success) {
    for (const { path, reason } of issuesOf(checked.error.issues)) found(path, 'schema', reason);
    return { file: null, findings };
  }
  const document = checked.data;
  for (const { path, rule, reason } of houseRules(document)) found(path, rule, reason);
  const file = compileDocument(document, new Compiler(document.settings, found));
  return findings.length > 0 ? { file: null, findings } : { file, findings: [] };
}
