import type { DomainEvent } from '@offhook/contract/events.ts';
import { MAX_CONNECTORS } from '@offhook/contract/connectors.ts';
import type {
  Connector,
  ConnectorChange,
  ConnectorCustomerMade,
  ConnectorEntry,
  ConnectorFileInfo,
  ConnectorMatches,
  ConnectorTested,
  EntriesQuery,
  NewConnector,
  SyncRequest,
} from '@offhook/contract/connectors.ts';
import { CONNECTOR_SOURCE } from '@offhook/contract/phonebook.ts';
import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { pageOf } from '../../core/page.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Guard } from '../../outbound/address-guard.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { CustomerSources } from '../../ports/customers.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { LiveCall } from '../../ports/live.ts';
import { checkWholeSite } from '../../rights/rights.ts';
import { CustomerCreator } from './customer-creator.ts';
import { namesLanguages } from './format/customers.ts';
import type { ConnectorFile } from './format/load.ts';
import { readSettings } from './format/settings.ts';
import { fillText } from './format/template.ts';
import { e164In } from '../../numbers/e164.ts';
import type { InboxMessage } from './format/inbox.ts';
import { Inbox } from './inbox.ts';
import type { ConnectorVerbs } from './inbox.ts';
import { isMoved, keptOf } from './kept-settings.ts';
import { DIRECTION_WORDS, LiveCalls } from './live-calls.ts';
import { NO_CALL } from './call-of.ts';
import * as ledger from './ledger.ts';
import { Lookups, matchesOf } from './lookup.ts';
import { PhonebookWriter } from './phonebook-writer.ts';
import { rankedWithin } from './ranked.ts';
import { fileOf, openRunning } from './running.ts';
import type { OpenDeps, Running } from './running.ts';
import type { Also, ConnectorRow } from './store.ts';
import { connectorOf, entryOf } from './view.ts';

export interface ConnectorServiceParts extends Omit<OpenDeps, 'phonebook' | 'reject' | 'customerOf'> {
  readonly audit: Required<Audit>;
  readonly guard: Guard;
  /** Country of numbers without a country prefix (numbers/e164.ts). */
  readonly country: string;
  readonly customers: CustomerSources;
  readonly verbs: ConnectorVerbs;
}
const STOP_GRACE_MS = 2_000;
/** Limit of a test, including its wait for the limits of the file. */
const TEST_MS = 30_000;
/** Limit of numbers that are looked up at the same time; further calls have no lookup. */
const MAX_SOUGHT = 200;
const RETRYABLE: ReadonlySet<ledger.Entry['state']> = new Set(['parked', 'uncertain', 'not_wanted']);

