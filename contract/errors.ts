import { z } from 'zod';

/** Languages of error texts; the first one is the default. */
export const LANGUAGES = ['en', 'tr', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** When a repeat of the same request can succeed. */
export type Retry = 'never' | 'later' | 'after_change';
export interface ErrorRow {
  readonly status: number;
  readonly retry: Retry;
  readonly title: string;
}

/**
 * The only registry of error codes. Tests compare `docs/errors.md`, the OpenAPI document and the code with it. Source: wire.md
 * sections 1, 2 and 5.
 */
export const ERRORS = {
  invalid_request: { status: 400, retry: 'after_change', title: 'The request is not valid' },
  bad_frame: { status: 400, retry: 'after_change', title: 'This frame of the stream cannot be read' },
  unknown_action: { status: 400, retry: 'after_change', title: 'This action does not exist' },
  unknown_reason: { status: 400, retry: 'after_change', title: 'This pause reason does not exist' },
  webhook_target_refused: {
    status: 400,
    retry: 'after_change',
    title: 'The service never sends requests to this address',
  },
  token_in_url: { status: 400, retry: 'after_change', title: 'A token does not belong in the address' },
  not_authenticated: { status: 401, retry: 'after_change', title: 'Sign in first' },
  invalid_credentials: { status: 401, retry: 'after_change', title: 'Unknown person or wrong password' },
  otp_required: { status: 401, retry: 'after_change', title: 'The second factor is missing or wrong' },
  sign_in_code_invalid: {
    status: 401,
    retry: 'after_change',
    title: 'The code for signing in is not valid',
  },
  company_sign_in_failed: {
    status: 401,
    retry: 'later',
    title: 'Signing in with the company account failed',
  },
  company_account_unknown: {
    status: 403,
    retry: 'never',
    title: 'Nobody of this site belongs to this company account',
  },
  company_sign_in_elsewhere: {
    status: 403,
    retry: 'never',
    title: 'The company account works at the public address of the site only',
  },
  account_disabled: { status: 403, retry: 'never', title: 'This account is not active' },
  forbidden: { status: 403, retry: 'never', title: 'Your level does not allow this' },
  second_factor_required: {
    status: 403,
    retry: 'after_change',
    title: 'Set up a second factor first',
  },
  confirmation_required: { status: 403, retry: 'after_change', title: 'Confirm the session first' },
  foreign_origin: { status: 403, retry: 'never', title: 'This origin may not use a cookie session' },
  destination_not_allowed: { status: 403, retry: 'never', title: 'You may not call this number' },
  not_found: { status: 404, retry: 'never', title: 'Not found' },
  no_such_queue: { status: 404, retry: 'after_change', title: 'This queue does not exist' },
  no_route: { status: 404, retry: 'after_change', title: 'No route leads to this number' },
  no_such_caller: { status: 404, retry: 'after_change', title: 'This caller is not waiting in the queue' },
  method_not_allowed: { status: 405, retry: 'after_change', title: 'This path does not support this method' },
  request_timeout: { status: 408, retry: 'later', title: 'The request did not arrive in time' },
  idempotency_conflict: { status: 409, retry: 'after_change', title: 'This key was used with another body' },
  otp_already_on: { status: 409, retry: 'after_change', title: 'The second factor is already on' },
  name_taken: { status: 409, retry: 'after_change', title: 'This name is in use' },
  webhook_disabled: { status: 409, retry: 'after_change', title: 'This webhook is disabled' },
  wrong_entry_state: {
    status: 409,
    retry: 'after_change',
    title: 'The entry of the connector is not in a state for this',
  },
  check_running: { status: 409, retry: 'later', title: 'A path check is already running' },
  replay_running: { status: 409, retry: 'later', title: 'A replay is under way' },
  limit_reached: { status: 409, retry: 'after_change', title: 'The limit is reached' },
  not_in_queue: { status: 409, retry: 'after_change', title: 'The agent is not a member of the queue' },
  not_in_wrap_up: { status: 409, retry: 'never', title: 'The agent is not in wrap-up' },
  static_member: { status: 409, retry: 'never', title: 'A static member cannot leave its queue' },
  position_unknown: {
    status: 409,
    retry: 'after_change',
    title: 'This position is not in the feed of changes',
  },
  file_not_ready: { status: 409, retry: 'later', title: 'The file is not ready yet' },
  in_use: { status: 409, retry: 'after_change', title: 'This is still in use' },
  callback_taken: { status: 409, retry: 'later', title: 'Another person calls this number back' },
  callback_closed: { status: 409, retry: 'never', title: 'The callback is closed' },
  call_gone: { status: 409, retry: 'never', title: 'The call or this leg has ended' },
  wrong_call_state: { status: 409, retry: 'after_change', title: 'The call is not in a state for this' },
  no_audio: { status: 409, retry: 'after_change', title: 'There is no audio to play' },
  device_unreachable: { status: 409, retry: 'later', title: 'No device is reachable' },
  device_no_answer: { status: 409, retry: 'later', title: "The caller's own device did not answer" },
  consult_no_answer: { status: 409, retry: 'later', title: 'The consulted number did not answer' },
  apply_running: { status: 409, retry: 'later', title: 'An apply of the configuration is under way' },
  apply_over: { status: 409, retry: 'never', title: 'The apply can no longer be cancelled' },
  node_not_ready: { status: 409, retry: 'later', title: 'This node cannot do that now' },
  config_drift: { status: 409, retry: 'after_change', title: 'Files of the engine were changed by hand' },
  draft_not_empty: { status: 409, retry: 'after_change', title: 'The draft already has changes' },
  file_gone: { status: 410, retry: 'never', title: 'The file no longer exists' },
  precondition_failed: { status: 412, retry: 'after_change', title: 'Changed by another request meanwhile' },
  body_too_large: { status: 413, retry: 'after_change', title: 'The body is larger than this path allows' },
  answer_too_large: {
    status: 413,
    retry: 'after_change',
    title: 'The answer is larger than a tool may give',
  },
  sound_too_large: { status: 413, retry: 'after_change', title: 'The upload is larger than 20 MB' },
  sound_too_long: { status: 413, retry: 'after_change', title: 'The sound is too long' },
  not_audio: { status: 415, retry: 'after_change', title: 'This audio format is not supported' },
  unsupported_media_type: { status: 415, retry: 'after_change', title: 'This content type is not supported' },
  range_not_satisfiable: { status: 416, retry: 'after_change', title: 'The range is not within the file' },
  invalid_configuration: { status: 422, retry: 'after_change', title: 'The configuration is not consistent' },
  upgrade_required: { status: 426, retry: 'after_change', title: 'This path accepts only WebSocket' },
  too_many_attempts: { status: 429, retry: 'later', title: 'Too many failed attempts' },
  too_many_requests: { status: 429, retry: 'later', title: 'Too many requests' },
  header_too_large: { status: 431, retry: 'after_change', title: 'The request headers are too large' },
  internal: { status: 500, retry: 'later', title: 'The service failed' },
  engine_refused: { status: 502, retry: 'after_change', title: 'The engine rejected the request' },
  engine_unavailable: { status: 503, retry: 'later', title: 'The engine is not connected' },
  node_not_active: { status: 503, retry: 'later', title: 'Another node leads this site' },
  store_unavailable: { status: 503, retry: 'later', title: 'The database is not available now' },
  speech_unavailable: { status: 503, retry: 'later', title: 'Text to speech is not available now' },
  overloaded: { status: 503, retry: 'later', title: 'The service is busy' },
  node_no_answer: { status: 504, retry: 'later', title: 'The leading node gave no answer' },
  engine_timeout: { status: 504, retry: 'later', title: 'The engine did not confirm in time' },
  storage_full: { status: 507, retry: 'later', title: 'There is not enough disk space' },
} as const satisfies Record<string, ErrorRow>;
export type ErrorCode = keyof typeof ERRORS;

/**
 * Body of every error: RFC 9457 problem+json, with `success` and `error` for existing clients. `type` is `/docs/errors#<code>`.
 */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    success: z.literal(false),
    error: z.string(),
    request_id: z.string().optional(),
    otp_required: z.literal(true).optional(),
    /** Only `invalid_request`: the fields that `detail` names, each with the rule that it breaks; `body` is the whole body. */
    errors: z.array(z.object({ path: z.string(), detail: z.string() })).optional(),
    /** Result per queue of an action that succeeded only partly and could not be undone. */
    queues: z.array(z.object({ queue: z.string(), ok: z.boolean(), detail: z.string() })).optional(),
    /** Findings of a configuration, at most 200 of `findings_total`. */
    findings: z
      .array(z.object({ kind: z.string(), key: z.string(), path: z.string(), detail: z.string() }))
      .optional(),
    findings_total: z.int().optional(),
    /** Objects that reference the one to delete, with their fields. */
    used_by: z.array(z.object({ kind: z.string(), key: z.string(), path: z.string() })).optional(),
    /** The current etag, if the object has changed since. */
    etag: z.string().optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem; `code` is a row of /docs/errors.' });
export type Problem = z.infer<typeof Problem>;
