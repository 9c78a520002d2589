import { randomBytes } from 'node:crypto';
import { types } from 'pg';
import type { ClientConfig } from 'pg';

/** How long a connection may take to come about, or to be free. */
const CONNECT_MS = 1_500;
/** How long one statement may take before the server ends it, and how long it may wait for a lock. */
const STATEMENT_MS = 3_000;
const LOCK_MS = 2_000;
/** After this a server that did not even say that it ended the statement counts as lost. */
export const ANSWER_MS = 3_400;
const IDLE_TRANSACTION_MS = 60_000;

const wholeNumber = (text: string): number => {
  const n = Number(text);
  if (!Number.isSafeInteger(n)) throw new RangeError(`${text} is more than a number can hold`);
  return n;
};
const bytes = types.getTypeParser(types.builtins.BYTEA) as (text: string) => Buffer;
/** Numbers are numbers and bytes are bytes, as in the other store. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, wholeNumber],
  [types.builtins.NUMERIC, Number],
  [types.builtins.BYTEA, (text) => new Uint8Array(bytes(text))],
]);

/** Names this process among the sessions of the server. */
export const applicationName = (): string => `offhook-${process.pid}-${randomBytes(4).toString('hex')}`;

/** The address as messages may show it: never with the password or the person's name. */
export function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return `PostgreSQL at ${host || 'this machine'}${port ? `:${port}` : ''}${pathname}`;
}

/** `reading` connections cannot write, whatever statement they are given. */
export function clientConfig(url: string, name: string, kind: 'reading' | 'writing'): ClientConfig {
  const address = new URL(url);
  const given = address.searchParams.get('options') ?? '';
  address.searchParams.delete('options');
  const options: Readonly<Record<string, string | number>> = {
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    // A session whose client is gone without a word would keep the lock of the one writer.
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
