import { notifications } from '@mantine/notifications';
import { t } from './words.ts';

/** A short word in the corner. */
export const say = (message: string, bad = false): void => {
  notifications.show({
    message,
    color: bad ? 'red' : 'green',
    closeButtonProps: { 'aria-label': t('close') },
  });
};
