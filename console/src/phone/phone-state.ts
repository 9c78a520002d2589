/** State of the phone of this page. */
import type { CallState } from '@offhook/client';
import type { CallQuality } from './quality.ts';

/** Why the phone cannot be used on this page. */
export type PhoneProblem =
  | 'microphone_refused'
  | 'no_microphone'
  | 'microphone_busy'
  | 'insecure'
  | 'unsupported'
  | 'sign_in_refused'
  | 'failed';
export type PhoneStatus =
  | { readonly is: 'off' }
  | { readonly is: 'starting' }
  | { readonly is: 'ready' }
  /** The exchange cannot be reached since then (ms since 1970); the phone reconnects by itself. */
  | { readonly is: 'away'; readonly since: number }
  /** Another tab of this browser is the phone; `page` is its title, null until it has answered. */
  | { readonly is: 'elsewhere'; readonly page: string | null; readonly calls: number }
  | { readonly is: 'refused'; readonly problem: PhoneProblem };

export type CallEnd =
  | 'over'
  | 'busy'
  | 'no_answer'
  | 'declined'
  | 'missed'
  | 'answered_elsewhere'
  | 'not_found'
  | 'not_allowed'
  | 'transferred'
  | 'lost'
  | 'failed';
export interface PhoneCall {
  /** Known to this page only. */
  readonly id: string;
  readonly direction: 'in' | 'out';
  readonly number: string;
  /** From the directory, or sent by the other side and then untrusted; empty where neither has one. */
  readonly name: string;
  /** `dialing` until the other side rings; `incoming` until this phone answers. */
  readonly state: 'dialing' | 'ringing' | 'incoming' | 'connecting' | 'talking' | 'held' | 'ended';
  /** Milliseconds since 1970 by the service's clock. */
  readonly began: number;
  readonly answered: number | null;
  readonly muted: boolean;
  /** The sound is being restored after the network was away. */
  readonly mending: boolean;
  /** For a consultation: the id of the call it is for. */
  readonly consultFor: string | null;
  readonly quality: CallQuality | null;
  /** Also null shortly after the end, until it is known whether another device answered. */
  readonly end: CallEnd | null;
  /** The exchange's id; null until the call is matched. */
  readonly call_id: string | null;
  /** This phone's leg in that call. */
  readonly leg_id: string | null;
  /** The command for which the exchange rings this phone; null for every other call. */
  readonly placed: NonNullable<CallState['placed']> | null;
  /** Held over the API, which SIP does not report to the phone. */
  readonly held_there: boolean;
  /** Start of the hold by the exchange, ms since 1970; null without one. */
  readonly held_since: number | null;
  /** Time of this side's connection by the exchange, ms since 1970; null until that is known. */
  readonly connected_at: number | null;
  /** The other side of a placed call; null while it neither rings nor talks. */
  readonly there: 'rings' | 'up' | null;
}
/** The last failure, until it is dismissed or the next step begins. */
export type PhoneTrouble =
  | PhoneProblem
  | 'away'
  | 'not_a_number'
  | 'hold_refused'
  | 'transfer_refused'
  | 'too_many_calls'
  | 'device_gone';
export interface PhoneState {
  readonly status: PhoneStatus;
  readonly calls: readonly PhoneCall[];
  readonly trouble: PhoneTrouble | null;
}
export const isLive = (call: PhoneCall): boolean => call.state !== 'ended';
/** The other side is on hold, over SIP or over the API. */
export const isHeld = (call: PhoneCall): boolean =>
  call.state === 'held' || (call.state === 'talking' && call.held_there);
/** Talking or on hold. */
export const isUp = (call: PhoneCall): boolean => call.state === 'talking' || call.state === 'held';
