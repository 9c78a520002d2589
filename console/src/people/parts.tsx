/** Common parts of the pages of people and system. */
import type { ReactNode } from 'react';
import { Alert, Button, Code, Group, Modal, Stack } from '@mantine/core';
import { Check, Copy, TriangleAlert } from 'lucide-react';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { CopyButton } from '../app/copy.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');
export const levelName = (level: PersonLevel): string => t(`level_${level}`);

const CopyText = ({ value, label }: { readonly value: string; readonly label: string }): ReactNode => (
  <CopyButton value={value} timeout={2_000}>
    {({ copied, copy }) => (
      <Button
        variant="default"
        size="xs"
        onClick={copy}
        leftSection={copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      >
        <span aria-live="polite">{copied ? t('copied') : label}</span>
      </Button>
    )}
  </CopyButton>
);
interface OnceProps {
  readonly title: string;
  readonly text: string;
  readonly value: string | null;
  readonly onClose: () => void;
}
/** A secret shown once; the dialog closes only by its button. */
export const ShownOnce = ({ title, text, value, onClose }: OnceProps): ReactNode => (
  <Modal
    opened={value !== null}
    onClose={onClose}
    title={title}
    centered
    closeOnClickOutside={false}
    closeOnEscape={false}
    withCloseButton={false}
  >
    <Stack>
      <Alert color="yellow" variant="light" icon={<TriangleAlert size={18} aria-hidden />}>
        {text}
      </Alert>
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', fontSize: '0.9rem' }}>
        {value}
      </Code>
      <Group justify="space-between">
        <CopyText value={value ?? ''} label={t('copy')} />
        <Button onClick={onClose}>{t('kept_it')}</Button>
      </Group>
    </Stack>
  </Modal>
);
