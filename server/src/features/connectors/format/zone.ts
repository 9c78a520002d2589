import { zoneName } from '../../../core/zone.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { ConnectorFile } from './compile.ts';
import type { Scope } from './names.ts';
import { failure } from './requests.ts';
import type { ConnectorResult, Requester } from './requests.ts';

/** Time for which the zone of a system is reused. */
const KNOWN_MS = 86_400_000;

/** The time zone in which a system stores times. */
export class SystemZone {
  readonly #zone: NonNullable<ConnectorFile['zone']>;
  readonly #scope: Scope;
  readonly #requester: Requester;
  readonly #clock: Pick<Clock, 'now'>;
  #known: { readonly name: string; readonly at: number } | null = null;
  constructor(
    zone: NonNullable<ConnectorFile['zone']>,
    { scope, requester, clock }: { scope: Scope; requester: Requester; clock: Pick<Clock, 'now'> },
  ) {
    this.#zone = zone;
    this.#scope = scope;
    this.#requester = requester;
    this.#clock = clock;
  }
  /** Its IANA name. */
  async name(signal: AbortSignal): Promise<ConnectorResult<string>> {
    const now = this.#clock.now();
    const age = this.#known === null ? Infinity : now - this.#known.at;
    if (this.#known !== null && age >= 0 && age < KNOWN_MS) return { kind: 'done', value: this.#known.name };
    const answered = await this.#requester.ask('zone', this.#zone, this.#scope, signal, true);
    if (answered.kind !== 'done') {
      const { kind, status, words, retry_after_seconds } = answered;
      // The entry was not sent, so its result is known.
      return { kind: kind === 'unknown' ? 'unsent' : kind, status, words, retry_after_seconds };
    }
    const read = this.#zone.name({ ...this.#scope, answer: answered.value });
    const name = typeof read === 'string' ? zoneName(read) : null;
    if (name === null) return failure('refused', 'the answer names no time zone');
    this.#known = { name, at: now };
    return { kind: 'done', value: name };
  }
}
