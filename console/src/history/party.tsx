/** Who took part, as people say it. What a caller sent as its name is text like any other. */
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
import { t } from './words.ts';

export type Party = ConversationSummary['parties'][number];
export const numberOf = (party: Party): string => party.extension ?? party.number;
export const nameOf = (party: Party): string => party.name || numberOf(party) || t('nobody');

/** `Ayşe Kaya 1002`; the number is left out where it is the name. */
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
/** Who is on the other side for this extension; for nobody's eyes in particular, who called and who was wanted. */
export function sidesOf(
  c: Pick<ConversationSummary, 'caller' | 'parties' | 'dialled'>,
  own: string | null,
): readonly Party[] {
  const dialled: Party = { extension: null, number: c.dialled, number_e164: null, name: '', trunk: null };
  const first = c.caller ?? c.parties[0] ?? dialled;
  const same = (a: Party, b: Party): boolean => numberOf(a) === numberOf(b) && a.name === b.name;
  const others = c.parties.filter((p) => !same(p, first));
  const second = others[0] ?? dialled;
  if (own === null) return [first, second];
  if (first.extension !== own) return [first];
  return [others.find((p) => p.extension !== own) ?? dialled];
}
/** The number by which the other side is called back; null where none was shown. */
export function callBackOf(
  c: Pick<ConversationSummary, 'caller' | 'parties' | 'dialled'>,
  own: string,
): string | null {
  const [other] = sidesOf(c, own);
  if (other === undefined || other.extension === own) return null;
  const number = other.extension ?? other.number_e164 ?? other.number;
  return /^[+\d*#]/.test(number) ? number : null;
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
export const dispositionText = ({ disposition, state }: Pick<Shown, 'disposition' | 'state'>): string =>
  state === 'open' ? t('in_progress') : t(`disposition_${disposition}`);