/** The connectors of the site; each method throws `store_unavailable`, and `not_found` for one that does not exist. */
export class ConnectorService {
  readonly #parts: ConnectorServiceParts;
  readonly #running = new Map<number, Running>();
  /** Ids of connectors with a test in progress. */
  readonly #testing = new Set<number>();
  readonly #writes = new Queue();
  readonly #lookups: Lookups;
  readonly #e164: (number: string) => string | null;
  readonly #phonebook: PhonebookWriter;
  readonly #creator: CustomerCreator;
  readonly #inbox: Inbox;
  readonly #live: LiveCalls;
  /** Numbers of live calls that are being looked up. */
  readonly #sought = new Set<string>();
  constructor(parts: ConnectorServiceParts) {
    this.#parts = parts;
    this.#lookups = new Lookups(parts.clock);
    this.#e164 = e164In(parts.country);
    this.#phonebook = new PhonebookWriter(parts.customers, this.#e164);
    this.#live = new LiveCalls((number) => this.#e164(number) ?? number, parts.publicUrl);
    const { people, log, clock, store, audit, verbs } = parts;
    const changed = (connector: number): void => this.#lookups.forget(connector);
    this.#inbox = new Inbox({ store, clock, audit, people, phonebook: this.#phonebook, verbs, changed });
    this.#creator = new CustomerCreator({ people, log, clock, phonebook: this.#phonebook });
  }
  /** Opens all stored connectors. */
  async begin(): Promise<void> {
    for (const row of await this.#parts.store.all()) await this.#open(row);
  }
  get running(): readonly Running[] {
    return [...this.#running.values()];
  }
  /** Call with each committed event: sends the resulting messages to the systems that follow live calls. */
  follow(event: DomainEvent): void {
    for (const message of this.#live.read(event))
      for (const { pusher } of this.#running.values()) pusher?.add(message);
  }
  /** Call after a change of a conversation. */
  wake(): void {
    for (const { keeper } of this.#running.values()) keeper?.wake();
  }
  async close(): Promise<void> {
    const grace = new AbortController();
    const over = setTimeout(() => grace.abort(), STOP_GRACE_MS);
    const open = this.running;
    this.#running.clear();
    await Promise.all(open.map((one) => one.close(grace.signal)));
    await this.#phonebook.idle();
    clearTimeout(over);
  }

  files(): Promise<ConnectorFileInfo[]> {
    return this.#parts.folders.list();
  }
  async lookup(number: string): Promise<{ e164: string | null; matches: ConnectorMatches[] }> {
    const e164 = this.#e164(number);
    const found = e164 === null ? [] : await this.#lookups.find(this.running, e164);
    return { e164, matches: found.map(matchesOf) };
  }
  /** Looks up the number of a live call in the systems without delaying the call; stores customers in the phonebook. */
  seek(number: string): void {
    const e164 = this.#e164(number);
    if (e164 === null || this.#sought.has(e164) || this.#sought.size >= MAX_SOUGHT) return;
    this.#sought.add(e164);
    this.#seek(e164)
      .catch((error: unknown) =>
        this.#parts.log.warn({ error: messageOf(error) }, 'customers of a call could not be stored'),
      )
      .finally(() => this.#sought.delete(e164));
  }
  /** Address that a live call of a customer opens: that of `pop` in its connector's file, else the customer's page. */
  pop(
    { source, external_id, url, id: _id, ...known }: CallCustomer,
    call: Pick<LiveCall, 'id' | 'direction'>,
    number: string,
  ): string | undefined {
    const connector = this.#running.get(Number(source.slice(CONNECTOR_SOURCE.length)));
    if (external_id === undefined || connector?.session == null) return url;
    const outside = this.#e164(number) ?? number;
    const view = { ...NO_CALL, id: call.id, direction: DIRECTION_WORDS[call.direction], number: outside };
    const customer = {
      ...known,
      id: external_id,
      numbers: [outside],
      emails: [],
      owner: null,
      url: url ?? null,
    };
    const popped = connector.session.pop(view, customer);
    return popped === null ? url : popped;
  }
  /** Drops the answers to all lookups, including those in progress: none of them enters the phonebook. */
  forgetAnswers(): void {
    this.#lookups.forgetAll();
  }
  async #seek(e164: string): Promise<void> {
    const { generation } = this.#lookups;
    for (const { running, found } of await this.#lookups.find(this.running, e164))
      // The connector may have been changed or deleted since the lookup began.
      if (
        found.kind === 'done' &&
        this.#running.get(running.row.id) === running &&
        this.#lookups.generation === generation
      )
        await this.#phonebook.store(running.row.id, found.value, { by: e164 });
  }
  list(): Promise<Connector[]> {
    return Promise.all(this.running.map((one) => this.#shown(one)));
  }
  one(id: number): Promise<Connector> {
    return this.#shown(this.#find(id));
  }
  /** Throws `invalid_request`, `webhook_target_refused`, `limit_reached`. */
  create(actor: Actor, wanted: NewConnector): Promise<Connector> {
    return this.#writes.run(async () => {
      const { store, clock } = this.#parts;
      if (this.#running.size >= MAX_CONNECTORS)
        throw new ServiceError(
          'limit_reached',
          say`a site has at most ${MAX_CONNECTORS} connectors; delete one`,
        );
      const origin = { file: wanted.file ?? null, source: wanted.source ?? null };
      const file = await this.#readFile(origin);
      const now = clock.now();
      const row: Omit<ConnectorRow, 'id'> = {
        ...origin,
        ...this.#settingsOf(file, wanted.settings),
        title: wanted.title ?? file.document.name,
        enabled: wanted.enabled,
        created_at: now,
        created_by: actor.caller.username,
        from_ms: wanted.from === undefined ? now : Date.parse(wanted.from),
        cursor: null,
        doubt_ms: 0,
      };
      const detail = { file: row.file ?? 'uploaded', enabled: row.enabled };
      const id = await store.add(row, this.#audited(actor, 'connector.created', detail));
      return this.#shown(await this.#open({ ...row, id }));
    });
  }
  /** Throws as `create`. */
  change(actor: Actor, id: number, wanted: ConnectorChange): Promise<Connector> {
    return this.#writes.run(async () => {
      const before = this.#find(id);
      const { row } = before;
      if (wanted.source !== undefined && row.source === null)
        throw new ServiceError('invalid_request', 'source: this connector uses a file of the list');
      const origin = { file: row.file, source: wanted.source ?? row.source };
      const reads = wanted.source !== undefined || wanted.settings !== undefined;
      const file = reads ? await this.#readFile(origin) : null;
      const next: ConnectorRow = {
        ...row,
        ...origin,
        ...(file && this.#settingsOf(file, { ...keptOf(file, row), ...wanted.settings })),
        title: wanted.title ?? row.title,
        enabled: wanted.enabled ?? row.enabled,
      };
      const moved = file !== null && isMoved(before, { file, row: next }, wanted.settings ?? {});
      const detail = { changed: Object.keys(wanted).join(' '), enabled: next.enabled };
      // A refresh token from an administrator replaces the one that the system gave last.
      const forgets = moved || JSON.stringify(next.secrets) !== JSON.stringify(row.secrets);
      // The new keeper begins after the previous one has stored its results; two keepers would send entries twice.
      await this.#end(before);
      const stored = await this.#parts.store
        .change(next, { rereads: reads, forgets }, this.#audited(actor, 'connector.changed', detail))
        .catch(async (error: unknown) => {
          await this.#reopen(before);
          throw error;
        });
      return this.#shown(await this.#open(stored));
    });
  }
  remove(actor: Actor, id: number): Promise<void> {
    return this.#writes.run(async () => {
      const running = this.#find(id);
      // Removed first, so that a lookup in progress stores no customer after `removeAll`.
      this.#running.delete(id);
      await this.#end(running);
      try {
        // Customers first: without the connector, no operation could delete them.
        await this.#phonebook.removeAll(id);
        await this.#parts.store.remove(id, this.#audited(actor, 'connector.deleted'));
      } catch (error) {
        await this.#reopen(running);
        throw error;
      }
    });
  }
  /** Starts a sync of the system's customers into the phonebook. Throws `invalid_request`. */
  async sync(actor: Actor, id: number, { delete_missing = false }: SyncRequest): Promise<Connector> {
    const running = this.#find(id);
    if (running.syncer === null)
      throw new ServiceError(
        'invalid_request',
        'id: the connector is disabled, or its file lists no customers',
      );
    const detail = delete_missing ? { delete_missing } : {};
    await this.#parts.audit.record(this.#lineOf(actor, 'connector.synced', id, detail));
    running.syncer.startFor({ deletes: delete_missing });
    return this.#shown(running);
  }
  /** Performs the actions of a message from a connected system. Throws the errors of the operation. */
  receive(id: number, message: InboxMessage, ip: string | null): ReturnType<Inbox['receive']> {
    return this.#inbox.receive(this.#running.get(id), message, ip);
  }
  /** Throws `too_many_requests` while a test of the same connector is in progress. */
  async test(id: number): Promise<ConnectorTested> {
    const { session, words, keeper } = this.#find(id);
    const success = true as const;
    if (session === null) return { success, works: false, status: null, words };
    if (this.#testing.has(id))
      throw new ServiceError('too_many_requests', 'a test of this connector is under way', {
        retry_after_seconds: 15,
      });
    this.#testing.add(id);
    try {
      // A person waits for the answer, so the test precedes entries.
      const checked = await rankedWithin(this.#parts.clock, 'lookup', TEST_MS, (signal) =>
        session.check(signal),
      );
      if (checked.kind !== 'done')
        return { success, works: false, status: checked.status, words: checked.words };
      this.#parts.people.forget(id);
      keeper?.back();
      return { success, works: true, status: null, words: null };
    } finally {
      this.#testing.delete(id);
    }
  }
  /** Throws `invalid_request` and `too_many_requests`. */
  async createCustomer(
    actor: Actor,
    id: number,
    { name, number }: { readonly name: string; readonly number: string },
  ): Promise<Omit<ConnectorCustomerMade, 'success'>> {
    const e164 = this.#e164(number);
    if (e164 === null)
      throw new ServiceError('invalid_request', 'number: write it with its country, such as +4930901820');
    const made = await this.#creator.create(this.#find(id), actor, name, e164);
    this.#lookups.forget(id);
    const outcome = made.outcome === 'created' || made.outcome === 'exists' ? 'ok' : 'failed';
    const detail = { result: made.outcome };
    await this.#parts.audit.record({
      ...this.#lineOf(actor, 'connector.customer_created', id, detail),
      outcome,
    });
    return made;
  }
  /** Throws `forbidden` for an API key that is limited to some objects. */
  async entries(
    who: Caller,
    id: number,
    { limit = 50, cursor, state, conversation }: EntriesQuery,
  ): Promise<{ entries: ConnectorEntry[]; next_cursor: string | null }> {
    checkWholeSite(who);
    this.#find(id);
    const rows = await this.#parts.store.entries(id, {
      limit: limit + 1,
      before: cursor === undefined ? null : Number(cursor),
      state: state ?? null,
      conversation: conversation ?? null,
    });
    const { page, next_cursor } = pageOf(rows, limit, (row) => row.id);
    return { entries: page.map(entryOf), next_cursor };
  }
  /** Throws the errors of `entries`, and `wrong_entry_state`. `remote_id`: entry that a person found in the system. */
  async retry(actor: Actor, id: number, entry: number, remote_id: string | null): Promise<ConnectorEntry> {
    checkWholeSite(actor.caller);
    const { keeper } = this.#find(id);
    const { store, clock } = this.#parts;
    if ((await store.one(id, entry)) === undefined)
      throw new ServiceError('not_found', 'there is no such entry');
    const detail = { entry, found: remote_id !== null };
    const row = await store.decide(
      entry,
      (now) => {
        if (RETRYABLE.has(now.state)) return ledger.retried(now, remote_id, clock.now());
        throw new ServiceError('wrong_entry_state', say`the entry is ${now.state}, so it needs no retry`);
      },
      (trx) => this.#audited(actor, 'connector.entry_retried', detail)(trx, id),
    );
    keeper?.wake();
    return entryOf(row!);
  }

  async #shown(running: Running): Promise<Connector> {
    return connectorOf(running, await this.#parts.store.counts(running.row.id));
  }
  #find(id: number): Running {
    const found = this.#running.get(id);
    if (found === undefined) throw new ServiceError('not_found', 'there is no such connector');
    return found;
  }
  /** After a failed change. The row itself has the position of the time at which the connector was opened. */
  async #reopen({ row, keeper }: Running): Promise<void> {
    await this.#open({ ...row, ...keeper?.position });
  }
  async #open(row: ConnectorRow): Promise<Running> {
    const running = await openRunning(row, {
      ...this.#parts,
      phonebook: this.#phonebook,
      reject: (connector, call) => this.#reject(connector, call),
      customerOf: (connector, number) => this.#lookups.first(this.#running.get(connector), number),
    });
    if (running.words !== null)
      this.#parts.log.warn({ connector: row.id, words: running.words }, 'a connector cannot be opened');
    // A file that cannot be read may name languages again once it can.
    this.#phonebook.namesLanguages(row.id, running.file === null || namesLanguages(running.file.document));
    this.#running.set(row.id, running);
    return running;
  }
  #reject(connector: number, call: string): void {
    const { log, verbs } = this.#parts;
    verbs.reject(`connector:${connector}`, call).catch((error: unknown) =>
      // The caller may have hung up meanwhile.
      log.info(
        { connector, call, error: messageOf(error) },
        'a call that a connected system rejected could not be hung up',
      ),
    );
  }
  async #end(running: Running): Promise<void> {
    const grace = new AbortController();
    const over = setTimeout(() => grace.abort(), STOP_GRACE_MS);
    await running.close(grace.signal);
    clearTimeout(over);
    this.#parts.people.forget(running.row.id);
    this.#lookups.forget(running.row.id);
  }
  async #readFile(origin: Pick<ConnectorRow, 'file' | 'source'>): Promise<ConnectorFile> {
    const read = await fileOf(this.#parts.folders, origin);
    if (read.file !== null) return read.file;
    throw new ServiceError(
      'invalid_request',
      origin.source === null ? say`file: ${read.words}` : say`source: ${read.words}`,
    );
  }
  /** Checks settings and base address; returns the settings with the secrets separated. */
  #settingsOf(
    file: ConnectorFile,
    given: Readonly<Record<string, string>>,
  ): Pick<ConnectorRow, 'settings' | 'secrets'> {
    const { values, findings } = readSettings(file.document, given);
    const [wrong] = findings;
    if (wrong) throw new ServiceError('invalid_request', say`settings.${wrong.setting}: ${wrong.reason}`);
    this.#parts.guard.readTarget(fillText(file.base, { set: values }) ?? '');
    const isSecret = (name: string): boolean => file.document.settings[name]?.secret === true;
    const all = Object.entries(given);
    return {
      settings: Object.fromEntries(all.filter(([name]) => !isSecret(name))),
      secrets: Object.fromEntries(all.filter(([name]) => isSecret(name))),
    };
  }
  #audited(actor: Actor, action: string, detail: AuditEntry['detail'] = {}): Also {
    return (trx, id) => this.#parts.audit.recordIn(trx, this.#lineOf(actor, action, id, detail));
  }
  #lineOf(actor: Actor, action: string, id: number, detail: AuditEntry['detail'] = {}): AuditEntry {
    return {
      action,
      actor: actor.caller.key === null ? actor.caller.extension : actor.caller.username,
      object: `connector:${id}`,
      outcome: 'ok',
      ip: actor.ip,
      detail,
    };
  }
}
