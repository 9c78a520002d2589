/** A unified diff, marked by colour, sign and words. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Code, Group, Paper, Text, VisuallyHidden } from '@mantine/core';
import { formatNumber } from '../app/format.ts';
import { wordsOf } from '../app/words.ts';
import styles from './admin.module.css';

const t = wordsOf('admin');

interface Line {
  readonly kind: 'added' | 'removed' | 'place' | 'same';
  readonly text: string;
}
/** Lines of a unified diff without the file names. */
export function diffLines(diff: string): readonly Line[] {
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .filter((line) => !/^(?:--- |\+\+\+ |===|Index: |\\ )/.test(line))
    .map((line): Line => {
      if (line.startsWith('@@')) return { kind: 'place', text: line };
      const text = line.slice(1);
      if (line.startsWith('+')) return { kind: 'added', text };
      return line.startsWith('-') ? { kind: 'removed', text } : { kind: 'same', text };
    });
}
const SIGN = { added: '+', removed: '-', same: ' ', place: ' ' } as const;
const SHOWN = 300;
export function Diff({
  name,
  diff,
  children,
}: {
  readonly name: string;
  readonly diff: string | null;
  readonly children?: ReactNode;
}): ReactNode {
  const [all, setAll] = useState(false);
  const lines = diff === null ? [] : diffLines(diff);
  const count = (kind: Line['kind']): number => lines.filter((line) => line.kind === kind).length;
  return (
    <Paper withBorder component="section" aria-label={name} className={styles.diff ?? ''}>
      <Group justify="space-between" px="sm" py={6} className={styles.diffHead ?? ''}>
        <Group gap="xs">
          <Code bg="transparent" fw={600}>
            {name}
          </Code>
          {children}
        </Group>
        {diff !== null && (
          <Text size="xs" c="dimmed">
            {t('diff_counts', {
              added: formatNumber(count('added')),
              removed: formatNumber(count('removed')),
            })}
          </Text>
        )}
      </Group>
      {diff === null ? (
        <Text size="sm" c="dimmed" p="sm">
          {t('diff_unknown')}
        </Text>
      ) : (
        <div className={styles.diffBox} tabIndex={0} role="group" aria-label={t('lines_of', { name })}>
          {lines.slice(0, all ? undefined : SHOWN).map((line, i) => (
            // Lines have no identity but their position.
            <div key={i} className={`${styles.line} ${styles[line.kind]}`}>
              <span aria-hidden className={styles.sign}>
                {SIGN[line.kind]}
              </span>
              {(line.kind === 'added' || line.kind === 'removed') && (
                <VisuallyHidden>{`${t(`line_${line.kind}`)}: `}</VisuallyHidden>
              )}
              <span>{line.text === '' ? ' ' : line.text}</span>
            </div>
          ))}
        </div>
      )}
      {!all && lines.length > SHOWN && (
        <Button variant="subtle" size="xs" m={6} onClick={() => setAll(true)}>
          {t('show_more', { count: lines.length - SHOWN })}
        </Button>
      )}
    </Paper>
  );
}
