import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { ScrollText } from 'lucide-react';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import type { Ask } from './ask.ts';
import { noteBegun } from './own-listening.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('supervisor');

/** Explains the action and that it is recorded in the audit trail. */
export function MonitorForm({
  ask: { does, call_id, leg_id, name },
  onDone,
}: {
  readonly ask: Extract<Ask, { is: 'monitor' }>;
  readonly onDone: () => void;
}): ReactNode {
  const client = useClient();
  const [error, setError] = useState<unknown>(null);

  const go = useOnce({
    async mutationFn() {
      const { operation } = await client.calls[does](call_id, leg_id === undefined ? {} : { leg_id });
      noteBegun(operation.own_call_id, does, call_id);
      return operation;
    },
    onMutate: () => setError(null),
    onSuccess({ state }) {
      // A supervisor who listens already only changes the mode.
      if (state === 'pending') notifications.show({ color: 'teal', message: t('rings') });
      onDone();
    },
    onError: setError,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    go.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>{t(`${does}_text`, { name })}</Text>
        <Text size="sm">{t('own_phone')}</Text>
        <Alert variant="light" color="gray" icon={<ScrollText size={18} aria-hidden />}>
          {t('audited')}
        </Alert>
        {error !== null && <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {t('cancel')}
          </Button>
          <Button type="submit" loading={go.isPending} data-autofocus>
            {t(does)}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
