/** Several calls of the person: the shown one, and buttons for the others. */
import type { ReactNode } from 'react';
import { Badge, Text, Title } from '@mantine/core';
import { ArrowRightLeft, Pause, Phone, PhoneCall, PhoneIncoming, PhoneOff } from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import { formatSpan } from '../app/format.ts';
import { useSince } from '../app/now.ts';
import { useClient } from '../app/session.tsx';
import { phone, usePhone } from '../phone/phone.ts';
import { ActionButton, ActionError, useAction } from './action.tsx';
import type { Action } from './action.tsx';
import { useShortcut } from './shortcuts.ts';
import { useHolding } from './use-desk.ts';
import type { ShownCalls } from './use-desk.ts';
import { otherParty, ownLeg } from './view.ts';
import type { OwnCall } from './view.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

const ICONS: Readonly<Record<OwnCall['state'], LucideIcon>> = {
  talking: PhoneCall,
  calling: Phone,
  held: Pause,
  ringing: PhoneIncoming,
};
const WORDS = { talking: 'talking', calling: 'calling', held: 'held', ringing: 'rings' } as const;

interface MyCallsProps {
  readonly extension: string;
  readonly calls: ShownCalls;
}
export function MyCalls({ extension, calls }: MyCallsProps): ReactNode {
  const action = useAction(calls.settling);
  const { switchTo } = useHolding();
  const { own, shown } = calls;
  const whoOf = ({ call }: OwnCall): string => {
    const { name, number } = otherParty(call, extension);
    return name || number || t('unknown_caller');
  };
  const labelOf = (one: OwnCall): string => t('switch_to', { who: whoOf(one) });
  const change = (one: OwnCall) => (): Promise<void> => {
    calls.choose(one.call.call_id);
    return switchTo(one, own);
  };
  const at = own.findIndex(({ call }) => call.call_id === shown?.call.call_id);
  // Cycles through the calls.
  const next = [...own.slice(at + 1), ...own.slice(0, Math.max(at, 0))].find(
    ({ state }) => state !== 'ringing',
  );
  useShortcut('s', next === undefined ? null : () => void action.run(labelOf(next), change(next)));
  return (
    <section aria-labelledby="desk-calls" className={styles.ownCalls}>
      <Title order={2} size="h5" id="desk-calls">
        {t('my_calls')}
      </Title>
      <ul className={styles.calls}>
        {own.map((one) => (
          <Row
            key={one.call.call_id}
            extension={extension}
            one={one}
            who={whoOf(one)}
            shown={one.call.call_id === shown?.call.call_id}
            action={action}
            talks={own.some(({ state }) => state === 'talking')}
            switching={{ label: labelOf(one), work: change(one), isNext: one === next }}
          />
        ))}
      </ul>
      <ActionError action={action} />
    </section>
  );
}
interface RowProps {
  readonly extension: string;
  readonly one: OwnCall;
  readonly who: string;
  readonly shown: boolean;
  /** True: answering holds another call. */
  readonly talks: boolean;
  readonly action: Action;
  readonly switching: {
    readonly label: string;
    readonly work: () => Promise<void>;
    readonly isNext: boolean;
  };
}
function Row({ extension, one, who, shown, talks, action, switching }: RowProps): ReactNode {
  const client = useClient();
  const { call, state } = one;
  const Icon = ICONS[state];
  const leg = ownLeg(call, extension);
  const span = useSince(state === 'held' ? leg?.since : leg?.answered_at);
  const incoming = usePhone().calls.filter((mine) => mine.state === 'incoming');
  const here = incoming.find((mine) => mine.call_id === call.call_id);
  // The key answers the first ringing call, shown or not.
  const first = incoming[0]?.id;
  return (
    <li className={styles.myCall} aria-current={shown ? 'true' : undefined} data-state={state}>
      <Icon size={20} aria-hidden className={styles.myCallIcon ?? ''} />
      <div className={styles.shrink}>
        <Text fw={650} truncate dir="auto">
          {who}
        </Text>
        <Text size="sm" component="div" className={styles.dotted}>
          <span className={styles.myCallState}>{t(WORDS[state])}</span>
          {span !== null && <span className={styles.ticking}>{formatSpan(span)}</span>}
        </Text>
      </div>
      {shown && (
        <Badge variant="filled" tt="none" size="lg" color="dark">
          {t('shown_call')}
        </Badge>
      )}
      {!shown && state !== 'ringing' && (
        <ActionButton
          action={action}
          label={switching.label}
          work={switching.work}
          variant="default"
          icon={<ArrowRightLeft size={18} aria-hidden />}
          {...(switching.isNext ? { shortcut: 's' } : {})}
        />
      )}
      {!shown && state === 'ringing' && (
        <>
          {here !== undefined && (
            <ActionButton
              action={action}
              label={t(talks ? 'hold_answer' : 'answer')}
              work={async () => phone.softphone?.answer(here.id)}
              {...(here.id === first ? { shortcut: 'a' } : {})}
              icon={<Phone size={18} aria-hidden />}
            />
          )}
          <ActionButton
            action={action}
            label={t('decline')}
            work={() => client.calls.hangup(call.call_id)}
            color="red.9"
            icon={<PhoneOff size={18} aria-hidden />}
          />
        </>
      )}
    </li>
  );
}
