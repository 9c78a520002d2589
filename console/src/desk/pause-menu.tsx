import type { ReactNode } from 'react';
import { Badge, Menu, Text } from '@mantine/core';
import type { z } from 'zod';
import type { PauseReason } from '@offhook/contract/agents.ts';
import type { Floating } from '../app/opener.tsx';
import { Read } from '../app/states.tsx';
import type { usePauseReasons } from './use-desk.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('desk');

type Reason = z.infer<typeof PauseReason>;
interface PauseMenuProps extends Floating {
  /** The read of all reasons, and those that the person may choose. */
  readonly read: ReturnType<typeof usePauseReasons>;
  readonly reasons: readonly Reason[];
  readonly onPause: (reason: Reason) => void;
}
export function PauseMenu({ target, read, reasons, onPause, ...menu }: PauseMenuProps): ReactNode {
  return (
    <Menu {...menu} position="bottom-end" width={260}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <Read of={read}>
          {() =>
            reasons.map((reason) => (
              <Menu.Item
                key={reason.id}
                onClick={() => onPause(reason)}
                rightSection={
                  <Badge variant="light" size="sm" color="gray" tt="none">
                    {t(reason.paid ? 'paid' : 'unpaid')}
                  </Badge>
                }
              >
                {reason.name}
                {reason.longest_seconds !== null && (
                  <Text size="xs" c="dimmed">
                    {t('at_most', { minutes: Math.round(reason.longest_seconds / 60) })}
                  </Text>
                )}
              </Menu.Item>
            ))
          }
        </Read>
      </Menu.Dropdown>
    </Menu>
  );
}
