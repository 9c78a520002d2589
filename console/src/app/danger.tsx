/** Actions that ask for confirmation first. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { Once } from './once.ts';
import type { Labels } from './field-errors.ts';
import { Failure } from './states.tsx';
import { wordsOf } from './words.ts';

const app = wordsOf('app');

interface AskProps {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly opened: boolean;
  readonly busy: boolean;
  readonly error: unknown;
  readonly labels?: Labels;
  readonly onYes: () => void;
  readonly onClose: () => void;
}
/** Asks for confirmation of an action that cannot be undone. */
export const Ask = ({
  title,
  text,
  yes,
  opened,
  busy,
  error,
  labels,
  onYes,
  onClose,
}: AskProps): ReactNode => (
  <Modal opened={opened} onClose={onClose} title={title} centered>
    <Stack>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {text}
      </Text>
      {error !== null && error !== undefined && <Failure error={error} labels={labels} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          {app('cancel')}
        </Button>
        <Button color="red.8" loading={busy} onClick={onYes}>
          {yes}
        </Button>
      </Group>
    </Stack>
  </Modal>
);
/** The result of `useChange` for work without an input. */
type Change = Pick<Once<unknown, undefined>, 'isPending' | 'error' | 'reset' | 'mutateAsync'>;
interface DangerProps {
  readonly label: string;
  /** Label for a screen reader, which reads it without the row around it. */
  readonly about?: string;
  readonly title: string;
  readonly text: string;
  readonly size?: 'xs' | 'sm';
  readonly change: Change;
  readonly disabled?: boolean;
}
/** A button that asks for confirmation; its dialog stays open where the action fails. */
export function Danger({ label, about, title, text, size = 'sm', change, disabled }: DangerProps): ReactNode {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size={size}
        {...(disabled === true ? { disabled } : { c: 'var(--offhook-alert)' })}
        aria-label={about === undefined ? undefined : `${label}: ${about}`}
        onClick={() => {
          change.reset();
          setOpened(true);
        }}
      >
        {label}
      </Button>
      <Ask
        title={title}
        text={text}
        yes={label}
        opened={opened}
        busy={change.isPending}
        error={change.error}
        onYes={() =>
          void change.mutateAsync(undefined).then(
            () => setOpened(false),
            () => undefined,
          )
        }
        onClose={() => setOpened(false)}
      />
    </>
  );
}
