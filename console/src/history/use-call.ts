import { useCallback } from 'react';
import { notifications } from '@mantine/notifications';
import { tellFailure } from '../app/tell.ts';
import { useCalling } from '../phone/phone.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('history');

/** Calls from this browser if its phone is on, else rings the own devices, then the number. */
export function useCall(): (number: string) => void {
  const calling = useCalling();
  return useCallback(
    (number) => {
      calling(number).then((from) => {
        if (from === 'devices') notifications.show({ message: t('calling', { number }) });
      }, tellFailure);
    },
    [calling],
  );
}
