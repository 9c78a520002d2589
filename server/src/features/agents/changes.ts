import { LOGIN, WRAP_UP } from '../../pbx/agent-reasons.ts';
import { ServiceError, effectOf, hasCode, messageOf } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Clock } from '../../ports/clock.ts';
import type { QueueMember } from '../../ports/engine-state.ts';
import type { Engine } from '../../ports/engine.ts';
import type { AgentInput, ExpectedEvent, LiveView, OperationEvent } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';
import { ABSENT, membershipOf, pausedWith, rowsOf, sameMembership } from './membership.ts';
import type { Membership } from './membership.ts';

/** Change of one agent in one queue, from the state the engine shows to the wanted one. */
export type Change = {
  readonly extension: string;
  readonly queue: string;
  readonly interface: string;
  readonly penalty: number;
} & (
  | { readonly kind: 'add'; readonly to: Membership }
  | { readonly kind: 'remove'; readonly from: Membership }
  | { readonly kind: 'pause'; readonly from: Membership; readonly to: Membership }
);
/** Result for one queue of a failed action; `ok`: the queue now has the requested state. */
export interface QueueOutcome {
  readonly queue: string;
  readonly ok: boolean;
  readonly detail: string;
}
export interface EngineDeps extends Common<'clock' | 'live'> {
  readonly engine: Engine;
  readonly tell: (input: AgentInput | OperationEvent) => void;
}
/** Time limits for the engine to confirm a change, and to confirm that a failed one was undone. */
export const CONFIRM_MS = 5_000;
const UNDO_MS = 1_000;

const wanted = (change: Change): Membership => (change.kind === 'remove' ? ABSENT : change.to);
const original = (change: Change): Membership => (change.kind === 'add' ? ABSENT : change.from);
const rowFor = (live: LiveView, change: Change): QueueMember | undefined =>
  rowsOf(live, change.extension).find(
    (row) => row.queue === change.queue && row.interface === change.interface,
  );
const shows = (live: LiveView, change: Change, state: Membership): boolean =>
  sameMembership(membershipOf(rowFor(live, change)), state);

/** The change that brings this member to `to`; null if it is there already. */
export function changeTo(
  engine: Engine,
  extension: string,
  queue: string,
  row: QueueMember | undefined,
  to: Membership,
  penalty = 0,
): Change | null {
  const from = membershipOf(row);
  if (sameMembership(from, to)) return null;
  if (row === undefined) {
    return { extension, queue, interface: engine.memberOf(extension).interface, penalty, kind: 'add', to };
  }
  const base = { extension, queue, interface: row.interface, penalty: row.penalty };
  return to.member ? { ...base, kind: 'pause', from, to } : { ...base, kind: 'remove', from };
}

const inverse = (change: Change): Change => {
  const { extension, queue, penalty } = change;
  const base = { extension, queue, interface: change.interface, penalty };
  if (change.kind === 'add') return { ...base, kind: 'remove', from: change.to };
  if (change.kind === 'remove') return { ...base, kind: 'add', to: change.from };
  return { ...base, kind: 'pause', from: change.to, to: change.from };
};
/** True for a pause that events show; one for a wrap-up is none. */
const isAway = ({ paused, reason }: Membership): boolean => paused && reason !== WRAP_UP;
/** Events of this queue that the model emits after this change; a new member is added paused, then released. */
export function eventsOf(change: Change): ExpectedEvent[] {
  const { kind, extension, queue } = change;
  if (kind === 'remove') return [{ type: 'agent.logged_out', extension, queue }];
  const type = isAway(change.to) ? 'agent.not_ready' : 'agent.ready';
  const readiness = { type, extension, queue } as const;
  if (kind === 'add') return [{ type: 'agent.logged_in', extension, queue }, readiness];
  return isAway(change.from) || isAway(change.to) ? [readiness] : [];
}
const describe = (change: Change): string => {
  const to = wanted(change);
  if (!to.member) return `${change.extension} out of ${change.queue}`;
  return `${change.extension} ${to.paused ? `paused (${to.reason})` : 'ready'} in ${change.queue}`;
};

/**
 * `refused`: the engine rejected it. `unsent`: nothing left this process. `sent`: the engine has performed it
 * or still may, whatever its answer was.
 */
