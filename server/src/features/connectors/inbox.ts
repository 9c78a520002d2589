import type { ConnectorInbox } from '@offhook/contract/connectors.ts';
import { ServiceError } from '../../core/errors.ts';
import { networkOf } from '../../core/networks.ts';
import { createRateLimit } from '../../core/rate-limit.ts';
import { say } from '../../core/said.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { InboxMessage, InboxWish } from './format/inbox.ts';
import type { Directory } from './people.ts';
import type { PhonebookWriter } from './phonebook-writer.ts';
import { rankedWithin } from './ranked.ts';
import type { Running } from './running.ts';
import type { ConnectorStore } from './store.ts';

/** Actions of other features, each with the errors of its operation. `person`: an extension or an e-mail address. */
export interface ConnectorVerbs {
  call(person: string, number: string, ip: string | null): Promise<void>;
  note(connector: string, conversation: string, text: string, ip: string | null): Promise<void>;
  /** Hangs up an incoming call that no person has answered; false for any other call. */
  reject(connector: string, call: string): Promise<boolean>;
}
export interface InboxDeps {
  readonly store: Pick<ConnectorStore, 'take' | 'untake'>;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'record'>;
  readonly phonebook: PhonebookWriter;
  readonly people: Pick<Directory, 'emailOf'>;
  readonly verbs: ConnectorVerbs;
  /** Called when customers of a connector changed, so that stored lookups are dropped. */
  readonly changed: (connector: number) => void;
}
/** Limit of time for reading the users of a system. */
const USERS_MS = 5_000;
/** Time for which the id of a message is stored to recognise repetitions. */
const KNOWN_MS = 86_400_000;
const MESSAGES = { burst: 120, per_second: 2 } as const;
const UNPROVEN = { burst: 10, per_second: 10 / 60 } as const;

/** Performs the actions of messages from connected systems: only of authentic messages, and once for each. */
export class Inbox {
  readonly #deps: InboxDeps;
  readonly #messages: ReturnType<typeof createRateLimit>;
  readonly #unproven: ReturnType<typeof createRateLimit>;
  constructor(deps: InboxDeps) {
    this.#deps = deps;
    this.#messages = createRateLimit(deps.clock, MESSAGES);
    this.#unproven = createRateLimit(deps.clock, UNPROVEN);
  }
  /** `running`: the connector; undefined if there is none. Throws the errors of the operation. */
  async receive(
    running: Running | undefined,
    message: InboxMessage,
    ip: string | null,
  ): Promise<Omit<ConnectorInbox, 'success'>> {
    // A client has a whole /64 of IPv6.
    const network = networkOf(ip ?? '', 32, 64);
    if (this.#unproven.left(network).remaining < 1) throw tooMany(60);
    const { store, clock } = this.#deps;
    const read = running?.row.enabled === true ? running.session?.inbox?.(message) : undefined;
    // The same error for a wrong secret and for a connector that is missing, disabled or without inbox reveals nothing.
    if (running === undefined || read === undefined || read.kind === 'refused') {
      this.#unproven.allows(network);
      throw new ServiceError('not_authenticated', 'the message has no valid signature of this connector');
    }
    const { id } = running.row;
    if (!this.#messages.allows(String(id))) throw tooMany(1);
    if (read.kind === 'wrong') throw new ServiceError('invalid_request', say`body: ${read.words}`);
    const done = read.wishes.map(({ does }) => does);
    const now = clock.now();
    if (!(await store.take(id, read.id, now, now - KNOWN_MS))) return { repeated: true, done };
    for (const [n, wish] of read.wishes.entries())
      try {
        await this.#act(running, wish, ip);
        await this.#record(running, wish, 'ok', ip);
      } catch (error) {
        await this.#record(running, wish, 'failed', ip);
        // Accept a repetition only if no action was done, because it would perform the done ones again.
        if (n === 0) await store.untake(id, read.id);
        throw error;
      }
    return { repeated: false, done };
  }
  async #act(running: Running, wish: InboxWish, ip: string | null): Promise<void> {
    const { row, syncer } = running;
    const { phonebook, verbs, changed } = this.#deps;
    switch (wish.does) {
      case 'call':
        return verbs.call(wish.person ?? (await this.#emailOf(running, wish.user ?? '')), wish.number, ip);
      case 'note':
        return verbs.note(`connector:${row.id}`, wish.call, wish.text, ip);
      case 'customer.changed':
        changed(row.id);
        return phonebook.store(row.id, [wish.customer]);
      case 'customer.gone':
        changed(row.id);
        return phonebook.remove(row.id, [wish.id]);
      case 'sync':
        return syncer?.start();
    }
  }
  async #emailOf({ row, session }: Running, user: string): Promise<string> {
    const { clock, people } = this.#deps;
    const email = await rankedWithin(clock, 'lookup', USERS_MS, (signal) =>
      people.emailOf(row.id, session!, user, signal),
    );
    if (email === null)
      throw new ServiceError('not_found', say`the system returns no e-mail address for its user ${user}`);
    return email;
  }
  #record({ row }: Running, { does }: InboxWish, outcome: 'ok' | 'failed', ip: string | null): Promise<void> {
    const object = `connector:${row.id}`;
    const entry = { action: 'connector.inbox', actor: object, object, outcome, ip, detail: { does } };
    return this.#deps.audit.record(entry);
  }
}
const tooMany = (retry_after_seconds: number): ServiceError =>
  new ServiceError('too_many_requests', 'too many messages; send them later', { retry_after_seconds });
