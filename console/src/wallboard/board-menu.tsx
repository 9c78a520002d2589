import type { ReactNode } from 'react';
import { Menu } from '@mantine/core';
import { Copy, MonitorUp, Plus, Trash2 } from 'lucide-react';
import type { Floating } from '../app/opener.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('wallboard');

interface BoardMenuProps extends Floating {
  readonly onNew: () => void;
  readonly onCopy: () => void;
  /** Missing where the user may not do it. */
  readonly onDisplays: (() => void) | undefined;
  readonly onDelete: (() => void) | undefined;
}
export function BoardMenu({
  target,
  onNew,
  onCopy,
  onDisplays,
  onDelete,
  ...menu
}: BoardMenuProps): ReactNode {
  return (
    <Menu {...menu} position="bottom-end" width={220}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Plus size={16} aria-hidden />} onClick={onNew}>
          {t('new_board')}
        </Menu.Item>
        <Menu.Item leftSection={<Copy size={16} aria-hidden />} onClick={onCopy}>
          {t('copy_board')}
        </Menu.Item>
        {onDisplays && (
          <Menu.Item leftSection={<MonitorUp size={16} aria-hidden />} onClick={onDisplays}>
            {t('displays')}
          </Menu.Item>
        )}
        {onDelete && (
          <Menu.Item
            leftSection={<Trash2 size={16} aria-hidden />}
            c="var(--offhook-alert)"
            onClick={onDelete}
          >
            {t('delete')}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
