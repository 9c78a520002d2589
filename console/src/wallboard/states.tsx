/** States of agents: each has a word, a shape and a colour, so that none depends on colour alone. */
import type { ReactNode } from 'react';
import {
  BellRing,
  CirclePause,
  CircleCheck,
  ClipboardPen,
  Coffee,
  LogOut,
  OctagonAlert,
  PhoneCall,
  PhoneMissed,
  PhoneOutgoing,
  TriangleAlert,
  Unplug,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { AgentState } from '@offhook/contract/agents.ts';
import { formatNumber } from '../app/format.ts';
import { AGENT_STATES } from './model.ts';
import type { StateCounts } from './model.ts';
import type { Alarm } from './thresholds.ts';
import { wordsOf } from '../app/words.ts';
import styles from './board.module.css';

const t = wordsOf('wallboard');

const ICONS: Readonly<Record<AgentState, LucideIcon>> = {
  available: CircleCheck,
  offered: BellRing,
  talking: PhoneCall,
  held: CirclePause,
  wrap_up: ClipboardPen,
  busy_other: PhoneOutgoing,
  not_ready: Coffee,
  not_responding: PhoneMissed,
  unreachable: Unplug,
  logged_out: LogOut,
};
export const stateWord = (state: AgentState): string =>
  t(state === 'offered' ? 'offered_state' : state === 'busy_other' ? 'other_call' : state);
export function StateIcon({ state }: { readonly state: AgentState }): ReactNode {
  const Icon = ICONS[state];
  return <Icon className={styles.icon} aria-hidden />;
}
/** Renders nothing without an alarm. */
export function AlarmMark({
  alarm,
  worded = false,
}: {
  readonly alarm: Alarm;
  readonly worded?: boolean;
}): ReactNode {
  if (alarm === 'calm') return null;
  const Icon = alarm === 'alert' ? OctagonAlert : TriangleAlert;
  return (
    <span className={styles.mark} data-alarm={alarm}>
      <Icon className={styles.icon} aria-hidden />
      <span className={worded ? undefined : styles.hidden}>{t(alarm)}</span>
    </span>
  );
}
/** A bar of agents by state, with its numbers in words below it. */
export function StateBar({
  counts,
  empty,
}: {
  readonly counts: StateCounts;
  readonly empty: string;
}): ReactNode {
  const parts = AGENT_STATES.map((state) => ({ state, count: counts[state] ?? 0 })).filter(
    ({ count }) => count > 0,
  );
  if (parts.length === 0) return <p className={styles.nobody}>{empty}</p>;
  return (
    <div className={styles.states}>
      <div className={styles.bar} aria-hidden>
        {parts.map(({ state, count }) => (
          <span key={state} data-state={state} style={{ flexGrow: count }} />
        ))}
      </div>
      <ul className={styles.counts}>
        {parts.map(({ state, count }) => (
          <li key={state} data-state={state}>
            <StateIcon state={state} />
            <b>{formatNumber(count)}</b> <span>{stateWord(state)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
