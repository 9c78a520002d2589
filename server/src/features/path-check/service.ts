/** Runs the path check, stores the last result of each way and publishes the changes. */
import { readFile, rename, rm } from 'node:fs/promises';
import { BROWSER_WAYS, PathFinding, PathWay } from '@offhook/contract/path-check.ts';
import type {
  PathBrowserFindings,
  PathCheckReply,
  PathFault,
  PathResult,
} from '@offhook/contract/path-check.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { z } from 'zod';
import { createTable } from '../../core/schema.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { missing } from '../../core/files.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Gauges } from '../../ports/metrics.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { PathProbe } from '../../ports/paths.ts';
import type { Migration } from '../../ports/store.ts';

interface Row {
  way: PathWay;
  ok: number;
  detail: string;
  fault: PathFault | null;
  values_json: string;
  checked_ms: number;
  since_ms: number;
}
interface Tables {
  path_results: Row;
}
export const migrations: readonly Migration[] = [
  {
    id: '0150-path-results',
    async up(db) {
      await createTable(db.schema)`path_results (
        way text primary key, ok integer not null, detail text not null, fault text, values_json text not null,
        checked_ms integer not null, since_ms integer not null)`;
    },
  },
];
/** Content of the file that `npm run doctor` writes; the service reads it and deletes it. */
const CommandResults = z.object({ at: z.number(), ways: z.array(PathFinding) });
/** Interval of the service's own path check, so that a broken way is noticed without a request. */
const EVERY_MS = 3_600_000;
const isBrowserWay = (way: PathWay): boolean => BROWSER_WAYS.some((one) => one === way);
const ORDER = PathWay.options;

export interface PathCheckDeps extends Common<'clock' | 'log' | 'publish' | 'store'> {
  readonly audit: Required<Pick<Audit, 'record'>>;
  /** Null for an engine without ways, such as the simulator. */
  readonly probe: PathProbe | null;
  /** Whether the engine's link is up. */
  readonly up: () => boolean;
  /** File with the results of `npm run doctor`. */
  readonly file: string;
}

