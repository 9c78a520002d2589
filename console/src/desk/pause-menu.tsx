import type { ReactNode } from 'react';
import { Badge, Menu, Text } from '@mantine/core';
import type { z } from 'zod';
import type { PauseReason } from '@offhook/contract/agents.ts';
import type { Floating } from '../app/opener.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('desk');

type Reason = z.infer<typeof PauseReason>;
interface PauseMenuProps extends Floating {
  readonly reasons: readonly Reason[];
  readonly onPause: (reason: Reason) => void;
}
export function PauseMenu({ target, reasons, onPause, ...menu }: PauseMenuProps): ReactNode {
  return (
    <Menu {...menu} position="bottom-end" width={260}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        {reasons.map((reason) => (
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
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
