import type { ReactNode } from 'react';
import { ActionIcon, Group, Text } from '@mantine/core';
import { ArrowDown, ArrowUp, X } from 'lucide-react';
import { wordsOf } from '../app/words.ts';
import styles from './page.module.css';

const e = wordsOf('board-editor');

interface RowsProps {
  readonly rows: readonly { readonly id: string; readonly name: string; readonly extra?: ReactNode }[];
  readonly onOrder: (ids: string[]) => void;
  readonly removable: boolean;
}
/** A list ordered with buttons, which pointer and keyboard can use. */
export function Rows({ rows, onOrder, removable }: RowsProps): ReactNode {
  const ids = rows.map(({ id }) => id);
  const move = (index: number, by: number) => (): void => {
    const [id] = ids.slice(index, index + 1);
    const rest = ids.toSpliced(index, 1);
    onOrder(rest.toSpliced(index + by, 0, id!));
  };
  return (
    <ol className={styles.rowList}>
      {rows.map(({ id, name, extra }, index) => (
        <li key={id}>
          <Text size="sm" className={styles.rowName ?? ''}>
            {name}
          </Text>
          {extra}
          <Group gap={4} wrap="nowrap">
            <ActionIcon
              variant="subtle"
              disabled={index === 0}
              onClick={move(index, -1)}
              aria-label={e('up', { name })}
            >
              <ArrowUp size={16} aria-hidden />
            </ActionIcon>
            <ActionIcon
              variant="subtle"
              disabled={index === rows.length - 1}
              onClick={move(index, 1)}
              aria-label={e('down', { name })}
            >
              <ArrowDown size={16} aria-hidden />
            </ActionIcon>
            {removable && (
              <ActionIcon
                variant="subtle"
                onClick={() => onOrder(ids.toSpliced(index, 1))}
                aria-label={e('remove', { name })}
              >
                <X size={16} aria-hidden />
              </ActionIcon>
            )}
          </Group>
        </li>
      ))}
    </ol>
  );
}
