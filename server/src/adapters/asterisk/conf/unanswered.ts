/** End of an unanswered call without a further destination. */
import { at, cause, hangUp } from './dialplan-text.ts';
import { conf } from './text.ts';
import type { ConfText } from './text.ts';

/** Sets OFFHOOK_BUSY if the called people were busy or declined. */
export const NOTE_BUSY = conf`Set(OFFHOOK_BUSY=$\{IF($["$\{DIALSTATUS}" = "BUSY" | "$\{HANGUPCAUSE}" = "${cause('rejected')}"]?1:0)})`;
/** A transferred caller is already connected and hears the result that a phone would show. First of `NOBODY_TOOK_IT`. */
export const IS_CONNECTED = conf`GotoIf($["$\{CHANNEL(state)}" = "Up"]?told)`;
export const NOBODY_TOOK_IT: readonly ConfText[] = [
  conf`GotoIf($\{OFFHOOK_BUSY}?busy)`,
  conf`Hangup($\{IF($["$\{DIALSTATUS}" = "NOANSWER"]?${cause('no_answer')}:${cause('absent')})})`,
  at(conf`busy`, hangUp('busy')),
  at(conf`told`, conf`GotoIf($\{OFFHOOK_BUSY}?tone)`),
  conf`Playback(vm-nobodyavail)`,
  conf`Hangup()`,
  at(conf`tone`, conf`Busy(10)`),
];
