/** Presence as a sign and a word, never by colour alone. */
import type { ReactNode } from 'react';
import {
  Ban,
  BellDot,
  BellRing,
  CircleCheck,
  CircleDashed,
  CircleHelp,
  CircleOff,
  Clock,
  Coffee,
  Luggage,
  MessageCircle,
  Pause,
  PhoneCall,
  PhoneOff,
  Smartphone,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import { useQuery } from '@tanstack/react-query';
import type { Reachability } from '@offhook/contract/extensions.ts';
import { pauseReasonsQuery } from '../app/queries.ts';
import { useClient, useMay } from '../app/session.tsx';
import type { Shown, Word } from './state.ts';
import { wordsOf } from '../app/words.ts';
import styles from './presence.module.css';

const t = wordsOf('presence');

export const SIGN: Readonly<Record<Word, LucideIcon>> = {
  available: CircleCheck,
  chat: MessageCircle,
  in_call: PhoneCall,
  on_hold: Pause,
  ringing: BellRing,
  dnd: Ban,
  away: Clock,
  xa: Luggage,
  unavailable: CircleOff,
  not_ready: Coffee,
  offline: CircleDashed,
  unknown: CircleHelp,
};
/** Reasons that the service sets itself, which are not in the catalogue. */
const OWN = ['wrapup', 'no_answer', 'login'] as const;
/** The word, or the title of an agent's pause reason, which agents and higher levels may read. */
function useWord({ word, reason }: Shown): string {
  const own = OWN.find((one) => one === reason);
  const enabled = useMay('agent') && reason !== null && own === undefined;
  const { data } = useQuery({ ...pauseReasonsQuery(useClient()), enabled });
  if (reason === null) return t(word);
  if (own !== undefined) return t(`reason_${own}`);
  return data?.find(({ id }) => id === reason)?.name ?? reason;
}

function PresenceSign({ shown, size = 16 }: { readonly shown: Shown; readonly size?: number }): ReactNode {
  const Sign = SIGN[shown.word];
  return <Sign size={size} aria-hidden className={styles[shown.tone] ?? ''} />;
}
export const PresenceBadge = ({
  shown,
  children,
}: {
  readonly shown: Shown;
  readonly children?: ReactNode;
}): ReactNode => (
  <span className={`${styles.badge} ${styles[shown.tone] ?? ''}`} data-word={shown.word}>
    <PresenceSign shown={shown} />
    <span className={styles.word}>{useWord(shown)}</span>
    {children}
  </span>
);

const DEVICES: Readonly<Record<Reachability, readonly [LucideIcon, Parameters<typeof t>[0]]>> = {
  online: [Smartphone, 'online'],
  push_only: [BellDot, 'push_only'],
  offline: [PhoneOff, 'devices_offline'],
  unknown: [CircleHelp, 'devices_unknown'],
};
/** Reachability of a person's devices. */
export function DevicesSign({ reachability }: { readonly reachability: Reachability }): ReactNode {
  const [Sign, word] = DEVICES[reachability];
  return (
    <span
      className={`${styles.devices} ${reachability === 'online' ? styles.ok : styles.idle}`}
      title={t(word)}
      role="img"
      aria-label={t(word)}
    >
      <Sign size={16} aria-hidden />
    </span>
  );
}
