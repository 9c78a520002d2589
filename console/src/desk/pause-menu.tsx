import type { ReactNode } from 'react';
import { Badge, Menu, Text } from '@mantine/core';
import type { z } from 'zod';
import type { PauseReason } from '@offhook/contract/agents.ts';
import type { Floating } from '../app/opener.tsx';
import { errorText } from '../app/error-words.ts';
import type { usePauseReasons } from './use-desk.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('desk');
const tApp = wordsOf('app');

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
        {read.isPending && <Menu.Item disabled>{tApp('loading')}</Menu.Item>}
        {read.isError && (
          <Menu.Item closeMenuOnClick={false} onClick={() => void read.refetch()}>
            {`${errorText(read.error)} – ${tApp('try_again')}`}
          </Menu.Item>
        )}
        {read.data !== undefined &&
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
          ))}
      </Menu.Dropdown>
    </Menu>
  );
}
