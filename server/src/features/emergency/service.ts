/**
 * Publishes emergency calls from the engine's call records, with the location of the caller. Calls made while the
 * service was down follow after its start; a record that is read twice is published twice.
 */
import net from 'node:net';
import { rfc3339 } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { CallRecord, CallRecords } from '../../ports/call-records.ts';
import type { Common } from '../../ports/common.ts';

/** Older calls are not published: they appear only when all call records are read again from the beginning. */
const NEWS_MS = 24 * 60 * 60_000;
interface Located {
  readonly net: string;
  readonly location: string;
}
export interface EmergencyDeps extends Common<'audit' | 'clock' | 'log' | 'publish'> {
  readonly person: (extension: string) => { readonly name: string; readonly location: string | null } | null;
  /** Location of a shared phone; it is used instead of the location of the person who is signed in there. */
  readonly sharedPhone: (endpoint: string) => string | null;
  /** Locations of networks; that of the caller's network precedes those of phone and person. */
  readonly locations: () => readonly Located[];
  /** Extensions of the people who are notified. */
  readonly contacts: () => readonly string[];
}

/** Location of the smallest network that contains an address; null if none does. */
function locationOf(address: string, locations: readonly Located[]): string | null {
  const version = net.isIP(address);
  if (version === 0) return null;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const holding = locations.filter(({ net: one }) => {
    const [base = '', size] = one.split('/');
    if (net.isIP(base) !== version) return false;
    const list = new net.BlockList();
    list.addSubnet(base, Number(size), family);
    return list.check(address, family);
  });
  return (
    holding.toSorted((a, b) => Number(b.net.split('/')[1]) - Number(a.net.split('/')[1]))[0]?.location ?? null
  );
}

export class EmergencyCalls {
  readonly #deps: EmergencyDeps;
  constructor(deps: EmergencyDeps) {
    this.#deps = deps;
  }
  watching(records: CallRecords): CallRecords {
    const found = (record: CallRecord): Promise<void> => this.#found(record);
    return {
      ...records,
      async *read(from, signal) {
        for await (const batch of records.read(from, signal)) {
          for (const record of batch.records) await found(record);
          yield batch;
        }
      },
    };
  }
  async #found(record: CallRecord): Promise<void> {
    const { publish, audit, clock, log, person, locations, contacts, sharedPhone } = this.#deps;
    const { emergency } = record.facts;
    const at = Math.floor(record.at_us / 1_000);
    if (emergency === undefined || at < clock.now() - NEWS_MS) return;
    const { extension, address, callback, phone } = emergency;
    const who = extension === '' ? null : person(extension);
    const own = phone === undefined ? (who?.location ?? null) : sharedPhone(phone);
    const location = locationOf(address, locations()) ?? own;
    const { call: call_id, dialled: number } = record;
    log.warn({ extension, number, location, call_id }, 'an emergency number is called');
    publish([
      {
        type: 'call.emergency',
        subject: `calls/${call_id}`,
        at: clock.now(),
        observed: 'live',
        data: {
          call_id,
          extensions: extension === '' ? [] : [extension],
          extension: extension || null,
          name: who?.name ?? null,
          number,
          location,
          address: address || null,
          callback_number: callback || null,
          notified: [...contacts()],
          called_at: rfc3339(at),
        },
      },
    ]);
    await audit
      .record({
        action: 'call.emergency',
        actor: extension || null,
        object: number,
        outcome: 'ok',
        ip: null,
        detail: { location, callback_number: callback || null, call_id },
      })
      .catch((error: unknown) =>
        log.error({ error: messageOf(error) }, 'an emergency call could not be audited'),
      );
  }
}
