import { ERRORS } from '@offhook/contract/errors.ts';
import type { ErrorCode, Language, Problem } from '@offhook/contract/errors.ts';
import { spoken } from './said.ts';
import type { Said } from './said.ts';
import { errorTexts, textIn } from './words.ts';

/** A fault of an input: the field and the rule it breaks. */
export interface Fault {
  readonly path: string;
  readonly rule: Said | string;
}
export interface ErrorExtras {
  readonly cause?: unknown;
  /** Faults that the detail lists; absent: the only one, if the detail of an `invalid_request` is `<field>: <rule>`. */
  readonly faults?: readonly Fault[];
  /** Seconds for the `Retry-After` header. */
  readonly retry_after_seconds?: number;
  /** Members added to the problem body. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Further members, with texts in the language of the reader. */
  readonly bodyIn?: (language: Language) => Readonly<Record<string, unknown>>;
}

/** The one error class of the service: `code` is a row of the registry, `message` is for people. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly extras: ErrorExtras;
  /** The parts of the message, so that it can be translated. */
  readonly detail: Said | string;
  constructor(code: ErrorCode, detail: Said | string, extras: ErrorExtras = {}) {
    super(spoken(detail), extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.detail = detail;
    this.extras = extras;
  }
  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** A failed start: `code` is stable and listed in docs/runbook.md, the message is one sentence with the remedy. */
export class StartError extends Error {
  readonly code:
    | 'node_name_taken'
    | 'node_renamed'
    | 'store_damaged'
    | 'store_missing'
    | 'store_newer'
    | 'store_older';
  constructor(code: StartError['code'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StartError';
    this.code = code;
  }
}

/** True for the error of a change that may have taken effect, false for one of a change that had not begun. */
const effects = new WeakMap<Error, boolean>();
/** Marks the error of a change that may have taken effect; returns it. */
export function markUncertain(thrown: unknown): unknown {
  if (thrown instanceof Error) effects.set(thrown, true);
  return thrown;
}
/** Marks the error of a change that had not begun, unless it is marked as uncertain; returns it. */
export function markNotBegun(thrown: unknown): unknown {
  if (thrown instanceof Error && !effects.has(thrown)) effects.set(thrown, false);
  return thrown;
}
/** Whether the change that failed with this error may have taken effect; undefined if only its status is known. */
export const effectOf = (thrown: unknown): boolean | undefined =>
  thrown instanceof Error ? effects.get(thrown) : undefined;

/** True for a failure with this code. */
export const hasCode = (error: unknown, code: ErrorCode): error is ServiceError =>
  error instanceof ServiceError && error.code === code;
/** The message of any thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const FIELD_RULE = /^([a-z]\w*(?:\.[\w-]+)*): (.+)$/s;
/** The fields that an error names, with their rules. */
function fieldErrors(
  { detail, extras: { faults } }: ServiceError,
  language: Language,
): NonNullable<Problem['errors']> {
  if (faults !== undefined) return faults.map(({ path, rule }) => ({ path, detail: textIn(rule, language) }));
  const [, path, rule] = FIELD_RULE.exec(textIn(detail, language)) ?? [];
  return path === undefined || rule === undefined ? [] : [{ path, detail: rule }];
}

const MAX_DETAIL = 600;
/** The public part of an error, without stack and cause; an unknown error is `internal`. */
export function problemOf(thrown: unknown, requestId?: string, language: Language = 'en'): Problem {
  const error =
    thrown instanceof ServiceError ? thrown : new ServiceError('internal', 'the service failed; see its log');
  const row = ERRORS[error.code];
  const { title, detail: whole } = errorTexts(error.code, error.detail, language);
  const detail = whole.length > MAX_DETAIL ? `${whole.slice(0, MAX_DETAIL)}…` : whole;
  const errors = error.code === 'invalid_request' ? fieldErrors(error, language) : [];
  return {
    type: `/docs/errors#${error.code}`,
    title,
    status: row.status,
    detail,
    code: error.code,
    success: false,
    error: detail,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(errors.length === 0 ? {} : { errors }),
    ...error.extras.body,
    ...error.extras.bodyIn?.(language),
  };
}
