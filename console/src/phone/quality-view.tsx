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
/** Quality of a call: bars, a word, and the figures on demand. */
export function QualityView({ quality }: { readonly quality: CallQuality | null }): ReactNode {
  const grade = quality === null ? 'unknown' : gradeOf(quality.mos);
  const bars = quality === null ? 0 : STEPS.filter((step) => quality.mos >= step).length;
  return (
    <div>
      <Group gap={8} wrap="nowrap" className={styles[grade]}>
        <span className={styles.bars} aria-hidden>
          {BARS.map((bar) => (
            <i key={bar} data-on={bar <= bars} style={{ height: `${bar * 25}%` }} />
          ))}
        </span>
        <Text size="sm" fw={600}>
          {t(`quality_${grade}`)}
        </Text>
      </Group>
      {/* The line is there from the beginning: the buttons below it stay in their place. */}
      <Text size="xs" c="dimmed" mih="1lh">
        {quality !== null &&
          t('quality_details', {
            mos: formatNumber(quality.mos, 1),
            loss: formatPercent(quality.loss, 1),
            jitter: formatNumber(quality.jitter_ms),
            trip: formatNumber(quality.round_trip_ms),
          })}
      </Text>
      {grade === 'bad' && (
        <Text size="xs" mt={4}>
          {t('quality_bad_text')}
        </Text>
      )}
    </div>
  );
}