export class PathChecks {
  readonly #deps: PathCheckDeps;
  #rows: readonly Row[];
  #running: { readonly started: number; readonly found: PathFinding[] } | null = null;
  #failed: string | null = null;
  #web: readonly string[] = [];
  #work: Promise<void> = Promise.resolve();
  /** Results are stored one after the other. */
  #storing: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  private constructor(deps: PathCheckDeps, rows: readonly Row[]) {
    this.#deps = deps;
    this.#rows = rows;
  }
  /** Runs the migrations. */
  static async open(deps: PathCheckDeps): Promise<PathChecks> {
    await deps.store.migrate('path-check', migrations);
    const rows = await deps.store.db<Tables>().selectFrom('path_results').selectAll().execute();
    return new PathChecks(deps, rows);
  }

  /** Call once the service listens: starts the check at its interval. `web`: origins of the service on this machine. */
  begin(web: readonly string[]): void {
    this.#web = web;
    if (this.#deps.probe === null) return;
    const every = async (): Promise<void> => {
      for (;;) {
        await this.#deps.clock.sleep(EVERY_MS, this.#stop.signal);
        if (this.#deps.up() && this.#running === null) this.#begin(this.#deps.probe!);
      }
    };
    every().catch(() => undefined);
  }
  async state(): Promise<PathCheckReply> {
    await this.#takeIn();
    return {
      success: true,
      running: this.#running && {
        started_at: rfc3339(this.#running.started),
        done: [...new Set(this.#running.found.map(({ way }) => way))],
      },
      failed: this.#failed,
      ways: this.#rows
        .toSorted((a, b) => ORDER.indexOf(a.way) - ORDER.indexOf(b.way))
        .map(({ checked_ms, since_ms, values_json, ok, ...row }) => ({
          ...row,
          ok: ok === 1,
          values: JSON.parse(values_json) as PathResult['values'],
          checked_at: rfc3339(checked_ms),
          since: rfc3339(since_ms),
        })),
    };
  }
  /** Begins a check. Throws `check_running`, `engine_unavailable`. */
  async start(actor: Actor): Promise<PathCheckReply> {
    const { probe, up } = this.#deps;
    if (probe === null)
      throw new ServiceError('engine_unavailable', 'the path check is not available with this engine');
    if (!up()) throw new ServiceError('engine_unavailable', 'the engine is not connected');
    if (this.#running !== null)
      throw new ServiceError('check_running', 'a path check is already running', { retry_after_seconds: 5 });
    this.#begin(probe);
    await this.record(actor, 'path_check.start');
    return await this.state();
  }
  /** Stores the results of a browser. */
  async takeBrowser(actor: Actor, { findings }: PathBrowserFindings): Promise<PathCheckReply> {
    const at = this.#deps.clock.now();
    await this.#store(
      findings.map(({ fault = null, values = {}, ok, ...finding }) => ({
        ...finding,
        ok,
        fault: ok ? null : (fault ?? 'failed'),
        values,
      })),
      at,
    );
    const failed = findings.filter(({ ok }) => !ok).map(({ way }) => way);
    await this.record(actor, 'path_check.browser', { failed: failed.join(' ') });
    return await this.state();
  }
  record(actor: Actor, action: string, detail: AuditEntry['detail'] = {}): Promise<void> {
    const { caller, ip } = actor;
    return this.#deps.audit.record({
      action,
      actor: caller.username,
      object: null,
      outcome: 'ok',
      ip,
      detail,
    });
  }
  /** Finding for the health check, from the ways that the service tries itself. */
  async finding(): Promise<{ readonly ok: boolean; readonly detail: string }> {
    await this.#takeIn();
    const rows = this.#rows.filter(({ way }) => !isBrowserWay(way));
    if (rows.length === 0) return { ok: true, detail: 'not run yet: npm run doctor' };
    const failed = rows.filter(({ ok }) => ok === 0);
    const when = rfc3339(Math.max(...rows.map((row) => row.checked_ms)));
    const detail =
      failed.length === 0
        ? `all ways work (${rows.map(({ way }) => way).join(', ')}), ${when}`
        : `${failed.map((row) => `${row.way}: ${row.detail}`).join('; ')}, ${when}`;
    return { ok: failed.length === 0, detail };
  }
  gauges(to: Gauges): void {
    to.gaugeBy('offhook_path_ok', 'Whether the way worked at its last check.', 'way', () =>
      this.#rows.map(({ way, ok }) => [way, ok] as const),
    );
    to.gaugeBy(
      'offhook_path_checked_timestamp_seconds',
      'Time of the last check of the way, in seconds since 1970.',
      'way',
      () => this.#rows.map(({ way, checked_ms }) => [way, checked_ms / 1000] as const),
    );
  }
  /** Stops a running check without storing its results. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#work;
    await this.#storing;
  }

  #begin(probe: PathProbe): void {
    const running = { started: this.#deps.clock.now(), found: [] as PathFinding[] };
    this.#running = running;
    const { signal } = this.#stop;
    const work = async (): Promise<void> => {
      await probe.try({ web: this.#web, found: (finding) => running.found.push(finding), signal });
      if (signal.aborted) return;
      await this.#store(running.found, this.#deps.clock.now());
      this.#failed = null;
    };
    this.#work = this.#work
      .then(work)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.#failed = messageOf(error);
        this.#deps.log.error({ error: this.#failed }, 'the ways to the engine could not be checked');
      })
      .finally(() => (this.#running = null));
  }
  /** Stores results that `npm run doctor` wrote since the last call. */
  async #takeIn(): Promise<void> {
    const { file, log } = this.#deps;
    const mine = `${file}.taken`;
    const moved = await rename(file, mine).then(() => true, missing);
    if (moved === null) return;
    try {
      const { at, ways } = CommandResults.parse(JSON.parse(await readFile(mine, 'utf8')));
      await this.#store(ways, at);
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'results of npm run doctor cannot be read');
    } finally {
      await rm(mine, { force: true });
    }
  }
  #store(findings: readonly PathFinding[], at: number): Promise<void> {
    const stored = this.#storing.then(() => this.#replace(findings, at));
    this.#storing = stored.catch(() => undefined);
    return stored;
  }
  /**
   * A failure prevails over other results of the same way. A check by the service, as one by a browser, deletes older
   * results of its own ways that it did not try.
   */
  async #replace(findings: readonly PathFinding[], at: number): Promise<void> {
    if (findings.length === 0) return;
    const byWay = new Map<PathWay, PathFinding>();
    for (const finding of findings) if (byWay.get(finding.way)?.ok !== false) byWay.set(finding.way, finding);
    const before = new Map(this.#rows.map((row) => [row.way, row]));
    const found = [...byWay.values()].map(({ way, ok, detail, fault, values }): Row => {
      const was = before.get(way);
      const since_ms = was !== undefined && (was.ok === 1) === ok ? was.since_ms : at;
      const values_json = JSON.stringify(values);
      return { way, ok: Number(ok), detail, fault, values_json, checked_ms: at, since_ms };
    });
    const ofBrowser = isBrowserWay(found[0]!.way);
    const kept = this.#rows.filter(({ way }) => isBrowserWay(way) !== ofBrowser);
    const gone = this.#rows.filter((row) => isBrowserWay(row.way) === ofBrowser && !byWay.has(row.way));
    await this.#deps.store.transaction<Tables, void>(async (trx) => {
      const ways = [...gone, ...found].map(({ way }) => way);
      await trx.deleteFrom('path_results').where('way', 'in', ways).execute();
      await trx.insertInto('path_results').values(found).execute();
    });
    this.#rows = [...kept, ...found];
    this.#publish(found, before, at);
  }
  #publish(found: readonly Row[], before: ReadonlyMap<PathWay, Row>, at: number): void {
    const frame = { at, observed: 'live' } as const;
    const failed = found.filter(({ ok }) => ok === 0);
    const changes = found.flatMap(({ way, ok, detail, fault }): DomainEvent[] => {
      const was = before.get(way);
      const subject = `paths/${way}`;
      if (ok === 0 && was?.ok !== 0)
        return [{ ...frame, subject, type: 'path_check.way_failed', data: { way, detail, fault: fault! } }];
      if (ok === 1 && was?.ok === 0)
        return [{ ...frame, subject, type: 'path_check.way_restored', data: { way, detail } }];
      return [];
    });
    this.#deps.publish([
      ...changes,
      {
        ...frame,
        subject: 'paths',
        type: 'path_check.completed',
        data: {
          ways: found.map(({ way }) => way),
          failed: failed.map(({ way, detail, fault }) => ({ way, detail, fault: fault! })),
        },
      },
    ]);
  }
}
