/** Click-to-call: from this browser if its phone is on, else the caller's own devices ring first. */
import { useCallback } from 'react';
import { notifications } from '@mantine/notifications';
import { useClient } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { useCalling } from '../phone/phone.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('directory');

export interface Dialling {
  /** Calls `number`, given as dialled; `name` is used in the notification. */
  call(number: string, name: string): Promise<void>;
  /** Picks up the call that rings at this extension. */
  pickUp(extension: string, name: string): Promise<void>;
}
export function useDialling(): Dialling {
  const client = useClient();
  const calling = useCalling();
  const call = useCallback<Dialling['call']>(
    async (number, name) => {
      try {
        if ((await calling(number, name)) === 'devices') {
          notifications.show({ message: t('your_phone_rings', { name }) });
        }
      } catch (error) {
        tellFailure(error);
      }
    },
    [calling],
  );
  const pickUp = useCallback<Dialling['pickUp']>(
    async (extension, name) => {
      try {
        await client.calls.pickupAt(extension);
        notifications.show({ message: t('your_phone_takes', { name }) });
      } catch (error) {
        tellFailure(error);
      }
    },
    [client],
  );
  return { call, pickUp };
}
