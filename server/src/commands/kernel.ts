/** Runs every command: lane, limit, plan, operation, confirmation, audit trail, undo (ADR 0025). */
import type { DomainEvent } from '@offhook/contract/events.ts';
import { randomUUID } from '../core/chance.ts';
import { ServiceError, effectOf, markNotBegun, markUncertain, messageOf } from '../core/errors.ts';
import type { Said } from '../core/said.ts';
import type { AuditEntry } from '../ports/audit.ts';
import type { Engine } from '../ports/engine.ts';
import type { ExpectedEvent, OperationEvent } from '../ports/live.ts';
import type { Common } from '../ports/common.ts';
import { codeOf, failureOf } from './audited.ts';
import type { Line } from './audited.ts';
import { AtOnce } from './lanes.ts';
import type { Lanes } from './lanes.ts';

export interface CommandDeps extends Common<'audit' | 'clock' | 'log'> {
  readonly engine: Pick<Engine, 'settled' | 'roundTrip'>;
  /** Passes the operation to the live model, in order with the engine's facts. */
  readonly tell: (operation: OperationEvent) => void;
}
/** The rules of one feature for its commands. */
export interface CommandRules {
  /** Prefix of its operation ids, as `queue` in `queue-3b2e…`. */
  readonly prefix: string;
  /** Milliseconds in which the engine must settle and answer a round trip. */
  readonly confirm_ms: number;
  /** Throws while no command may be planned; called again after every wait before the sending. */
  readonly ensureReady?: () => void;
  readonly lanes?: Lanes;
  /** Limit of 8 for each actor, counted from the request or from the plan. */
  readonly limit?: {
    readonly counts: 'asked' | 'planned';
    readonly refusal: (count: number, who: string | number) => Said;
  };
  /**
   * Audit outcome of a command that fails before it is sent: by its error code, always `refused`, or no
   * entry. A planned command over the limit has no entry.
   */
  readonly unsent: 'by_code' | 'refused' | 'no_line';
  /** False if this actor already has too many audited refusals. */
  readonly mayAudit?: (actor: string | null) => boolean;
  /** Emits `operation.completed`, if the feature's clients follow their operations by it. */
  readonly publish?: (events: readonly DomainEvent[]) => void;
}
/** A command, planned from the live view. */
export interface Command<T> {
  /** Audit entry of a success, with the operation's id if the feature shows one; by default that of the request. */
  readonly line?: Line;
  /** Audit entry of a failure, to which the error code is added; by default that of the request. */
  readonly failedLine?: Line;
  /** Events that carry the operation's id as `caused_by` for `ms` milliseconds. */
  readonly causes?: { readonly expects: readonly ExpectedEvent[]; readonly ms: number };
  /**
   * True if the live view already shows the result. A round trip to the engine then proves that the view is
   * current, and the command is planned again.
   */
  readonly isSo?: boolean;
  /** Called right before the sending; the returned function is called at the end. */
  readonly enter?: () => () => void;
  /** Sends the command and resolves once the engine confirmed. */
  readonly run: (operationId: string) => Promise<T>;
  /**
   * How the success is audited: `first`, before the sending; `must`, after it, as part of the success; `try`,
   * after it, with a failure only logged; `no_line`: nothing was changed. A function stores the entry with
   * rows of its own; if it throws, the command failed.
   */
  readonly audit: 'first' | 'must' | 'try' | 'no_line' | ((line: AuditEntry) => Promise<void>);
  /** Undoes a failed command; resolves with the error to answer. */
  readonly undo?: (error: unknown) => unknown;
  /** Subject of the completion event, if the feature publishes one. */
  readonly about?: { readonly call_id: string | null; readonly extension: string | null };
  /** Work after the confirmation; the operation ends when it resolves or throws. */
  readonly rest?: (signal: AbortSignal, operationId: string) => Promise<void>;
}
export interface Performed<T> {
  readonly id: string;
  /** True while its `rest` is under way. */
  readonly pending: boolean;
  readonly value: T;
}
export interface RunOptions {
  /** Commands of one lane run one after the other. */
  readonly lane?: string;
  /** False for decisions of the service alone, which need no engine. */
  readonly engine?: boolean;
}
/** After these errors the outcome is unknown: the command was sent, and no fact came. */
const UNKNOWN: ReadonlySet<string> = new Set(['engine_timeout', 'engine_unavailable']);
const asServiceError = (error: unknown): ServiceError =>
  error instanceof ServiceError
    ? error
    : new ServiceError('internal', 'the operation failed', { cause: error });
/** Event that ends an operation; `error` is null after a success. */
function completed(
  operation_id: string,
  at: number,
  action: string,
  about: Command<unknown>['about'],
  error: ServiceError | null,
): DomainEvent {
  const state = error === null ? 'succeeded' : UNKNOWN.has(error.code) ? 'unknown' : 'failed';
  return {
    type: 'operation.completed',
    subject: `operations/${operation_id}`,
    at,
    observed: 'live',
    caused_by: operation_id,
    data: {
      operation_id,
      action,
      state,
      code: error?.code ?? null,
      detail: error?.message ?? null,
      call_id: about?.call_id ?? null,
      extension: about?.extension ?? null,
    },
  };
}

