/**
 * Publishes calls that the engine refused (to numbers outside, and of blocked callers) and writes them to the audit
 * trail, as well as conferences and mailboxes whose PIN was guessed too often. It reads the engine's call records, so calls refused while the service was down follow after its start; a
 * record that is read twice is published twice.
 */
import { messageOf } from '../../core/errors.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { CallRecord, CallRecords, CallRefusal, PinsRefused } from '../../ports/call-records.ts';
import type { Common } from '../../ports/common.ts';

const MINUTE_MS = 60_000;
/** Older refusals are not published: they appear only when all call records are read again from the beginning. */
const NEWS_MS = 24 * 60 * MINUTE_MS;
/** Limit of keys in `#written`; beyond it the oldest is forgotten. */
const MOST_REMEMBERED = 1_000;

export interface RefusalDeps extends Common<'audit' | 'clock' | 'log' | 'publish'> {
  /** Called when a call record shows that a feature code wrote a rule for callers. */
  readonly ruleWritten: () => void;
}

export class Refusals {
  readonly #deps: RefusalDeps;
  /** Minute of the newest audit entry by extension, reason and limit: a flood of refusals makes one entry a minute. */
  readonly #written = new Map<string, number>();

  constructor(deps: RefusalDeps) {
    this.#deps = deps;
  }
  watching(records: CallRecords): CallRecords {
    const news = (found: readonly CallRecord[]): Promise<void> => this.#news(found);
    return {
      ...records,
      async *read(from, signal) {
        for await (const batch of records.read(from, signal)) {
          await news(batch.records);
          yield batch;
        }
      },
    };
  }
  async #news(records: readonly CallRecord[]): Promise<void> {
    const since = this.#deps.clock.now() - NEWS_MS;
    for (const record of records) {
      const at = Math.floor(record.at_us / 1_000);
      const { refused, rejected, pins_refused, blocks_caller } = record.facts;
      if (blocks_caller !== undefined) this.#deps.ruleWritten();
      if (at < since) continue;
      if (rejected !== undefined) await this.#blocked(record, rejected, at);
      if (pins_refused !== undefined) await this.#guessed(record, pins_refused, at);
      if (refused === undefined) continue;
      const { extension, reason, call_limit } = refused;
      this.#deps.publish([
        {
          type: 'call.refused',
          subject: `calls/${record.call}`,
          at: this.#deps.clock.now(),
          observed: 'live',
          data: {
            call_id: record.call,
            extensions: [extension],
            extension,
            number: record.dialled,
            class: refused.class,
            reason,
            call_limit,
            refused_at: rfc3339(at),
          },
        },
      ]);
      await this.#write(refused, record, at);
    }
  }
  async #blocked(record: CallRecord, by: 'rule' | 'customer', at: number): Promise<void> {
    const { call: call_id, caller_number: number } = record;
    this.#deps.publish([
      {
        type: 'call.blocked',
        subject: `calls/${call_id}`,
        at: this.#deps.clock.now(),
        observed: 'live',
        data: { call_id, extensions: [], number, by, blocked_at: rfc3339(at) },
      },
    ]);
    await this.#once(`blocked ${by}`, at, {
      action: 'call.blocked',
      actor: null,
      object: call_id,
      outcome: 'refused',
      ip: null,
      detail: { by },
    });
  }
  async #guessed(
    { call: call_id }: CallRecord,
    { kind, key, extension }: PinsRefused,
    at: number,
  ): Promise<void> {
    await this.#once(`pin ${kind} ${key} ${extension}`, at, {
      action: 'pin.refused',
      actor: extension,
      object: `${kind}:${key}`,
      outcome: 'refused',
      ip: null,
      detail: { call_id },
    });
  }
  async #write({ extension, reason, call_limit, ...rest }: CallRefusal, record: CallRecord, at: number) {
    await this.#once(`${extension} ${reason} ${call_limit}`, at, {
      action: 'call.refused',
      actor: extension,
      object: record.dialled,
      outcome: 'refused',
      ip: null,
      detail: { reason, call_limit, class: rest.class, call_id: record.call },
    });
  }
  async #once(key: string, at: number, entry: AuditEntry): Promise<void> {
    const minute = Math.floor(at / MINUTE_MS);
    if (this.#written.get(key) === minute) return;
    this.#written.delete(key);
    this.#written.set(key, minute);
    if (this.#written.size > MOST_REMEMBERED) this.#written.delete(this.#written.keys().next().value!);
    await this.#deps.audit
      .record(entry)
      .catch((error: unknown) =>
        this.#deps.log.error({ error: messageOf(error) }, 'a refused call could not be audited'),
      );
  }
}
