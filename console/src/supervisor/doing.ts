/** Asking the service for something: what goes wrong is said, and told apart from what went well. */
import { useCallback } from 'react';
import { notifications } from '@mantine/notifications';
import { tellFailure } from '../app/tell.ts';

export type Do = (what: () => Promise<unknown>, well?: string) => Promise<void>;
export const useDo = (): Do =>
  useCallback(async (what, well) => {
    try {
      await what();
      if (well !== undefined) notifications.show({ color: 'teal', message: well });
    } catch (error) {
      tellFailure(error);
    }
  }, []);
