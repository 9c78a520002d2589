import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, PasswordInput, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { fieldsWith } from '../app/field-errors.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('account');

/** Changes the own password, which signs out every other device. */
export function PasswordForm(): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [again, setAgain] = useState('');
  const differs = again !== '' && next !== again;
  const change = useOnce({
    mutationFn: () => client.session.changePassword(current, next),
    onSuccess: async () => {
      setCurrent('');
      setNext('');
      setAgain('');
      notifications.show({ message: t('password_changed'), color: 'green' });
      await queries.invalidateQueries({ queryKey: ['account'] });
    },
  });
  const labels = { current_password: t('current_password'), new_password: t('new_password') };
  const field = fieldsWith(change.error, labels);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (next === again) change.mutate();
      }}
    >
      <Stack maw={420}>
        <PasswordInput
          {...field('current_password')}
          autoComplete="current-password"
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
          required
        />
        <PasswordInput
          {...field('new_password')}
          description={t('password_rule')}
          autoComplete="new-password"
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          required
        />
        <PasswordInput
          label={t('new_password_again')}
          autoComplete="new-password"
          value={again}
          onChange={(event) => setAgain(event.currentTarget.value)}
          error={differs ? t('passwords_differ') : undefined}
          required
        />
        {change.isError && <Failure error={change.error} labels={labels} />}
        <Group>
          <Button type="submit" loading={change.isPending}>
            {t('change_password')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
