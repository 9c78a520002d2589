import { notifications } from '@mantine/notifications';

/** A short word in the corner. */
export const say = (message: string, bad = false): void => {
  notifications.show({ message, color: bad ? 'red' : 'green' });
};
