import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { formatNumber, formatPercent } from '../app/format.ts';
import { wordsOf } from '../app/words.ts';
import styles from './phone.module.css';
import { gradeOf } from './quality.ts';
import type { CallQuality } from './quality.ts';

const t = wordsOf('phone');

const BARS = [1, 2, 3, 4];
const STEPS = [2.2, 3.1, 3.6, 4.1];
interface QualityViewProps {
  readonly quality: CallQuality | null;
  /** False on hold; its room stays, so that the buttons of a call below do not move. */
  readonly shown: boolean;
}
/** Quality of a call: bars, a word and the figures, always of the same height. */
export function QualityView({ quality, shown }: QualityViewProps): ReactNode {
  const grade = quality === null ? 'unknown' : gradeOf(quality.mos);
  const bars = quality === null ? 0 : STEPS.filter((step) => quality.mos >= step).length;
  return (
    <div style={{ visibility: shown ? 'visible' : 'hidden' }}>
      <Group gap={8} wrap="nowrap" className={styles[grade]}>
        <span className={styles.bars} aria-hidden>
          {BARS.map((bar) => (
            <i key={bar} data-on={bar <= bars} style={{ height: `${bar * 25}%` }} />
          ))}
        </span>
        <Text size="sm" fw={600}>
          {t(`quality_${grade}`)}
        </Text>
        {grade === 'bad' && (
          <Text size="xs" truncate>
            {t('quality_bad_text')}
          </Text>
        )}
      </Group>
      <Text size="xs" c="dimmed" mih="1lh">
        {quality !== null &&
          t('quality_details', {
            mos: formatNumber(quality.mos, 1),
            loss: formatPercent(quality.loss, 1),
            jitter: formatNumber(quality.jitter_ms),
            trip: formatNumber(quality.round_trip_ms),
          })}
      </Text>
    </div>
  );
}
