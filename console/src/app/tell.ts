import { notifications } from '@mantine/notifications';
import { errorDetail, errorText } from './error-words.ts';

/** Shows an error as a notice in the corner, for actions without a place for it on the page. */
export const tellFailure = (error: unknown): void =>
  void notifications.show({ color: 'red', title: errorText(error), message: errorDetail(error) });
