import type { ConnectorCustomerMade } from '@offhook/contract/connectors.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Actor } from '../../ports/operations.ts';
import type { ConnectorCustomer } from './format/customers.ts';
import type { ConnectorFailure } from './format/requests.ts';
import { shown } from './lookup.ts';
import type { Directory } from './people.ts';
import type { PhonebookWriter } from './phonebook-writer.ts';
import { rankedWithin } from './ranked.ts';
import type { Running } from './running.ts';

type Made = Omit<ConnectorCustomerMade, 'success'>;
export interface CreatorDeps {
  readonly people: Directory;
  readonly phonebook: PhonebookWriter;
  readonly clock: Clock;
  readonly log: Log;
}
/** Limit of all requests of one creation, including their wait for the limits of the file. */
const CREATE_MS = 60_000;

/** Creates customers in connected systems, unless a lookup finds one with the same number. */
export class CustomerCreator {
  readonly #deps: CreatorDeps;
  /** Connectors and numbers (`id:number`) with a creation in progress. */
  readonly #underWay = new Set<string>();
  constructor(deps: CreatorDeps) {
    this.#deps = deps;
  }
  /** Throws `invalid_request` for a connector that creates no customers, `too_many_requests` for an equal creation. */
  async create(running: Running, actor: Actor, name: string, e164: string): Promise<Made> {
    const { row, session, words } = running;
    if (!row.enabled || session === null)
      throw new ServiceError(
        'invalid_request',
        'id: the connector is disabled or has an error; enable or correct it first',
        {
          ...(words !== null && { body: { words } }),
        },
      );
    const { createCustomer } = session;
    if (createCustomer === null)
      throw new ServiceError('invalid_request', 'id: the file of this connector creates no customers');
    const key = `${row.id}:${e164}`;
    if (this.#underWay.has(key))
      throw new ServiceError('too_many_requests', 'a customer with this number is being created', {
        retry_after_seconds: 15,
      });
    this.#underWay.add(key);
    try {
      // A person waits for the answer, so these requests precede those of entries.
      return await rankedWithin(this.#deps.clock, 'lookup', CREATE_MS, (signal) =>
        this.#create(running, createCustomer, actor, { name, e164 }, signal),
      );
    } finally {
      this.#underWay.delete(key);
    }
  }
  async #create(
    { row, session }: Running,
    createCustomer: NonNullable<NonNullable<Running['session']>['createCustomer']>,
    { caller }: Actor,
    { name, e164 }: { readonly name: string; readonly e164: string },
    signal: AbortSignal,
  ): Promise<Made> {
    const { people } = this.#deps;
    // Look up again: an earlier creation with a lost answer may have made the customer.
    const found = await session!.lookup?.(e164, signal);
    if (found !== undefined && found.kind !== 'done') return failed('not_created', found);
    const [known] = found?.value ?? [];
    if (known !== undefined) return this.#stored(row.id, 'exists', known, e164);
    const person = caller.key === null ? people.person(caller.extension) : null;
    const user = person === null ? null : await people.userOf(row.id, session!, person, signal);
    const made = await createCustomer({ name, e164, ...(user !== null && { user }) }, signal);
    if (made.kind === 'done') return this.#stored(row.id, 'created', made.value, e164);
    return failed(made.kind === 'unknown' ? 'unknown' : 'not_created', made);
  }
  async #stored(
    connector: number,
    outcome: 'created' | 'exists',
    customer: ConnectorCustomer,
    e164: string,
  ): Promise<Made> {
    const made = { outcome, customer: shown(customer), status: null };
    try {
      await this.#deps.phonebook.store(connector, [customer], { by: e164 });
      return { ...made, words: null };
    } catch (error) {
      this.#deps.log.warn(
        { connector, error: messageOf(error) },
        'a created customer could not be added to the phonebook',
      );
      return { ...made, words: `the phonebook could not store the customer: ${messageOf(error)}` };
    }
  }
}
const failed = (outcome: 'not_created' | 'unknown', { status, words }: ConnectorFailure): Made => ({
  outcome,
  customer: null,
  status,
  words,
});
