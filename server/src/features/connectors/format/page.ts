import type { ConnectorDocument } from './file.ts';

/** Normal form of an http(s) address of at most 2,000 characters; undefined for any other value. */
export function pageOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
  const { protocol, href } = new URL(value);
  return (protocol === 'http:' || protocol === 'https:') && href.length <= 2_000 ? href : undefined;
}
/** A value encoded as one segment of a path; throws for a value that would change the path. */
export function partOf(value: string): string {
  // An empty segment would address the collection instead of one of its members.
  if (value === '' || /^\.{1,2}$/.test(value))
    throw new Error(`the value ${JSON.stringify(value)} is not allowed in a path`);
  return encodeURIComponent(value.toWellFormed());
}
/** Faults in the settings of a host: it is one setting with `url: true`, or contains settings with a `pattern`. */
export function* hostRules(
  host: string,
  settings: ConnectorDocument['settings'],
): Generator<{ setting: string | null; reason: string }> {
  const used = [...host.matchAll(/\{\{\s*set\.([a-z0-9_]+)\s*\}\}/g)].map(([, name = '']) => name);
  const whole = used.length === 1 && /^\{\{[^{}]*\}\}$/.test(host.trim());
  if (!whole && !/^https?:\/\//.test(host))
    yield { setting: null, reason: 'must begin with https:// or be one setting with `url: true`' };
  for (const setting of used) {
    const { url, pattern } = settings[setting] ?? {};
    if (settings[setting] === undefined || (whole ? url : pattern !== undefined)) continue;
    yield {
      setting,
      reason: whole ? 'is the base: it needs `url: true`' : 'is a part of the base: it needs a `pattern`',
    };
  }
}
