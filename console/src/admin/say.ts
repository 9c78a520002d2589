import { notifications } from '@mantine/notifications';

/** A short notification. */
export const say = (message: string, bad = false): void => {
  notifications.show({ message, color: bad ? 'red' : 'green' });
};
