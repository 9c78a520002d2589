import type { CLOSE_CODES, STREAM_PROTOCOL, ServerFrame } from '@offhook/contract/stream.ts';

// Only types are imported from the contract: its values would bundle its validator.
export const PROTOCOL: typeof STREAM_PROTOCOL = 'offhook.v1';
export const CLOSE: Pick<
  typeof CLOSE_CODES,
  'bad_frame' | 'not_authenticated' | 'not_allowed' | 'session_ended' | 'protocol_unknown'
> = {
  bad_frame: 4400,
  not_authenticated: 4401,
  not_allowed: 4403,
  session_ended: 4409,
  protocol_unknown: 4412,
};
/** Null for anything that is not a frame. */
export function parsed(data: unknown): ServerFrame | null {
  try {
    return JSON.parse(String(data)) as ServerFrame;
  } catch {
    return null;
  }
}
