import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { openTestStore } from './test-store.ts';
import { silent } from '../../src/core/log.ts';
import type { Log } from '../../src/core/log.ts';
import { auditOperations } from '../../src/features/audit/operations.ts';
import { createAudit } from '../../src/features/audit/service.ts';
import type { AuditTrail } from '../../src/features/audit/service.ts';
import type { App } from '../../src/ports/http.ts';
import { frontDoorOperations, frontDoorRoutes } from '../../src/features/front-door/routes.ts';
import { peopleOperations } from '../../src/features/sessions/people-operations.ts';
import { sessionOperations } from '../../src/features/sessions/operations.ts';
import { Sessions } from '../../src/features/sessions/service.ts';
import { healthOperations } from '../../src/http/health.ts';
import type { Check } from '../../src/http/health.ts';
import { createHost } from '../../src/http/host.ts';
import type { Host, HostOptions } from '../../src/http/host.ts';
import { createIdempotencyStore } from '../../src/http/idempotency.ts';
import { addOperations } from '../../src/http/operations.ts';
import { sipRelayRoutes } from '../../src/http/sip-relay.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { SipCalls } from '../../src/ports/sip.ts';
import type { Store } from '../../src/ports/store.ts';
import { directoryFixture } from './directory-fixture.ts';
import type { DirectoryFixture } from './directory-fixture.ts';

/** No phone is ever in a call. */
export const noSipCalls: SipCalls = { mayTalk: () => false, endOver: () => Promise.resolve() };

/** A clock that only `advance` moves. */
export interface ManualClock extends Clock {
  advance(ms: number): void;
}
export function manualClock(start = Date.UTC(2026, 10, 21, 12)): ManualClock {
  let now = start;
  return {
    now: () => now,
    sleep: () => Promise.reject(new Error('nothing sleeps by the manual clock')),
    advance(ms) {
      now += ms;
    },
  };
}

export interface Site {
  readonly host: Host;
  readonly sessions: Sessions;
  readonly audit: AuditTrail;
  readonly directory: DirectoryFixture;
  readonly clock: ManualClock;
  readonly store: Store;
  readonly log: readonly { level: string; fields: object; message: string }[];
  /** Signs in with the fixture password; returns the token. */
  signIn(extension: string): Promise<string>;
  /** Opens the same site again on the same database. */
  reopen(): Promise<Site>;
  close(): Promise<void>;
}
/** Password of every person in the fixture. */
export const passwordOf = (extension: string): string => `correct horse ${extension}`;

export interface SiteOptions extends Partial<Omit<HostOptions, 'config'>> {
  readonly config?: Partial<HostOptions['config']>;
  readonly checks?: readonly Check[];
  readonly sipPort?: () => number | null;
  readonly engineUp?: () => boolean;
  readonly requiresFactor?: (level: PersonLevel) => boolean;
  /** Routes of the feature under test. */
  readonly routes?: (app: App) => void;
  /** Wraps the store, to make it fail. */
  readonly wrapStore?: (store: Store) => Store;
}

/** A whole site without an engine: host, sessions, audit trail, front door and health on a new database. */
export async function siteFixture(options: SiteOptions = {}): Promise<Site> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-site-'));
  const site = await openSite(folder, options, directoryFixture(), manualClock());
  for (const { id, extension } of site.directory.people()) {
    // In sequence: each one takes both cores for a moment.
    await site.sessions.setPassword(id, passwordOf(extension));
  }
  return site;
}
async function openSite(
  folder: string,
  options: SiteOptions,
  directory: DirectoryFixture,
  clock: ManualClock,
): Promise<Site> {
  const entries: { level: string; fields: object; message: string }[] = [];
  const log = options.log ?? recordingLog(entries);
  const plain = await openTestStore(path.join(folder, 'offhook.db'), { log: silent });
  const store = options.wrapStore?.(plain) ?? plain;
  const audit = await createAudit(store, clock, log, directory);
  const config = {
    sessionIdleSeconds: 43_200,
    sessionAbsoluteSeconds: 2_592_000,
    sipListen: { host: '127.0.0.1', port: 5060 },
    siteTitle: 'Test & Co',
    corsOrigins: ['https://crm.example.com'],
    publicUrl: '',
    trustProxy: [],
    ...options.config,
  };
  const deps = { store, clock, directory, audit, log };
  const { requiresFactor } = options;
  const sessions = await Sessions.open({
    ...deps,
    config,
    sipKey: Buffer.alloc(32, 7),
    ...(requiresFactor === undefined ? {} : { requiresFactor }),
  });
  const host = await createHost({
    version: '0.0.0-test',
    authenticator: sessions,
    confirmed: ({ session_id }) => sessions.confirmation.proven(session_id),
    idempotency: await createIdempotencyStore(store, clock, Buffer.alloc(32, 7)),
    ...options,
    log,
    config,
  });
  const engineUp = options.engineUp ?? (() => false);
  const { signIn, session } = sessionOperations({
    sessions,
    directory,
    config,
    turn: { network: () => ({ turn_port: null, turn_tls_port: null }), secret: '', now: () => clock.now() },
  });
  addOperations(host.app, [
    signIn,
    session,
    peopleOperations(sessions.others, sessions.codes),
    auditOperations(audit),
    frontDoorOperations({ config, version: '0.0.0-test', clock }),
    healthOperations({ metrics: host.metrics, engineUp, checks: options.checks ?? [] }),
  ]);
  frontDoorRoutes(host.app, { config });
  sipRelayRoutes(host.app, {
    port: options.sipPort ?? (() => null),
    credentials: sessions.sip,
    calls: noSipCalls,
    log,
  });
  options.routes?.(host.app);
  await host.app.ready();
  const shut = async (): Promise<void> => {
    await host.close();
    await sessions.close();
    await audit.close();
    await store.close();
  };
  return {
    host,
    sessions,
    audit,
    directory,
    clock,
    store,
    log: entries,
    async signIn(extension) {
      const issued = await sessions.login({
        name: extension,
        password: passwordOf(extension),
        ip: '192.0.2.1',
      });
      return issued.token;
    },
    async reopen() {
      await shut();
      return openSite(folder, options, directory, clock);
    },
    async close() {
      await shut();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
function recordingLog(entries: { level: string; fields: object; message: string }[]): Log {
  const at = (level: string) => (fields: object, message: string) =>
    void entries.push({ level, fields, message });
  const log: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  return log;
}
