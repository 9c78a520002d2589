import { useCallback } from 'react';
import { notifications } from '@mantine/notifications';
import { errorText } from '../app/error-words.ts';
import { useClient } from '../app/session.tsx';
import { t } from './words.ts';

/** Rings the own devices, then the number. */
export function useCall(): (number: string) => void {
  const client = useClient();
  return useCallback(
    (number) => {
      client.calls.originate({ to: number }).then(
        () => notifications.show({ message: t('calling', { number }) }),
        (error: unknown) => notifications.show({ color: 'red', message: errorText(error) }),
      );
    },
    [client],
  );
}
