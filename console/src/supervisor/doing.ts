/** Asking the service for something: what goes wrong is said, and told apart from what went well. */
import { notifications } from '@mantine/notifications';
import { useOnce } from '../app/once.ts';
import { tellFailure } from '../app/tell.ts';

/** What has the same name is not begun again while it is under way. */
export type Do = (name: string, what: () => Promise<unknown>, well?: string) => void;
export function useDo(): Do {
  const { mutate } = useOnce({
    mutationFn: ({ what }: { name: string; what: () => Promise<unknown>; well: string | undefined }) =>
      what(),
    onSuccess: (_, { well }) => well !== undefined && notifications.show({ color: 'teal', message: well }),
    onError: tellFailure,
  });
  return (name, what, well) => mutate({ name, what, well });
}
