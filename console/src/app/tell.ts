import { notifications } from '@mantine/notifications';
import { errorDetail, errorText } from './error-words.ts';

/** Says in the corner what went wrong, for what has no place of its own on the page to say it. */
export const tellFailure = (error: unknown): void =>
  void notifications.show({ color: 'red', title: errorText(error), message: errorDetail(error) });
