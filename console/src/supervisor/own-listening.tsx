/** The supervisor's listening call: changes between listening, whispering and joining without ringing again. */
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Paper, Text } from '@mantine/core';
import { Ear, Mic, PhoneOff, UsersRound } from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import { OffhookError } from '@offhook/client';
import type { CallState } from '@offhook/client';
import { formatSpan } from '../app/format.ts';
import { useLive, useRecord, useTopic } from '../app/live.ts';
import { useSince } from '../app/now.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMe } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { MONITORS, useAsk } from './ask.ts';
import type { Monitor } from './ask.ts';
import { isListening, listenedTo, nameOf } from './supervise.ts';
import { wordsOf } from '../app/words.ts';
import styles from './supervisor.module.css';

const t = wordsOf('supervisor');

const ICONS: Readonly<Record<Monitor, LucideIcon>> = { listen: Ear, whisper: Mic, barge: UsersRound };
/** Newest action in the own call; the engine does not report it. */
const begun = new Map<string, { readonly does: Monitor; readonly call_id: string }>();
export const noteBegun = (own_call_id: string | null, does: Monitor, call_id: string): void => {
  if (own_call_id !== null) begun.set(own_call_id, { does, call_id });
};

export function OwnListening(): ReactNode {
  const me = useMe();
  const { records } = useTopic('calls');
  const own = [...records.values()].find((call) => isListening(call, me.extension));
  return own === undefined ? null : <Bar key={own.call_id} own={own} calls={records} />;
}
interface BarProps {
  readonly own: CallState;
  readonly calls: ReadonlyMap<string, CallState>;
}
function Bar({ own, calls }: BarProps): ReactNode {
  const client = useClient();
  const me = useMe();
  const ask = useAsk();
  const [does, setDoes] = useState(() => begun.get(own.call_id)?.does ?? null);
  const topic = useLive().topic('calls');
  useEffect(
    () =>
      // A reply that came too late leaves its outcome open; the event of the result settles it.
      topic.onEvent(({ type, data }) => {
        if (type !== 'operation.completed' || data.state !== 'succeeded') return;
        const done = MONITORS.find((one) => data.action === `calls.${one}`);
        if (done === undefined || data.extension !== me.extension || data.call_id === null) return;
        noteBegun(own.call_id, done, data.call_id);
        setDoes(done);
      }),
    [topic, me.extension, own.call_id],
  );
  const target = listenedTo(own, calls.values(), me.extension, begun.get(own.call_id)?.call_id);
  const agent = useRecord('agents', own.dialled);
  const name = agent?.name ?? (target === null ? own.dialled : nameOf(target.side) || own.dialled);
  const since = useSince(own.started_at);
  const change = useOnce({
    async mutationFn(next: Monitor) {
      if (target === null) return;
      const { operation } = await client.calls[next](target.call_id, { leg_id: target.side.leg_id });
      noteBegun(operation.own_call_id, next, target.call_id);
      setDoes(next);
    },
    onError(error, next) {
      // The site requires the password: the dialog asks for it and continues.
      if (error instanceof OffhookError && error.code === 'confirmation_required' && target !== null)
        ask({ is: 'monitor', does: next, call_id: target.call_id, leg_id: target.side.leg_id, name });
      else tellFailure(error);
    },
  });
  const end = useOnce({ mutationFn: () => client.calls.hangup(own.call_id), onError: tellFailure });
  return (
    <Paper withBorder component="section" aria-label={t('own_listening')} className={styles.own ?? ''}>
      <div className={styles.cell}>
        <Text fw={650}>{t('listens_now', { name })}</Text>
        <span className={styles.since}>{formatSpan(since)}</span>
      </div>
      <Group gap="xs">
        {MONITORS.map((one) => {
          const Icon = ICONS[one];
          return (
            <Button
              key={one}
              variant={does === one ? 'filled' : 'default'}
              aria-pressed={does === one}
              disabled={target === null}
              loading={change.isPending && change.variables === one}
              leftSection={<Icon size={16} aria-hidden />}
              onClick={() => change.mutate(one)}
            >
              {t(one)}
            </Button>
          );
        })}
        <Button
          color="red.9"
          loading={end.isPending}
          leftSection={<PhoneOff size={16} aria-hidden />}
          onClick={() => end.mutate()}
        >
          {t('listen_end')}
        </Button>
      </Group>
    </Paper>
  );
}
