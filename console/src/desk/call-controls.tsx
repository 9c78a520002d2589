import { Suspense, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Button } from '@mantine/core';
import { ArrowRightLeft, PhoneCall, PhoneOff, Pause, Play, SquareParking } from 'lucide-react';
import type { Agent } from '@offhook/contract/agents.ts';
import { useClient } from '../app/session.tsx';
import { park } from '../phone/extras.tsx';
import { phone, usePhone } from '../phone/phone.ts';
import { ActionButton, ActionError, Key, useAction } from './action.tsx';
import { useShortcut } from './shortcuts.ts';
import { useHolding } from './use-desk.ts';
import { ownLeg } from './view.ts';
import type { OwnCall } from './view.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';
import { late } from '../app/late.tsx';

const t = wordsOf('desk');

const TransferPanel = late(async () => (await import('./transfer-panel.tsx')).TransferPanel);

interface CallControlsProps {
  readonly agent: Agent;
  readonly one: OwnCall;
  /** The call has just replaced another one: a press may be meant for that one and does nothing. */
  readonly settling: boolean;
}
export function CallControls({ agent, one, settling }: CallControlsProps): ReactNode {
  const { call } = one;
  const { hold: setHold } = useHolding();
  const client = useClient();
  const action = useAction(settling);
  const [transfer, setTransfer] = useState(false);
  const id = call.call_id;
  const leg = ownLeg(call, agent.extension);
  const up = leg !== undefined && (leg.state === 'connected' || leg.state === 'held');
  const held = leg?.held === true;
  // Also shows a consultation that began before this page was loaded, or on another page.
  const consulting = up && call.legs.filter((leg) => leg.state !== 'calling').length > 2;
  useEffect(() => {
    if (consulting) setTransfer(true);
  }, [consulting]);
  const incoming = usePhone().calls.filter((mine) => mine.state === 'incoming');
  const here = incoming.find((mine) => mine.call_id === id);
  const doHold = (): Promise<unknown> => setHold(one, !held);
  const doHangUp = (): Promise<unknown> => client.calls.hangup(id);
  const hangUp = t(leg?.state === 'ringing' ? 'decline' : 'hang_up');
  const hold = t(held ? 'retrieve' : 'hold');
  const doPark = (): Promise<unknown> => park(client, id);
  const parks = up && !consulting && call.legs.length > 1;
  useShortcut('g', parks ? () => void action.run(t('park'), doPark) : null);
  useShortcut('h', up ? () => void action.run(hold, doHold) : null);
  useShortcut('x', leg === undefined ? null : () => void action.run(hangUp, doHangUp));
  useShortcut('t', up && !settling ? () => setTransfer(true) : null);
  return (
    <>
      <div className={styles.controls}>
        {here !== undefined && (
          <ActionButton
            action={action}
            label={t('answer')}
            work={async () => phone.softphone?.answer(here.id)}
            {...(here === incoming[0] ? { shortcut: 'a' } : {})}
            icon={<PhoneCall size={18} aria-hidden />}
          />
        )}
        {up && (
          <>
            <ActionButton
              action={action}
              label={hold}
              work={doHold}
              shortcut="h"
              variant={held ? 'filled' : 'default'}
              icon={held ? <Play size={18} aria-hidden /> : <Pause size={18} aria-hidden />}
            />
            {parks && (
              <ActionButton
                action={action}
                label={t('park')}
                work={doPark}
                shortcut="g"
                variant="default"
                icon={<SquareParking size={18} aria-hidden />}
              />
            )}
            <Button
              variant="default"
              aria-expanded={transfer}
              aria-keyshortcuts="t"
              aria-disabled={settling}
              leftSection={<ArrowRightLeft size={18} aria-hidden />}
              rightSection={<Key name="t" />}
              onClick={() => setTransfer(settling ? transfer : !transfer)}
            >
              {t('transfer')}
            </Button>
          </>
        )}
        {leg !== undefined && (
          <ActionButton
            action={action}
            label={hangUp}
            work={doHangUp}
            shortcut="x"
            color="red.9"
            icon={<PhoneOff size={18} aria-hidden />}
          />
        )}
      </div>
      <ActionError action={action} />
      {transfer && up && (
        <Suspense>
          <TransferPanel call={call} onClose={() => setTransfer(false)} />
        </Suspense>
      )}
    </>
  );
}
