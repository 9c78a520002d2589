/** Runs requests and shows their success or failure. */
import { notifications } from '@mantine/notifications';
import { useOnce } from '../app/once.ts';
import { tellFailure } from '../app/tell.ts';

/** A second request with the same name is not started while the first one runs. */
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
