import { PHONEBOOK_SOURCE } from '@offhook/contract/phonebook.ts';
import { MAX_PHONEBOOK_SOURCES } from '@offhook/contract/phonebook-sources.ts';
import type {
  NewPhonebookSource,
  PhonebookSource,
  PhonebookSourceChange,
} from '@offhook/contract/phonebook-sources.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import { Queue } from '../../../core/queue.ts';
import { say } from '../../../core/said.ts';
import type { Guard } from '../../../outbound/address-guard.ts';
import { SyncSchedule } from '../../../outbound/sync-schedule.ts';
import type { SyncStop } from '../../../outbound/sync-schedule.ts';
import { createResolve, Transport } from '../../../outbound/transport.ts';
import type { Audit, AuditEntry } from '../../../ports/audit.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Actor } from '../../../ports/operations.ts';
import type { Store } from '../../../ports/store.ts';
import type { LineSources } from '../sources.ts';
import { checkLdap, readLdap } from './ldap.ts';
import type { SourceConfig, SourcePart } from './reader.ts';
import { createSourceStore } from './store.ts';
import type { Also, SourceEnd, SourceRow, SourceStore } from './store.ts';

export interface PhonebookSourceOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Pick<Required<Audit>, 'record' | 'recordIn'>;
  readonly customers: LineSources;
  /** The guard of the webhooks, whose settings can allow private addresses. */
  readonly guard: Guard;
}
interface Open {
  readonly row: SourceRow;
  /** Null where it is disabled. */
  readonly schedule: SyncSchedule<SourceEnd> | null;
}
const STOP_GRACE_MS = 2_000;
const sourceOf = (id: number): string => `${PHONEBOOK_SOURCE}${id}`;
const shown = ({ row, schedule }: Open): PhonebookSource => ({
  id: row.id,
  title: row.title,
  kind: row.kind,
  address: row.config.address,
  ldap: row.config.ldap,
  username: row.config.username,
  has_password: row.config.password !== '',
  enabled: row.enabled,
  sync: schedule?.state ?? null,
  created_at: rfc3339(row.created_at),
  created_by: row.created_by,
});

/** Runs the migrations. */
export async function createPhonebookSources(
  options: PhonebookSourceOptions,
): Promise<PhonebookSourceService> {
  return new PhonebookSourceService(await createSourceStore(options.store), options);
}
/** Keeps shared customers equal to address books on other servers. Methods throw `store_unavailable`, and `not_found`. */
export class PhonebookSourceService {
  readonly #store: SourceStore;
  readonly #options: PhonebookSourceOptions;
  readonly #resolve = createResolve();
  readonly #transport: Transport;
  readonly #open = new Map<number, Open>();
  readonly #writes = new Queue();
  constructor(store: SourceStore, options: PhonebookSourceOptions) {
    this.#store = store;
    this.#options = options;
    const { clock, guard } = options;
    this.#transport = new Transport({ clock, guard, resolve: this.#resolve });
  }
  /** Opens the sources of the store. */
  async begin(): Promise<void> {
    for (const row of await this.#store.all()) this.#begin(row);
  }
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(open.map((one) => this.#end(one)));
    this.#transport.close();
  }
  /** Title of each source whose last sync failed, with the reason. */
  troubles(): readonly string[] {
    return [...this.#open.values()].flatMap(({ row, schedule }) =>
      schedule?.state.words == null ? [] : [`${row.title}: ${schedule.state.words}`],
    );
  }

  list(): PhonebookSource[] {
    return [...this.#open.values()].map(shown);
  }
  /** Throws `invalid_request`, `webhook_target_refused`, `limit_reached`. */
  create(actor: Actor, { title, kind, enabled, ...config }: NewPhonebookSource): Promise<PhonebookSource> {
    return this.#writes.run(async () => {
      if (this.#open.size >= MAX_PHONEBOOK_SOURCES)
        throw new ServiceError(
          'limit_reached',
          say`a phonebook has at most ${MAX_PHONEBOOK_SOURCES} sources; delete one`,
        );
      this.#check(config);
      const row: Omit<SourceRow, 'id'> = {
        title,
        kind,
        config,
        enabled,
        cursor: null,
        at: null,
        customers: 0,
        created_at: this.#options.clock.now(),
        created_by: actor.caller.username,
      };
      const id = await this.#store.add(row, this.#audited(actor, 'created', { kind }));
      return shown(this.#begin({ ...row, id }));
    });
  }
  /** Throws `invalid_request`, `webhook_target_refused`. */
  change(actor: Actor, id: number, wanted: PhonebookSourceChange): Promise<PhonebookSource> {
    return this.#writes.run(async () => {
      const open = this.#find(id);
      const { title = open.row.title, enabled = open.row.enabled, ...given } = wanted;
      const before = open.row.config;
      const config = { ...before, ...(given as Partial<SourceConfig>) };
      const isMoved = config.address !== before.address;
      if ((before.ldap === null) !== (config.ldap === null))
        throw new ServiceError('invalid_request', 'ldap: is allowed with the kind ldap only');
      if (given.address !== undefined || given.ldap !== undefined) this.#check(config);
      // A right to change the address is not a right to read the password.
      if (isMoved && before.password !== '' && given.password === undefined)
        throw new ServiceError('invalid_request', 'password: is needed again because the address changes');
      const row = { ...open.row, title, enabled, config };
      const changed = Object.keys(wanted).join(' ');
      await this.#end(open);
      try {
        const rereads = JSON.stringify(config) !== JSON.stringify(before);
        await this.#store.change(row, rereads, this.#audited(actor, 'changed', { changed }));
      } catch (error) {
        this.#begin(open.row);
        throw error;
      }
      return shown(this.#begin(row));
    });
  }
  remove(actor: Actor, id: number): Promise<void> {
    return this.#writes.run(async () => {
      const open = this.#find(id);
      await this.#end(open);
      try {
        // Customers first: without their source none of them could be deleted.
        await this.#options.customers.removeAll(sourceOf(id));
        await this.#store.remove(id, this.#audited(actor, 'deleted'));
        this.#open.delete(id);
      } catch (error) {
        this.#begin(open.row);
        throw error;
      }
    });
  }
  /** Begins to read the source. Throws `invalid_request`. */
  async sync(actor: Actor, id: number): Promise<PhonebookSource> {
    const open = this.#find(id);
    if (open.schedule === null)
      throw new ServiceError('invalid_request', 'id: the source is disabled; enable it first');
    await this.#options.audit.record(this.#lineOf(actor, 'synced', id));
    open.schedule.start();
    return shown(open);
  }

