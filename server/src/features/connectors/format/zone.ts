import { zoneName } from '../../../core/zone.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { ConnectorFile } from './compile.ts';
import type { Scope } from './names.ts';
import type { ConnectorResult, Requester } from './requests.ts';

/** Times for which the zone of a system is reused, and for which a zone that the system did not name is not asked again. */
const KNOWN_MS = 86_400_000;
const REFUSED_MS = 3_600_000;

export interface SystemZoneParts {
  readonly scope: Scope;
  readonly requester: Requester;
  readonly clock: Pick<Clock, 'now'>;
  /** Used while the system names no zone. */
  readonly siteZone: string;
  readonly warn: (words: string) => void;
}
/** The time zone in which a system stores times. */
export class SystemZone {
  readonly #zone: NonNullable<ConnectorFile['zone']>;
  readonly #parts: SystemZoneParts;
  #known: { readonly name: string; readonly at: number; readonly ms: number } | null = null;
  #isWarned = false;
  constructor(zone: NonNullable<ConnectorFile['zone']>, parts: SystemZoneParts) {
    this.#zone = zone;
    this.#parts = parts;
  }
  /** Returns the IANA name of the zone, or the failure if the system would perhaps name it later. */
  async name(signal: AbortSignal): Promise<ConnectorResult<string>> {
    const { scope, requester, clock } = this.#parts;
    const now = clock.now();
    const age = this.#known === null ? Infinity : now - this.#known.at;
    if (this.#known !== null && age >= 0 && age < this.#known.ms)
      return { kind: 'done', value: this.#known.name };
    const answered = await requester.ask('zone', this.#zone, scope, signal, true);
    if (answered.kind === 'refused') return this.#refused(answered.words, now);
    if (answered.kind !== 'done') {
      const { kind, status, words, retry_after_seconds } = answered;
      // The entry was not sent, so its result is known.
      return { kind: kind === 'unknown' ? 'unsent' : kind, status, words, retry_after_seconds };
    }
    const read = this.#zone.name({ ...scope, answer: answered.value });
    const name = typeof read === 'string' ? zoneName(read) : null;
    if (name === null) return this.#refused('the answer names no time zone', now);
    this.#known = { name, at: now, ms: KNOWN_MS };
    this.#isWarned = false;
    return { kind: 'done', value: name };
  }
  /** A zone for a system that names none, because an older version or a missing right would otherwise park each entry. */
  #refused(words: string, now: number): ConnectorResult<string> {
    const { siteZone, warn } = this.#parts;
    const name = this.#known?.name ?? siteZone;
    this.#known = { name, at: now, ms: REFUSED_MS };
    if (!this.#isWarned)
      warn(`a system does not name its time zone (${words}): its entries have the times of ${name}`);
    this.#isWarned = true;
    return { kind: 'done', value: name };
  }
}