interface Outcome {
  readonly state: 'sent' | 'refused' | 'unsent';
  readonly error: ServiceError | null;
}
const asServiceError = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('internal', say`the engine adapter failed: ${messageOf(error)}`, { cause: error });
const RANK = ['engine_refused', 'invalid_request', 'internal', 'engine_unavailable', 'engine_timeout'];
const worst = (errors: readonly ServiceError[]): ServiceError | undefined =>
  errors.toSorted((a, b) => RANK.indexOf(a.code) - RANK.indexOf(b.code))[0];

/** Changes that the engine makes by one action. */
type Action = readonly [Change, ...(readonly Change[])];
const oneEach = (changes: readonly Change[]): Action[] => changes.map((change) => [change]);
/** The same pause in all queues of an agent is one action. */
function actionsOf(live: LiveView, changes: readonly Change[]): Action[] {
  const [first, ...others] = changes;
  const together =
    first?.kind === 'pause' &&
    changes.length === rowsOf(live, first.extension).length &&
    changes.every(
      (c) =>
        c.kind === 'pause' &&
        c.extension === first.extension &&
        c.interface === first.interface &&
        sameMembership(c.to, first.to),
    );
  return together ? [[first, ...others]] : oneEach(changes);
}
/** Sends the first step of a change: a member to become ready is added paused, so that it does not ring yet. */
function sendFirst({ engine }: EngineDeps, [change, ...others]: Action, signal: AbortSignal): Promise<void> {
  const options = { signal };
  if (change.kind === 'remove') return engine.removeMember(change.queue, change.interface, options);
  const { paused, reason } = change.to;
  if (change.kind === 'pause') {
    if (others.length === 0)
      return engine.pauseMember(change.queue, change.interface, paused, reason, options);
    const queues = [change, ...others].map(({ queue }) => queue);
    return engine.pauseEverywhere(queues, change.interface, paused, reason, options);
  }
  return engine.addMember(
    {
      queue: change.queue,
      interface: change.interface,
      name: change.extension,
      state_interface: engine.memberOf(change.extension).state_interface,
      penalty: change.penalty,
      paused: true,
      reason: paused ? reason : LOGIN,
    },
    options,
  );
}

/**
 * Runs `work` with a signal that aborts after `ms`; then rejects `engine_timeout`, even if `work` ignores the
 * signal.
 */
async function within(
  clock: Clock,
  ms: number,
  waitingFor: () => string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const late = new AbortController();
  const done = new AbortController();
  const timeout = clock.sleep(ms, done.signal).then(() => {
    const text = say`the engine did not confirm within ${ms / 1000} s: ${waitingFor()}`;
    const error = new ServiceError('engine_timeout', text);
    late.abort(error);
    throw error;
  });
  try {
    await Promise.race([work(late.signal), timeout]);
  } finally {
    // A given reason avoids building an AbortError with a stack that nothing reads.
    done.abort('done');
  }
}

/** Throws `engine_refused` for a member that was removed meanwhile. */
function ensureNone(gone: Change | undefined): void {
  if (gone === undefined) return;
  throw new ServiceError('engine_refused', say`${gone.extension} was removed from ${gone.queue} meanwhile`);
}

/** A failed run; `outcomes` has the state of every change, so that sent ones can be undone and all can be reported. */
export class ChangeFailure extends Error {
  readonly error: ServiceError;
  readonly outcomes: ReadonlyMap<Change, Outcome>;
  constructor(error: ServiceError, outcomes: ReadonlyMap<Change, Outcome>) {
    super(error.message, { cause: error });
    this.name = 'ChangeFailure';
    this.error = error;
    this.outcomes = outcomes;
  }
}

/**
 * Sends all changes at once and resolves when the live model shows them. Rejects with `ChangeFailure` and
 * leaves the sent changes in place.
 */
