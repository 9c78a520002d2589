import { randomBytes } from 'node:crypto';
import { types } from 'pg';
import type { ClientConfig } from 'pg';

/** Limit to open a connection or to get a free one. */
const CONNECT_MS = 1_500;
/** Limit after which the server ends a statement, and limit for a lock. */
const STATEMENT_MS = 3_000;
const LOCK_MS = 2_000;
/** Limit after which a server that did not report the end of a statement counts as lost. */
export const ANSWER_MS = 3_400;
const IDLE_TRANSACTION_MS = 60_000;

const wholeNumber = (text: string): number => {
  const n = Number(text);
  if (!Number.isSafeInteger(n)) throw new RangeError(`${text} is larger than the largest safe integer`);
  return n;
};
const bytes = types.getTypeParser(types.builtins.BYTEA) as (text: string) => Buffer;
/** Parses numbers as numbers and bytes as bytes, like the SQLite store. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, wholeNumber],
  [types.builtins.NUMERIC, Number],
  [types.builtins.BYTEA, (text) => new Uint8Array(bytes(text))],
]);

/** Name of this process among the server's sessions. */
export const applicationName = (): string => `offhook-${process.pid}-${randomBytes(4).toString('hex')}`;

/** The address for messages: without password and user name. */
export function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return `PostgreSQL at ${host || 'this machine'}${port ? `:${port}` : ''}${pathname}`;
}

/** `reading` connections cannot write with any statement. */
export function clientConfig(url: string, name: string, kind: 'reading' | 'writing'): ClientConfig {
  const address = new URL(url);
  const given = address.searchParams.get('options') ?? '';
  address.searchParams.delete('options');
  const options: Readonly<Record<string, string | number>> = {
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    // A session whose client disappeared would keep the lock of the writer.
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
    default_transaction_read_only: kind === 'reading' ? 'on' : 'off',
  };
  const own = Object.entries(options).map(([key, value]) => `-c ${key}=${value}`);
  return {
    connectionString: address.href,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    options: [given, ...own].filter(Boolean).join(' '),
    types: { getTypeParser: (oid, format) => PARSERS.get(oid) ?? types.getTypeParser(oid, format) },
  };
}
