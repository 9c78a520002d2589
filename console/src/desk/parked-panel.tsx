/** The parked calls of the site, which any agent may pick up. */
import type { ReactNode } from 'react';
import { Paper } from '@mantine/core';
import { useTopic } from '../app/live.ts';
import { useDialling } from '../directory/dial.ts';
import { ParkedList, ParkedRow } from '../phone/extras.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('extras');

/** Renders nothing without a parked call. */
export function ParkedPanel(): ReactNode {
  const { records } = useTopic('parking');
  const dialling = useDialling();
  if (records.size === 0) return null;
  const parked = [...records.values()].toSorted((a, b) => Number(a.slot) - Number(b.slot));
  return (
    <Paper withBorder className={styles.panel ?? ''}>
      <ParkedList>
        {parked.map(({ slot, leg_id, party, since, parked_by }) => {
          const who = party.name || party.number || t('unknown_caller');
          return (
            <ParkedRow
              key={leg_id}
              slot={slot}
              who={who}
              since={since}
              by={parked_by}
              label={t('take')}
              onTake={() => dialling.call(slot, who)}
            />
          );
        })}
      </ParkedList>
    </Paper>
  );
}
