/** What the phone of this page is and does, as the page and other parts of it see it. */
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
  /** The exchange is not reached since then (ms since 1970); it is tried again by itself. */
  | { readonly is: 'away'; readonly since: number }
  /** Another tab of this browser is the phone; `page` is its title, null while it has not said so. */
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
  /** Of this page alone. */
  readonly id: string;
  readonly direction: 'in' | 'out';
  readonly number: string;
  /** As the directory or the other side itself has it: anything may stand in it. Empty where neither does. */
  readonly name: string;
  /** `dialing` until the other side rings; `incoming` until it is answered here. */
  readonly state: 'dialing' | 'ringing' | 'incoming' | 'connecting' | 'talking' | 'held' | 'ended';
  /** Milliseconds since 1970 by the service's clock. */
  readonly began: number;
  readonly answered: number | null;
  readonly muted: boolean;
  /** The sound is being brought back after the network was away. */
  readonly mending: boolean;
  /** It asks whether a call goes on to there, and this is that call's id. */
  readonly consultFor: string | null;
  readonly quality: CallQuality | null;
  /** Null also for a moment after the end: whether somebody else answered is not known at once. */
  readonly end: CallEnd | null;
  /** Of the exchange, once it is known which of its calls this is. */
  readonly call_id: string | null;
  /** Of this phone in that call. */
  readonly leg_id: string | null;
  /** What the exchange rings this phone for on its person's own behalf; null for every other call. */
  readonly placed: NonNullable<CallState['placed']> | null;
  /** This side holds the other one over the API, of which the phone itself knows nothing. */
  readonly held_there: boolean;
  /** When this side was connected, by the exchange, ms since 1970; null until that is known. */
  readonly connected_at: number | null;
  /** The other side of what was placed; null while it neither rings nor talks. */
  readonly there: 'rings' | 'up' | null;
}
/** What went wrong last, until it is dismissed or something else is done. */
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
/** In a conversation, or on hold. */
/** The other side hears music, whoever of us holds it. */
export const isHeld = (call: PhoneCall): boolean =>
  call.state === 'held' || (call.state === 'talking' && call.held_there);
export const isUp = (call: PhoneCall): boolean => call.state === 'talking' || call.state === 'held';
