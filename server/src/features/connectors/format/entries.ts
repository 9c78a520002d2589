import type { CompiledRequest, ConnectorFile } from './compile.ts';
import type { ConnectorCustomer } from './customers.ts';
import type { Scope } from './names.ts';
import { failure } from './requests.ts';
import type { Answered, ConnectorFailure, ConnectorResult, Requester } from './requests.ts';
import type { SystemZone } from './zone.ts';

/** User of the other system. */
export interface ConnectorUser {
  readonly id: string;
  readonly email: string | null;
  readonly name: string | null;
}
/** Fields of a conversation in a request; `''` and `0n` for missing values. */
export type CallView = NonNullable<Scope['call']>;
export type PersonView = NonNullable<Scope['person']>;
/** Subject of an entry. */
export interface EntrySubject {
  readonly call: CallView;
  /** The customer the entry belongs to; without one, requests that need its id are refused. */
  readonly customer?: ConnectorCustomer | undefined;
  readonly user?: ConnectorUser | undefined;
  readonly person?: PersonView | undefined;
  /** Id that the system gave the live call. */
  readonly pushed?: string | undefined;
}
export interface EntryDone {
  readonly id: string;
  /** True if the system had the entry already (`exists` of the file). */
  readonly existed: boolean;
}
/** Limit of the id of an entry, a user or a live call in characters, equal to that for an id that a person enters. */
export const MAX_ID = 300;
const TOO_LONG = `the id of the entry has more than ${MAX_ID} characters`;
export const text = (value: unknown): string | null =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : null;
export const done = <T>(value: T): { readonly kind: 'done'; readonly value: T } => ({ kind: 'done', value });
export const isDone = (answered: Answered): answered is Extract<Answered, { kind: 'done' }> =>
  answered.kind === 'done';

export const userScope = (user: ConnectorUser | undefined): Pick<Scope, 'user'> =>
  user === undefined ? {} : { user: { id: user.id, email: user.email ?? '', name: user.name ?? '' } };
export function scopeOf(scope: Scope, { call, customer, user, person, pushed }: EntrySubject): Scope {
  const { id = '', kind = '', name = '', company, numbers = [], emails = [], owner, url } = customer ?? {};
  return {
    ...scope,
    call,
    ...(customer && {
      customer: {
        id,
        kind,
        name,
        company: company ?? '',
        numbers,
        emails,
        owner: owner ?? '',
        url: url ?? '',
      },
    }),
    ...userScope(user),
    ...(person && { person }),
    ...(pushed !== undefined && { pushed: { id: pushed } }),
  };
}

export class ConnectorEntries {
  readonly once: 'own_id' | 'header' | 'find' | 'ledger';
  readonly settle_seconds: number;
  readonly matches: 'first' | 'company' | 'none';
  readonly handled_by: 'last' | 'longest' | 'first';
  /** True if the file has the verb. */
  readonly updates: boolean;
  readonly removes: boolean;
  readonly #entry: NonNullable<ConnectorFile['entry']>;
  readonly #scope: Scope;
  readonly #requester: Requester;
  readonly #zone: SystemZone | null;
  constructor(
    entry: NonNullable<ConnectorFile['entry']>,
    written: Pick<ConnectorEntries, 'handled_by' | 'matches' | 'once' | 'settle_seconds'>,
    scope: Scope,
    requester: Requester,
    zone: SystemZone | null,
  ) {
    this.once = written.once;
    this.settle_seconds = written.settle_seconds;
    this.matches = written.matches;
    this.handled_by = written.handled_by;
    this.updates = entry.update !== undefined;
    this.removes = entry.remove !== undefined;
    this.#entry = entry;
    this.#scope = scope;
    this.#requester = requester;
    this.#zone = zone;
  }
  /** False if the file makes no entry for such a call. */
  wanted(subject: EntrySubject): boolean {
    const { when } = this.#entry;
    return when === undefined || when(scopeOf(this.#scope, subject)) === true;
  }
  async create(subject: EntrySubject, signal: AbortSignal): Promise<ConnectorResult<EntryDone>> {
    const { create } = this.#entry;
    const scope = await this.#timed(subject, signal);
    if ('words' in scope) return scope;
    const repeatable = this.once === 'own_id' || this.once === 'header';
    const answered = await this.#requester.ask('entry.create', create, scope, signal, repeatable);
    if (!isDone(answered)) {
      const existed = create.exists?.({ ...scope, answer: answered.answer ?? null }) === true;
      const id = existed ? text(create.id?.(scope)) : null;
      return id === null ? failureOf(answered) : done({ id, existed });
    }
    const id = text(create.id?.({ ...scope, answer: answered.value }));
    // An entry without an id cannot be updated, so the ledger searches for it, or a person checks it.
    if (id === null) return failure('unknown', 'the answer holds no id of the entry');
    return id.length > MAX_ID ? failure('unknown', TOO_LONG) : done({ id, existed: false });
  }
  async update(id: string, subject: EntrySubject, signal: AbortSignal): Promise<ConnectorResult<EntryDone>> {
    const { update } = this.#entry;
    if (update === undefined) return failure('refused', 'the file has no entry.update');
    const timed = await this.#timed(subject, signal);
    if ('words' in timed) return timed;
    const scope = { ...timed, entry: { id } };
    const answered = await this.#requester.ask('entry.update', update, scope, signal, true);
    if (!isDone(answered)) return failureOf(answered);
    const next = text(update.id?.({ ...scope, answer: answered.value })) ?? id;
    return next.length > MAX_ID ? failure('refused', TOO_LONG) : done({ id: next, existed: true });
  }
  async remove(id: string, subject: EntrySubject, signal: AbortSignal): Promise<ConnectorResult<null>> {
    const { remove } = this.#entry;
    if (remove === undefined) return failure('refused', 'the file has no entry.remove');
    const answered = await this.#ask(
      'entry.remove',
      remove,
      { ...scopeOf(this.#scope, subject), entry: { id } },
      signal,
    );
    return isDone(answered) ? done(null) : failureOf(answered);
  }
  /** Searches the entry of a conversation after a create with unknown result; null if there is none. */
  async find(subject: EntrySubject, signal: AbortSignal): Promise<ConnectorResult<EntryDone | null>> {
    const { find } = this.#entry;
    if (find === undefined) return done(null);
    const scope = scopeOf(this.#scope, subject);
    const answered = await this.#ask('entry.find', find, scope, signal);
    if (!isDone(answered)) return failureOf(answered);
    const id = text(find.id({ ...scope, answer: answered.value }));
    if (id !== null && id.length > MAX_ID) return failure('refused', TOO_LONG);
    return done(id === null ? null : { id, existed: true });
  }
  /** Scope of a request with the times of the call. */
  async #timed(subject: EntrySubject, signal: AbortSignal): Promise<Scope | ConnectorFailure> {
    const scope = scopeOf(this.#scope, subject);
    if (this.#zone === null) return scope;
    const zone = await this.#zone.name(signal);
    return zone.kind === 'done' ? { ...scope, zone: zone.value } : zone;
  }
  #ask(verb: string, request: CompiledRequest, scope: Scope, signal: AbortSignal): Promise<Answered> {
    return this.#requester.ask(verb, request, scope, signal, true);
  }
}
export const failureOf = ({
  kind,
  status,
  words,
  retry_after_seconds,
}: ConnectorFailure): ConnectorFailure => ({
  kind,
  status,
  words,
  retry_after_seconds,
});
