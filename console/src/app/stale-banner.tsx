import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { WifiOff } from 'lucide-react';
import { useStale } from './live.ts';
import { wordsOf } from './words.ts';
import styles from './stale-banner.module.css';

const t = wordsOf('app');

/** Reports at once that the shown data is not live, to screen readers too. */
export function StaleBanner(): ReactNode {
  const stale = useStale();
  return (
    <div role="status" aria-live="assertive">
      {stale && (
        <Group className={styles.stale} gap="xs" wrap="nowrap">
          <WifiOff size={16} aria-hidden />
          <Text size="sm" fw={600}>
            {t('stale')}
          </Text>
        </Group>
      )}
    </div>
  );
}