/** The commands of one feature. */
export class Commands {
  readonly #deps: CommandDeps;
  readonly #rules: CommandRules;
  readonly #atOnce: AtOnce | null;
  readonly #going = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  constructor(deps: CommandDeps, rules: CommandRules) {
    this.#deps = deps;
    this.#rules = rules;
    this.#atOnce = rules.limit === undefined ? null : new AtOnce(rules.limit.refusal);
  }

  /**
   * Plans a command and performs it; resolves once the engine confirmed. Throws the errors of `plan`, the
   * engine and the limits; never sends anything twice.
   */
  async run<T>(
    asked: Line,
    plan: (operationId: string) => Command<T> | Promise<Command<T>>,
    { lane, engine = true }: RunOptions = {},
  ): Promise<Performed<T>> {
    const { lanes, limit } = this.#rules;
    const id = `${this.#rules.prefix}-${randomUUID('operation')}`;
    let planned = false;
    const work = async (): Promise<Performed<T>> => {
      const command = await this.#planned(() => plan(id), engine);
      planned = true;
      this.#rules.ensureReady?.();
      return this.#perform(id, asked, command);
    };
    try {
      const inOrder = (): Promise<Performed<T>> =>
        lane === undefined || lanes === undefined ? work() : lanes.run(lane, work);
      return await (limit?.counts === 'asked' ? this.limited(asked.actor ?? '', inOrder) : inOrder());
    } catch (error) {
      if (planned) throw error;
      await this.refused(asked, error);
      throw markNotBegun(error);
    }
  }
  /** Counts work by other commands towards this actor's limit. */
  async limited<T>(actor: string, work: () => Promise<T>): Promise<T> {
    const leave = this.#atOnce?.enter(actor);
    try {
      return await work();
    } finally {
      leave?.();
    }
  }
  /** Attributes these events to the operation from now on. */
  expect(operation_id: string, expects: readonly ExpectedEvent[], ms: number): void {
    const at = this.#deps.clock.now();
    this.#deps.tell({ type: 'operation.sent', at, operation_id, until: at + ms, expects });
  }
  /** Audits a command that failed before it was sent. */
  async refused(asked: Line, error: unknown): Promise<void> {
    const { unsent } = this.#rules;
    if (unsent === 'no_line') return;
    const line = failureOf(asked, error);
    await this.#tryAudit(unsent === 'refused' ? { ...line, outcome: 'refused' } : line);
  }
  /** Ends operations under way, with an unknown outcome. */
  async close(): Promise<void> {
    const late = new ServiceError('engine_timeout', 'the service stopped before the outcome was known');
    this.#stop.abort(late);
    await Promise.allSettled(this.#going);
  }

  /** Waits for the engine to settle: a plan made while an earlier command runs would be outdated. */
  async #planned<T>(plan: () => Command<T> | Promise<Command<T>>, engine: boolean): Promise<Command<T>> {
    const { confirm_ms, ensureReady } = this.#rules;
    ensureReady?.();
    if (!engine) return plan();
    await this.#deps.engine.settled(confirm_ms);
    ensureReady?.();
    const command = await plan();
    if (command.isSo !== true) return command;
    await this.#deps.engine.roundTrip(confirm_ms);
    ensureReady?.();
    return plan();
  }
  async #perform<T>(id: string, asked: Line, command: Command<T>): Promise<Performed<T>> {
    const { limit } = this.#rules;
    const leave = limit?.counts === 'planned' ? this.#atOnce!.enter(asked.actor ?? '') : null;
    let rest: Promise<void> | null = null;
    try {
      const value = await this.#confirmed(id, asked, command);
      rest = this.#follow(id, asked.action, command);
      return { id, pending: rest !== null, value };
    } finally {
      if (rest === null) leave?.();
      else void rest.finally(() => leave?.());
    }
  }
  async #confirmed<T>(id: string, asked: Line, command: Command<T>): Promise<T> {
    const { causes, audit } = command;
    const success: AuditEntry = { ...(command.line ?? asked), outcome: 'ok' };
    if (audit === 'first') await this.#deps.audit.record(success);
    const end = command.enter?.();
    let value: T;
    try {
      if (causes !== undefined) this.expect(id, causes.expects, causes.ms);
      value = await command.run(id);
      if (typeof audit === 'function') await audit(success);
    } catch (thrown) {
      const error = command.undo === undefined ? thrown : await command.undo(thrown);
      this.#publish(id, asked.action, command, asServiceError(error));
      await this.#tryAudit(failureOf(command.failedLine ?? asked, error));
      // An undo sends its own commands, whose outcome is unknown in the same cases.
      const isUndone = command.undo !== undefined && !UNKNOWN.has(codeOf(error));
      // An error before the sending says so; what was sent earlier in the same command only prepared it.
      throw isUndone || effectOf(error) === false ? error : markUncertain(error);
    } finally {
      end?.();
    }
    if (audit === 'must') {
      try {
        await this.#deps.audit.record(success);
      } catch (error) {
        throw markUncertain(error);
      }
    }
    if (audit === 'try') await this.#tryAudit(success);
    return value;
  }
  /** Publishes the end of an operation, now or after its rest; null if it has no rest. */
  #follow(id: string, action: string, command: Command<unknown>): Promise<void> | null {
    if (command.rest === undefined) {
      this.#publish(id, action, command, null);
      return null;
    }
    const rest = command.rest(this.#stop.signal, id).then(
      () => this.#publish(id, action, command, null),
      (error: unknown) => this.#publish(id, action, command, asServiceError(error)),
    );
    this.#going.add(rest);
    void rest.finally(() => this.#going.delete(rest));
    return rest;
  }
  #publish(id: string, action: string, { about }: Command<unknown>, error: ServiceError | null): void {
    this.#rules.publish?.([completed(id, this.#deps.clock.now(), action, about, error)]);
  }
  async #tryAudit(entry: AuditEntry): Promise<void> {
    const { audit, log } = this.#deps;
    if (entry.outcome === 'refused' && this.#rules.mayAudit?.(entry.actor) === false) return;
    await audit.record(entry).catch((error: unknown) => {
      log.warn({ error: messageOf(error), action: entry.action }, 'a command could not be audited');
    });
  }
}
