import type { ReactNode } from 'react';
import { Badge, Group } from '@mantine/core';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('customer');

interface MarksProps {
  readonly vip: boolean;
  readonly blocked: boolean;
  readonly shared?: boolean;
}
/** Important properties of a customer, shown before the call is answered. */
export function Marks({ vip, blocked, shared = true }: MarksProps): ReactNode {
  if (!vip && !blocked && shared) return null;
  return (
    <Group gap={6} component="span">
      {vip && (
        <Badge variant="dot" color="yellow" tt="none">
          {t('vip')}
        </Badge>
      )}
      {blocked && (
        <Badge variant="dot" color="red" tt="none">
          {t('blocked')}
        </Badge>
      )}
      {!shared && (
        <Badge variant="dot" color="gray" tt="none">
          {t('personal')}
        </Badge>
      )}
    </Group>
  );
}