export async function applyChanges(deps: EngineDeps, changes: readonly Change[], ms: number): Promise<void> {
  const { engine, live, clock } = deps;
  const until = clock.now() + ms;
  const outcomes = new Map<Change, Outcome>();
  for (const change of changes) outcomes.set(change, { state: 'unsent', error: null });
  const missing = (): string => {
    const open = changes.filter((c) => !shows(live, c, wanted(c)));
    return open.length === 0 ? 'its answer' : open.map(describe).join(', ');
  };
  const sendAll = async (
    actions: readonly Action[],
    signal: AbortSignal,
    send: (action: Action) => Promise<void>,
  ): Promise<void> => {
    const errors: ServiceError[] = [];
    await Promise.all(
      actions.map(async (these) => {
        const already = these.some((change) => outcomes.get(change)?.state === 'sent');
        for (const change of these) outcomes.set(change, { state: 'sent', error: null });
        try {
          await send(these);
        } catch (thrown) {
          const error = asServiceError(thrown);
          // A timeout is not a refusal: the confirming fact may still arrive and then decides.
          if (error.code === 'engine_timeout' && !signal.aborted) return;
          errors.push(error);
          const nothing =
            error.code === 'engine_refused'
              ? 'refused'
              : error.code === 'invalid_request' || effectOf(error) === false
                ? 'unsent'
                : 'sent';
          for (const change of these) outcomes.set(change, { state: already ? 'sent' : nothing, error });
        }
      }),
    );
    const error = worst(errors);
    if (error) throw error;
  };
  const seen = (holds: (change: Change) => boolean, signal: AbortSignal): Promise<void> =>
    live.until(() => changes.every(holds), {
      ms: Math.max(1, until - clock.now()),
      waitingFor: missing(),
      signal,
    });
  const left = (c: Change): boolean => c.kind === 'pause' && rowFor(live, c) === undefined;
  const isRelease = (c: Change): boolean => c.kind === 'add' && !c.to.paused;
  const held = (c: Change): boolean => isRelease(c) && shows(live, c, pausedWith(LOGIN));
  try {
    await within(clock, ms, missing, async (signal) => {
      const send = (actions: readonly Action[]): Promise<void> =>
        sendAll(actions, signal, (action) => sendFirst(deps, action, signal));
      const actions = actionsOf(live, changes);
      await send(actions).catch((error: unknown) => {
        const isRefused = hasCode(error, 'engine_refused');
        if (!isRefused || actions.length === changes.length) throw error;
        // An action for each queue shows which one the engine refuses.
        return send(oneEach(changes));
      });
      await seen(
        (c) => left(c) || (isRelease(c) ? rowFor(live, c) !== undefined : shows(live, c, wanted(c))),
        signal,
      );
      ensureNone(changes.find(left));
      if (!changes.some(isRelease)) return;
      // Releases only our own pause: a member paused by other means meanwhile has a newer intent.
      await sendAll(oneEach(changes.filter(held)), signal, ([c]) =>
        engine.pauseMember(c.queue, c.interface, false, '', { signal }),
      );
      await seen((c) => !held(c), signal);
      ensureNone(changes.find((c) => isRelease(c) && rowFor(live, c) === undefined));
    });
  } catch (error) {
    throw new ChangeFailure(asServiceError(error), outcomes);
  }
}

/**
 * Undoes what a failed run sent. Resolves null when everything is as before, else with the outcome of each
 * queue. The engine performs the undo after the commands it undoes, so it holds even without an answer.
 */
export async function undoChanges(deps: EngineDeps, failure: ChangeFailure): Promise<QueueOutcome[] | null> {
  const { live } = deps;
  const takeBack = async ([change, outcome]: [Change, Outcome]): Promise<string | null> => {
    if (outcome.state !== 'sent') return null;
    try {
      await applyChanges(deps, [inverse(change)], UNDO_MS);
      return null;
    } catch (error) {
      const refused = error instanceof ChangeFailure && error.error.code === 'engine_refused';
      if (refused && shows(live, change, original(change))) return null;
      return `it could not be taken back: ${messageOf(error)}`;
    }
  };
  const entries = [...failure.outcomes];
  const problems = await Promise.all(entries.map(takeBack));
  if (problems.every((p) => p === null)) return null;
  return entries.map(([change, { state, error }], i) => {
    const ok = shows(live, change, wanted(change));
    const problem = problems[i] ?? null;
    const done = state === 'sent' ? 'taken back' : (error?.message ?? 'nothing was sent');
    const left = `${ok ? 'the engine did it' : 'outcome unknown'}, and ${problem}`;
    return { queue: change.queue, ok, detail: problem === null ? done : left };
  });
}