  #check({ address, ldap }: SourceConfig): void {
    const { guard } = this.#options;
    if (ldap === null) guard.readTarget(address);
    else checkLdap(address, ldap, guard);
  }
  #find(id: number): Open {
    const found = this.#open.get(id);
    if (found === undefined) throw new ServiceError('not_found', 'there is no such source');
    return found;
  }
  #begin(row: SourceRow): Open {
    const { clock, log } = this.#options;
    const { id } = row;
    const schedule = row.enabled
      ? new SyncSchedule<SourceEnd>({
          clock,
          last: () => this.#store.end(id),
          run: (last, stop) => this.#read(row, last, stop),
          trouble: (error) =>
            log.warn(
              { source: id, error: messageOf(error) },
              'the schedule of a phonebook source failed; retrying',
            ),
        })
      : null;
    const open = { row, schedule };
    this.#open.set(id, open);
    return open;
  }
  async #end({ schedule }: Open): Promise<void> {
    const grace = new AbortController();
    const over = setTimeout(() => grace.abort(), STOP_GRACE_MS);
    await schedule?.close(grace.signal);
    clearTimeout(over);
  }
  async #read({ id, config }: SourceRow, { cursor }: SourceEnd, stop: SyncStop): Promise<SourceEnd | null> {
    const at = this.#options.clock.now();
    const tags = await this.#store.tags(id);
    const send = this.#transport.send.bind(this.#transport);
    const { guard } = this.#options;
    const { ldap } = config;
    // CardDAV is loaded with its first address book, together with the readers of XML and cards.
    const parts: AsyncGenerator<SourcePart, string | null> =
      ldap === null
        ? (await import('./carddav.ts')).readCardDav(config, { cursor, tags }, { send, signal: stop.broken })
        : readLdap({ ...config, ldap }, { tags }, { guard, resolve: this.#resolve, signal: stop.broken });
    let part = await parts.next();
    for (; part.done !== true; part = await parts.next()) {
      if (stop.closed) return null;
      await this.#keep(id, part.value, tags);
    }
    const end = { cursor: part.value, at, customers: tags.size };
    await this.#store.putEnd(id, end);
    return end;
  }
  /** Stores a part of a source. After a crash in any step the next sync stores the rest. */
  async #keep(id: number, { changed, gone }: SourcePart, tags: Map<string, string>): Promise<void> {
    const { customers } = this.#options;
    const fresh = changed.filter((one) => !tags.has(one.id));
    // Stored before the customer: after a crash, the next sync then also deletes customers whose entry is gone.
    if (fresh.length > 0)
      await this.#store.putTags(
        id,
        fresh.map((one) => ({ id: one.id, tag: '' })),
      );
    await customers.storeLines(
      sourceOf(id),
      changed.flatMap(({ id: uid, line }) => (line === null ? [] : [{ ...line, uid }])),
    );
    const unread = changed.filter(({ line }) => line === null).map((one) => one.id);
    await customers.remove(sourceOf(id), [...gone, ...unread]);
    if (changed.length > 0) await this.#store.putTags(id, changed);
    if (gone.length > 0) await this.#store.removeTags(id, gone);
    for (const one of changed) tags.set(one.id, one.tag);
    for (const entry of gone) tags.delete(entry);
  }
  #audited(actor: Actor, what: string, detail: AuditEntry['detail'] = {}): Also {
    return (trx, id) => this.#options.audit.recordIn(trx, this.#lineOf(actor, what, id, detail));
  }
  #lineOf(actor: Actor, what: string, id: number, detail: AuditEntry['detail'] = {}): AuditEntry {
    return {
      action: `phonebook_source.${what}`,
      actor: actor.caller.username,
      object: `phonebook_source:${id}`,
      outcome: 'ok',
      ip: actor.ip,
      detail,
    };
  }
}
