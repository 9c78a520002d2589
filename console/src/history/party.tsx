/** Parties of a conversation in words. A name sent by a caller is plain text. */
import type { ReactNode } from 'react';
import { Text } from '@mantine/core';
import {
  ArrowLeftRight,
  Bot,
  Phone,
  PhoneCall,
  PhoneIncoming,
  PhoneMissed,
  PhoneOff,
  PhoneOutgoing,
  Shuffle,
  Voicemail,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { numberOf } from './sides.ts';
import type { Party } from './sides.ts';
import { wordsOf } from '../app/words.ts';

const dispositionWord = wordsOf('dispositions');
const t = wordsOf('history');

export const nameOf = (party: Party): string => party.name || numberOf(party) || t('nobody');

/** `Ayşe Kaya 1002`; without the number if that is the name. */
export function PartyText({ party }: { readonly party: Party }): ReactNode {
  const [name, number] = [nameOf(party), numberOf(party)];
  return (
    <>
      <Text span inherit fw={600}>
        {name}
      </Text>
      {number !== '' && number !== name && (
        <Text span inherit c="dimmed">
          {` ${number}`}
        </Text>
      )}
    </>
  );
}
type Shown = Pick<ConversationSummary, 'direction' | 'disposition' | 'state'>;
const UNANSWERED: Readonly<Partial<Record<Shown['disposition'], LucideIcon>>> = {
  missed: PhoneMissed,
  abandoned_in_queue: PhoneMissed,
  failed: PhoneOff,
  blocked: PhoneOff,
  voicemail: Voicemail,
  self_service: Bot,
};
const BY_DIRECTION = {
  in: PhoneIncoming,
  out: PhoneOutgoing,
  internal: ArrowLeftRight,
  transit: Shuffle,
} as const;
export function iconOf({ direction, disposition, state }: Shown): LucideIcon {
  if (state === 'open') return PhoneCall;
  return UNANSWERED[disposition] ?? BY_DIRECTION[direction] ?? Phone;
}
export function colourOf({ disposition, state }: Pick<Shown, 'disposition' | 'state'>): string {
  if (state === 'open') return 'var(--offhook-info)';
  switch (disposition) {
    case 'answered':
      return 'var(--offhook-ok)';
    case 'missed':
    case 'abandoned_in_queue':
      return 'var(--offhook-alert)';
    case 'failed':
    case 'blocked':
      return 'var(--offhook-warn)';
    case 'voicemail':
    case 'self_service':
    case 'callback_requested':
      return 'var(--offhook-idle)';
  }
}
/** A placed call that the caller's own devices did not answer: the other side never rang, so it missed nothing. */
const neverRang = ({ disposition, direction, queues, caller, extensions }: Ended): boolean =>
  disposition === 'missed' &&
  direction === 'internal' &&
  queues.length === 0 &&
  caller?.extension != null &&
  extensions.every((extension) => extension === caller.extension);
type Ended = Shown & Pick<ConversationSummary, 'queues' | 'caller' | 'extensions'>;
export const dispositionText = (c: Ended): string => {
  if (c.state === 'open') return t('in_progress');
  return neverRang(c) ? t('never_rang') : dispositionWord(`disposition_${c.disposition}`);
};
