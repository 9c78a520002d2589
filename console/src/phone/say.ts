/** Words for a call, wherever it is shown. */
import { isHeld, isUp } from './phone-state.ts';
import type { PhoneCall } from './phone-state.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('phone');

export const whoOf = ({ name, number }: Pick<PhoneCall, 'name' | 'number'>): string =>
  name || number || t('unknown_caller');
/** The other side is connected: a placed call is answered here before it rings there. */
export const isMet = ({ placed, there }: PhoneCall): boolean => placed === null || there === 'up';
export function stateWords(call: PhoneCall): string {
  const { state, placed, there } = call;
  if (state === 'ended') return t(`end_${call.end ?? 'over'}`);
  if (call.mending) return t('mending');
  if (isHeld(call)) return t('held');
  if (placed === null) return t(state);
  if (state === 'incoming') return t(`placed_${placed}`);
  if (placed === 'listen') return t(state === 'talking' ? 'listening' : state);
  return isUp(call) && !isMet(call) ? t(there === 'rings' ? 'ringing' : 'connecting') : t(state);
}
/** Short, because the call itself shows what to do. */
export const titleWords = (call: PhoneCall): string =>
  call.state === 'incoming' && call.placed !== null ? t('phone') : stateWords(call);
/** Announces a ringing call to a screen reader. */
export function ringingWords(call: PhoneCall, key: 'incoming_from' | 'waiting_from'): string {
  return call.placed === null ? t(key, { who: whoOf(call) }) : `${whoOf(call)}: ${stateWords(call)}`;
}
