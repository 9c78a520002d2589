import { Suspense, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group } from '@mantine/core';
import { ArrowRightLeft, PhoneOff, Pause, Play } from 'lucide-react';
import type { CallState } from '@offhook/client';
import type { Agent } from '@offhook/contract/agents.ts';
import { useClient } from '../app/session.tsx';
import { ActionButton, ActionError, Key, useAction } from './action.tsx';
import { useShortcut } from './shortcuts.ts';
import { ownLeg } from './view.ts';
import { t } from './words.ts';
import styles from './desk.module.css';
import { late } from '../app/late.tsx';

const TransferPanel = late(async () => (await import('./transfer-panel.tsx')).TransferPanel);

interface CallControlsProps {
  readonly agent: Agent;
  readonly call: CallState;
}
export function CallControls({ agent, call }: CallControlsProps): ReactNode {
  const client = useClient();
  const action = useAction();
  const [transfer, setTransfer] = useState(false);
  const id = call.call_id;
  const leg = ownLeg(call, agent.extension);
  const up = leg !== undefined && (leg.state === 'connected' || leg.state === 'held');
  const held = leg?.held === true;
  // A consult that was begun before this page was loaded, or by another one, is shown too.
  const consulting = up && call.legs.filter((one) => one.state !== 'calling').length > 2;
  useEffect(() => {
    if (consulting) setTransfer(true);
  }, [consulting]);
  const doHold = (): Promise<unknown> => (held ? client.calls.retrieve(id) : client.calls.hold(id));
  const doHangUp = (): Promise<unknown> => client.calls.hangup(id);
  const hangUp = t(leg?.state === 'ringing' ? 'decline' : 'hang_up');
  const hold = t(held ? 'retrieve' : 'hold');
  useShortcut('h', up ? () => void action.run(hold, doHold) : null);
  useShortcut('x', leg === undefined ? null : () => void action.run(hangUp, doHangUp));
  useShortcut('t', up ? () => setTransfer(true) : null);
  return (
    <>
      <Group gap="xs" className={styles.controls ?? ''}>
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
            <Button
              variant="default"
              aria-expanded={transfer}
              aria-keyshortcuts="t"
              leftSection={<ArrowRightLeft size={18} aria-hidden />}
              rightSection={<Key name="t" />}
              onClick={() => setTransfer(!transfer)}
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
      </Group>
      <ActionError action={action} />
      {transfer && up && (
        <Suspense>
          <TransferPanel call={call} onClose={() => setTransfer(false)} />
        </Suspense>
      )}
    </>
  );
}
