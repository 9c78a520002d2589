/**
 * Why an engine (or any other package) could not be had:
 * `unsupported` this machine cannot get it by itself · `unreachable` the mirror did not answer ·
 * `untrusted` what came does not carry the signature or the hash it must · `outdated` its index is signed and too old · `missing` the mirror has no such package ·
 * `disk` no room or no right to write · `invalid_program` the Asterisk that was named is not usable · `failed` anything else.
 */
export type ProvisionReason =
  | 'unsupported'
  | 'unreachable'
  | 'untrusted'
  | 'outdated'
  | 'missing'
  | 'disk'
  | 'invalid_program'
  | 'failed';

/** One sentence for people in `message`; nothing partial remains when it is thrown. */
export class ProvisionError extends Error {
  readonly reason: ProvisionReason;
  constructor(reason: ProvisionReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ProvisionError';
    this.reason = reason;
  }
}
