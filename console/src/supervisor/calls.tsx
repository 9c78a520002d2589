import { memo } from 'react';
import type { ReactNode } from 'react';
import { Button, Menu, Text } from '@mantine/core';
import {
  ArrowRight,
  BellRing,
  CircleDot,
  Ear,
  Ellipsis,
  Hourglass,
  Mic,
  Pause,
  PhoneCall,
  PhoneIncoming,
  PhoneOff,
  SquareParking,
  UsersRound,
} from 'lucide-react';
import type { CallState } from '@offhook/client';
import { QuietIcon } from '../app/quiet-icon.ts';
import { formatSpan } from '../app/format.ts';
import { useRecord, useTopic } from '../app/live.ts';
import { useSince } from '../app/now.ts';
import { useClient, useMe } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { parkedOf, recordingOf, takeBack } from '../phone/extras.tsx';
import { useAsk } from './ask.ts';
import { callWord, canListen, nameOf, queueOf, sidesOf, timeOf } from './supervise.ts';
import type { CallWord } from './supervise.ts';
import { wordsOf } from '../app/words.ts';
import styles from './supervisor.module.css';

const tExtra = wordsOf('extras');
const t = wordsOf('supervisor');

const ICONS: Readonly<Record<CallWord, typeof BellRing>> = {
  waiting: Hourglass,
  ringing: BellRing,
  talking: PhoneCall,
  on_hold: Pause,
  parked: SquareParking,
  listening: Ear,
};
const Since = ({ time }: { readonly time: string }): ReactNode => (
  <span className={styles.since}>{formatSpan(useSince(time))}</span>
);
const callNames = (call: CallState): string =>
  sidesOf(call)
    .map((side) => nameOf(side) || t('withheld'))
    .join(' – ');

function Parties({ call }: { readonly call: CallState }): ReactNode {
  const sides = sidesOf(call);
  const called = useRecord('agents', call.dialled);
  const name = called === undefined ? call.dialled : `${called.name} ${call.dialled}`;
  return (
    <div className={styles.parties}>
      {sides.map((side, i) => (
        <span key={side.leg_id} className={styles.party}>
          {i > 0 && <ArrowRight size={16} aria-hidden />}
          <span className={styles.cell}>
            <Text fw={600} truncate title={nameOf(side)}>
              {nameOf(side) || t('withheld')}
            </Text>
            <Text size="xs" c="dimmed" truncate>
              {side.extension ?? side.number}
            </Text>
          </span>
        </span>
      ))}
      {sides.length === 1 && call.dialled !== '' && (
        <Text size="sm" c="dimmed" truncate>
          {call.placed === 'listen' ? t('listens_to', { name }) : t('calls_whom', { number: name })}
        </Text>
      )}
    </div>
  );
}
/** Direction of a call; for a queue call the queue's title. */
function Kind({ call }: { readonly call: CallState }): ReactNode {
  const queues = useTopic('queues').records;
  const agents = useTopic('agents').records;
  const queue = queueOf(call.call_id, queues.values(), agents.values());
  return (
    <Text size="xs" c="dimmed" truncate>
      {queue === null ? t(call.direction) : `${t(call.direction)} · ${queues.get(queue)?.title || queue}`}
    </Text>
  );
}
export const CallRow = memo(function CallRow({ id }: { readonly id: string }): ReactNode {
  const call = useRecord('calls', id);
  const me = useMe();
  const client = useClient();
  const ask = useAsk();
  const queues = useTopic('queues').records;
  if (call === undefined) return null;
  const word = callWord(call, queues.values());
  const Icon = ICONS[word];
  const names = callNames(call);
  const listens = canListen(call, me.extension);
  const [parked] = parkedOf([call]);
  const slot = parked?.slot ?? null;
  const recorded = recordingOf(call);
  const inside = sidesOf(call).filter(
    (side) => side.talks && side.extension !== null && side.extension !== me.extension,
  );
  return (
    <div className={`${styles.row} ${styles.callRow}`} data-call-id={id}>
      <Parties call={call} />
      <div className={styles.cell}>
        <span className={styles.state} data-call={word}>
          <Icon size={16} aria-hidden />
          <span>{slot === null ? t(word) : t('parked_on', { slot })}</span>
          <Since time={timeOf(call)} />
          {recorded !== null && (
            <CircleDot
              size={14}
              role="img"
              aria-label={tExtra(recorded === 'on' ? 'recorded' : 'recording_paused')}
            />
          )}
        </span>
        <Kind call={call} />
      </div>
      <div className={styles.actions}>
        {slot !== null && (
          <Button
            variant="light"
            leftSection={<PhoneIncoming size={16} aria-hidden />}
            aria-label={tExtra('retrieve_who', { who: names })}
            onClick={() => void takeBack(client, { call_id: id, slot }).catch(tellFailure)}
          >
            {tExtra('retrieve')}
          </Button>
        )}
        {listens && (
          <Button
            variant="light"
            leftSection={<Ear size={16} aria-hidden />}
            aria-label={t('listen_to', { name: names })}
            onClick={() => ask({ is: 'monitor', does: 'listen', call_id: id, name: names })}
          >
            {t('listen')}
          </Button>
        )}
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <QuietIcon aria-label={t('more', { name: names })}>
              <Ellipsis size={18} aria-hidden />
            </QuietIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {listens &&
              inside.flatMap((side) =>
                (['whisper', 'barge'] as const).map((does) => (
                  <Menu.Item
                    key={`${does} ${side.leg_id}`}
                    leftSection={
                      does === 'whisper' ? (
                        <Mic size={16} aria-hidden />
                      ) : (
                        <UsersRound size={16} aria-hidden />
                      )
                    }
                    onClick={() =>
                      ask({ is: 'monitor', does, call_id: id, leg_id: side.leg_id, name: nameOf(side) })
                    }
                  >
                    {t(`${does}_to`, { name: nameOf(side) })}
                  </Menu.Item>
                )),
              )}
            <Menu.Item
              leftSection={<PhoneOff size={16} aria-hidden />}
              c="var(--offhook-alert)"
              onClick={() => ask({ is: 'hangup', call_id: id, name: names })}
            >
              {t('hang_up')} …
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
    </div>
  );
});
